//! An item as returned to the caller.

use super::record::{Header, State};
use crate::block::Bytes;
use crate::disk::BLOCK_LEN;
use std::ops::Range;

/// An item in memory or on flash.
#[derive(Clone, Copy, Debug)]
pub struct Item<'a> {
    /// Lengths, flags, times and CAS value of the item.
    pub header: Header,
    /// The key of the item, 1 to 250 bytes.
    pub key: &'a [u8],
    /// The value of the item.
    pub value: Value<'a>,
}

impl Item<'_> {
    /// State flags of the item, such as stale and claimed.
    pub fn state(&self) -> State {
        self.header.state
    }
}

/// A value in memory or on flash.
#[derive(Clone, Copy, Debug)]
pub enum Value<'a> {
    /// A value whose bytes are contiguous.
    Slice(&'a [u8]),
    /// A value in blocks that were read from flash.
    Blocks {
        /// The blocks.
        blocks: &'a [Bytes],
        /// Byte offset of the value in the blocks.
        at: usize,
        /// Length of the value in bytes.
        bytes: usize,
    },
}

impl<'a> Value<'a> {
    /// Length of the value in bytes.
    pub fn bytes(&self) -> usize {
        match self {
            Value::Slice(slice) => slice.len(),
            Value::Blocks { bytes, .. } => *bytes,
        }
    }

    /// The contiguous pieces of the value, in order.
    pub fn pieces(self) -> impl Iterator<Item = &'a [u8]> + Clone {
        let (slice, blocks, at, bytes) = match self {
            Value::Slice(slice) => (Some(slice), &[][..], 0, 0),
            Value::Blocks { blocks, at, bytes } => (None, blocks, at, bytes),
        };
        slice.into_iter().chain(pieces_of(blocks, at..at + bytes))
    }

    /// Appends the value to `out`.
    #[inline]
    pub fn append_to(self, out: &mut Vec<u8>) {
        match self {
            Value::Slice(slice) => out.extend_from_slice(slice),
            Value::Blocks { .. } => self.pieces().for_each(|piece| out.extend_from_slice(piece)),
        }
    }
}

/// True if the slices, one after another, are these bytes.
pub(super) fn are_bytes<'a>(mut slices: impl Iterator<Item = &'a [u8]>, bytes: &[u8]) -> bool {
    slices.try_fold(bytes, |rest, slice| rest.strip_prefix(slice)).is_some_and(<[u8]>::is_empty)
}

/// The slices of blocks that hold these bytes of them.
pub(super) fn pieces_of(blocks: &[Bytes], bytes: Range<usize>) -> impl Iterator<Item = &[u8]> + Clone {
    let Range { start: at, end } = bytes;
    let (first, last) = (at / BLOCK_LEN, end.div_ceil(BLOCK_LEN).min(blocks.len()));
    let blocks = blocks.get(first..last.max(first)).unwrap_or_default();
    blocks.iter().enumerate().map(move |(number, block)| {
        let begin = (first + number) * BLOCK_LEN;
        &block.as_slice()[at.max(begin) - begin..end.min(begin + BLOCK_LEN) - begin]
    })
}
