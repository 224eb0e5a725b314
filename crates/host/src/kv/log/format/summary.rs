//! The summary of a segment: an entry for each record, and the foot.

use super::{End, EndOf, Foot, word};
use crate::block::{Block, Bytes};
use crate::crc::{Crc32c, crc32c};
use crate::disk::{BLOCK_BYTES, BLOCK_LEN};
use crate::kv::hash::KeyHash;
use crate::kv::place::UNIT;
use std::ops::Range;
use tailcut_base::cast::{to_u32, to_usize};

/// A summary entry: describes one record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Hash of the key of the record.
    pub hash: KeyHash,
    /// Offset of the record in the segment, in units.
    pub unit: u32,
    /// Length of the record in bytes.
    pub bytes: u32,
    /// Expiry time in seconds of Unix time; 0 for never.
    pub expires: u32,
    /// True if the record is a tombstone: the key was deleted.
    pub is_tombstone: bool,
}

impl Entry {
    /// Byte range of the record in the segment.
    pub fn range(&self) -> Range<u64> {
        let first = u64::from(self.unit) * UNIT;
        first..first + u64::from(self.bytes)
    }

    /// Length of an encoded entry in bytes.
    pub const BYTES: usize = 32;

    /// Encodes the entry as [`Entry::BYTES`] bytes of a summary.
    pub fn encode(&self) -> [u8; Entry::BYTES] {
        let mut bytes = [0; Entry::BYTES];
        bytes[..16].copy_from_slice(&self.hash.0.to_le_bytes());
        bytes[16..20].copy_from_slice(&self.unit.to_le_bytes());
        bytes[20..24].copy_from_slice(&self.bytes.to_le_bytes());
        bytes[24..28].copy_from_slice(&self.expires.to_le_bytes());
        bytes[28] = u8::from(self.is_tombstone);
        bytes
    }

    /// The key hash of an encoded entry.
    ///
    /// # Panics
    /// If `bytes` has fewer than 16 bytes.
    #[inline]
    pub fn hash_in(bytes: &[u8]) -> KeyHash {
        KeyHash(u128::from_le_bytes(bytes[..16].try_into().expect("sixteen bytes")))
    }

    /// Decodes an entry from the first [`Entry::BYTES`] of `bytes`, which must not be fewer.
    #[inline]
    pub fn decode(bytes: &[u8]) -> Entry {
        Entry {
            hash: Entry::hash_in(bytes),
            unit: word(bytes, 16),
            bytes: word(bytes, 20),
            expires: word(bytes, 24),
            is_tombstone: bytes[28] != 0,
        }
    }
}

/// The blocks of a summary including its foot. Sets `entries` and `checksum` of the foot.
pub fn summary(entries: &[Entry], foot: Foot, of: EndOf) -> Vec<Bytes> {
    let mut bytes = Vec::with_capacity(to_usize(summary_blocks(entries.len())) * BLOCK_LEN);
    entries.iter().for_each(|entry| bytes.extend_from_slice(&entry.encode()));
    let foot = Foot { entries: to_u32(entries.len()), checksum: crc32c(&bytes), ..foot };
    bytes.resize(to_usize(summary_blocks(entries.len())) * BLOCK_LEN - End::BYTES, 0);
    bytes.extend_from_slice(&End::Foot(foot).encode(of));
    bytes.chunks(BLOCK_LEN).map(Bytes::encode).collect()
}

/// True if `blocks` are the summary that `foot`, at their end, describes, and its entries fit a segment of
/// `segment_blocks` blocks.
pub fn is_summary(blocks: &[Bytes], foot: &Foot, segment_blocks: u32) -> bool {
    let (mut sum, mut left) = (Crc32c::new(), foot.entries as usize * Entry::BYTES);
    let end = u64::from(segment_blocks) * BLOCK_BYTES;
    for block in blocks {
        let count = left.min(BLOCK_LEN);
        let bytes = &block.as_slice()[..count];
        sum.add(bytes);
        left -= count;
    }
    // Entries are in the order of their records, and records do not overlap.
    let mut before = End::BYTES as u64;
    let mut fits = |entry: &[u8]| {
        let (first, bytes) = (u64::from(word(entry, 16)) * UNIT, u64::from(word(entry, 20)));
        let is_behind = first >= before && bytes > 0;
        before = first + bytes;
        is_behind && before <= end
    };
    left == 0
        && sum.value() == foot.checksum
        && (0..foot.entries as usize).all(|at| fits(entry_in(blocks, at)))
}

/// The bytes of summary entry `at`.
#[inline]
pub fn entry_in(blocks: &[Bytes], at: usize) -> &[u8] {
    let first = at % ENTRIES * Entry::BYTES;
    &blocks[at / ENTRIES].as_slice()[first..first + Entry::BYTES]
}

/// Blocks taken by a summary of `entries` entries, including its foot.
pub fn summary_blocks(entries: usize) -> u64 {
    ((entries * Entry::BYTES + End::BYTES) as u64).div_ceil(BLOCK_BYTES)
}

/// Entries per block.
const ENTRIES: usize = BLOCK_LEN / Entry::BYTES;
