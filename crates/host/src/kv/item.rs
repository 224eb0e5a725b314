//! An item as its user sees it.

use super::record::{Header, State};
use crate::block::Bytes;
use crate::disk::BLOCK_BYTES;
use std::ops::Range;

/// An item, wherever it is.
#[derive(Clone, Copy, Debug)]
pub struct Item<'a> {
    /// What is known of it.
    pub header: Header,
    /// Its key.
    pub key: &'a [u8],
    /// Its value.
    pub value: Value<'a>,
}

impl Item<'_> {
    /// What is special about it.
    pub fn state(&self) -> State {
        self.header.state
    }
}

/// A value, wherever it is.
#[derive(Clone, Copy, Debug)]
pub enum Value<'a> {
    /// In one piece.
    Slice(&'a [u8]),
    /// In blocks that were read.
    Blocks {
        /// The blocks.
        blocks: &'a [Bytes],
        /// Its first byte in them.
        at: usize,
        /// How long it is.
        bytes: usize,
    },
}

impl<'a> Value<'a> {
    /// How long it is.
    pub fn bytes(&self) -> usize {
        match self {
            Value::Slice(slice) => slice.len(),
            Value::Blocks { bytes, .. } => *bytes,
        }
    }

    /// Its pieces, one after the other.
    pub fn pieces(self) -> impl Iterator<Item = &'a [u8]> + Clone {
        let (slice, blocks, at, bytes) = match self {
            Value::Slice(slice) => (Some(slice), &[][..], 0, 0),
            Value::Blocks { blocks, at, bytes } => (None, blocks, at, bytes),
        };
        slice.into_iter().chain(pieces_of(blocks, at..at + bytes))
    }

    /// Appends it to `out`.
    pub fn append_to(self, out: &mut Vec<u8>) {
        self.pieces().for_each(|piece| out.extend_from_slice(piece));
    }
}

/// The parts of blocks that hold these bytes of them.
pub(super) fn pieces_of(blocks: &[Bytes], bytes: Range<usize>) -> impl Iterator<Item = &[u8]> + Clone {
    const BLOCK: usize = BLOCK_BYTES as usize;
    let Range { start: at, end } = bytes;
    let (first, last) = (at / BLOCK, end.div_ceil(BLOCK).min(blocks.len()));
    let blocks = blocks.get(first..last.max(first)).unwrap_or_default();
    blocks.iter().enumerate().map(move |(number, block)| {
        let begin = (first + number) * BLOCK;
        &block.as_slice()[at.max(begin) - begin..end.min(begin + BLOCK) - begin]
    })
}
