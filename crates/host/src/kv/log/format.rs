//! What stands on the disk beside the records.
//!
//! The disk is divided into segments of equal length. The first holds nothing but two *superblocks*, in its first two blocks, written in
//! turns. Every other one begins with a *head*, then come records, each at a multiple of [`UNIT`]; at the end of a full segment
//! stands its *summary*, which names them, and a *foot* in its last bytes. All numbers are little-endian, all checksums CRC-32C.

use crate::block::{Block, Bytes};
use crate::crc::{Crc32c, crc32c};
use crate::disk::BLOCK_BYTES;
use crate::kv::hash::KeyHash;
use crate::kv::place::UNIT;

/// What a disk says of the store on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Superblock {
    /// A name that no other store has.
    pub store: u128,
    /// Seed of the keys' hashes.
    pub seed: u64,
    /// Blocks of a segment.
    pub segment_blocks: u32,
    /// Segments, the first included.
    pub segments: u32,
    /// How often the store was opened.
    pub run: u32,
    /// How often a superblock was written.
    pub count: u64,
    /// Segments with sequences up to this one hold nothing any more.
    pub flushed: u64,
    /// Which of the items it has.
    pub part: Part,
}

/// A store may be in several parts, each on a disk, or a stretch of one, of its own, with a log of its own. Items are divided among them by
/// their keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Which part, from 0.
    pub number: u32,
    /// How many there are.
    pub of: u32,
}

impl Part {
    /// A store in one part.
    pub const WHOLE: Part = Part { number: 0, of: 1 };
}

/// Why a disk is not opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotOurs {
    /// There is something else, or nothing.
    #[error("there is no key-value store on it")]
    Foreign,
    /// A later version wrote it.
    #[error("its format is version {0}, and this program knows version {VERSION} only; use a newer one")]
    Newer(u32),
    /// An earlier version wrote it.
    #[error(
        "its format is version {0}, which is not read any more; make a new store with --create, or use an older program"
    )]
    Older(u32),
    /// Other figures than those of the disk.
    #[error("its store has {store} blocks, and the disk only {disk}: it was made on a larger disk")]
    Larger {
        /// Blocks that it needs.
        store: u64,
        /// Blocks of the disk.
        disk: u64,
    },
}

impl Superblock {
    /// As a block.
    pub fn encode(&self) -> Bytes {
        let mut bytes = [0; BYTES_OF_SUPERBLOCK];
        bytes[..8].copy_from_slice(MAGIC);
        bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
        bytes[12..28].copy_from_slice(&self.store.to_le_bytes());
        bytes[28..36].copy_from_slice(&self.seed.to_le_bytes());
        bytes[36..40].copy_from_slice(&self.segment_blocks.to_le_bytes());
        bytes[40..44].copy_from_slice(&self.segments.to_le_bytes());
        bytes[44..48].copy_from_slice(&self.run.to_le_bytes());
        bytes[48..56].copy_from_slice(&self.count.to_le_bytes());
        bytes[56..64].copy_from_slice(&self.flushed.to_le_bytes());
        bytes[64..68].copy_from_slice(&self.part.number.to_le_bytes());
        bytes[68..72].copy_from_slice(&self.part.of.to_le_bytes());
        let sum = crc32c(&bytes[..72]);
        bytes[72..76].copy_from_slice(&sum.to_le_bytes());
        Bytes::encode(&bytes)
    }

    /// What a block says.
    ///
    /// # Errors
    /// If it is no superblock, or one of a later version.
    pub fn decode(block: &Bytes) -> Result<Superblock, NotOurs> {
        let bytes = block.as_slice();
        if &bytes[..8] != MAGIC {
            return Err(NotOurs::Foreign);
        }
        let version = word(bytes, 8);
        if version != VERSION {
            let is_newer = version > VERSION;
            return Err(if is_newer { NotOurs::Newer(version) } else { NotOurs::Older(version) });
        }
        if crc32c(&bytes[..72]) != word(bytes, 72) {
            return Err(NotOurs::Foreign);
        }
        Ok(Superblock {
            store: u128::from_le_bytes(bytes[12..28].try_into().expect("sixteen bytes")),
            seed: long(bytes, 28),
            segment_blocks: word(bytes, 36),
            segments: word(bytes, 40),
            run: word(bytes, 44),
            count: long(bytes, 48),
            flushed: long(bytes, 56),
            part: Part { number: word(bytes, 64), of: word(bytes, 68) },
        })
    }
}

/// The first bytes of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// Which use of the segment it is: later ones of the disk have larger numbers.
    pub sequence: u64,
    /// When it was written, all segments with sequences up to this one were on the disk for good: their summaries can be believed.
    pub durable: u64,
}

impl Head {
    /// Bytes of it; records follow.
    pub const BYTES: usize = 32;

    /// As bytes, for the store of this name.
    pub fn encode(&self, store: u128) -> [u8; Head::BYTES] {
        let mut bytes = [0; Head::BYTES];
        bytes[..8].copy_from_slice(HEAD);
        bytes[8..16].copy_from_slice(&self.sequence.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.durable.to_le_bytes());
        let sum = sum_of(store, &bytes[..24]);
        bytes[24..28].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    /// What the first block of a segment says; nothing if it is free.
    pub fn decode(block: &Bytes, store: u128) -> Option<Head> {
        let bytes = block.as_slice();
        let is_one = &bytes[..8] == HEAD && word(bytes, 24) == sum_of(store, &bytes[..24]);
        is_one.then(|| Head { sequence: long(bytes, 8), durable: long(bytes, 16) })
    }
}

/// The last bytes of a full segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Foot {
    /// The same as in its head.
    pub sequence: u64,
    /// Entries of its summary.
    pub entries: u32,
    /// Checksum of the summary.
    pub checksum: u32,
    /// Of its tombstones: the latest segment of which one says that a record there is not valid; 0 without any.
    pub buried: u64,
}

impl Foot {
    /// Bytes of it.
    pub const BYTES: usize = 48;

    /// As bytes, for the store of this name.
    pub fn encode(&self, store: u128) -> [u8; Foot::BYTES] {
        let mut bytes = [0; Foot::BYTES];
        bytes[..8].copy_from_slice(FOOT);
        bytes[8..16].copy_from_slice(&self.sequence.to_le_bytes());
        bytes[16..20].copy_from_slice(&self.entries.to_le_bytes());
        bytes[20..24].copy_from_slice(&self.checksum.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.buried.to_le_bytes());
        let sum = sum_of(store, &bytes[..32]);
        bytes[32..36].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    /// What the last block of a segment says.
    pub fn decode(block: &Bytes, store: u128) -> Option<Foot> {
        let bytes = &block.as_slice()[BLOCK_BYTES as usize - Foot::BYTES..];
        let is_one = &bytes[..8] == FOOT && word(bytes, 32) == sum_of(store, &bytes[..32]);
        is_one.then(|| Foot {
            sequence: long(bytes, 8),
            entries: word(bytes, 16),
            checksum: word(bytes, 20),
            buried: long(bytes, 24),
        })
    }
}

/// What a summary says of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The hash of its key.
    pub hash: KeyHash,
    /// Where it is in the segment, in units.
    pub unit: u32,
    /// Bytes of it.
    pub bytes: u32,
    /// When it expires.
    pub expires: u32,
    /// It says that the key was deleted.
    pub is_tombstone: bool,
}

impl Entry {
    /// Bytes of an entry.
    pub const BYTES: usize = 32;

    /// As bytes.
    pub fn encode(&self) -> [u8; Entry::BYTES] {
        let mut bytes = [0; Entry::BYTES];
        bytes[..16].copy_from_slice(&self.hash.0.to_le_bytes());
        bytes[16..20].copy_from_slice(&self.unit.to_le_bytes());
        bytes[20..24].copy_from_slice(&self.bytes.to_le_bytes());
        bytes[24..28].copy_from_slice(&self.expires.to_le_bytes());
        bytes[28] = u8::from(self.is_tombstone);
        bytes
    }

    /// The hash in the bytes of an entry.
    #[inline]
    pub fn hash_in(bytes: &[u8]) -> KeyHash {
        KeyHash(u128::from_le_bytes(bytes[..16].try_into().expect("sixteen bytes")))
    }

    /// The entry in these bytes.
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

/// The blocks of a summary with its foot, for the end of a segment.
pub fn summary(entries: &[Entry], sequence: u64, buried: u64, store: u128) -> Vec<Bytes> {
    const BLOCK: usize = BLOCK_BYTES as usize;
    let mut bytes = Vec::with_capacity(summary_blocks(entries.len()) as usize * BLOCK);
    entries.iter().for_each(|entry| bytes.extend_from_slice(&entry.encode()));
    let checksum = crc32c(&bytes);
    let foot = Foot { sequence, entries: entries.len() as u32, checksum, buried };
    bytes.resize(summary_blocks(entries.len()) as usize * BLOCK - Foot::BYTES, 0);
    bytes.extend_from_slice(&foot.encode(store));
    bytes.chunks(BLOCK).map(Bytes::encode).collect()
}

/// True if blocks, which end with `foot`, are the summary of which it says so.
pub fn is_summary(blocks: &[Bytes], foot: &Foot) -> bool {
    let (mut sum, mut left) = (Crc32c::new(), foot.entries as usize * Entry::BYTES);
    for block in blocks {
        let count = left.min(BLOCK_BYTES as usize);
        sum.add(&block.as_slice()[..count]);
        left -= count;
    }
    left == 0 && sum.value() == foot.checksum
}

/// The bytes of an entry of a summary.
#[inline]
pub fn entry_in(blocks: &[Bytes], at: usize) -> &[u8] {
    let first = at % ENTRIES * Entry::BYTES;
    &blocks[at / ENTRIES].as_slice()[first..first + Entry::BYTES]
}

/// Blocks that a summary of so many entries takes with its foot, at the end of a segment.
pub fn summary_blocks(entries: usize) -> u64 {
    ((entries * Entry::BYTES + Foot::BYTES) as u64).div_ceil(BLOCK_BYTES)
}

/// Entries of a block.
const ENTRIES: usize = BLOCK_BYTES as usize / Entry::BYTES;
/// Units of a block.
pub const UNITS: u64 = BLOCK_BYTES / UNIT;

/// A checksum that no other store's bytes have.
fn sum_of(store: u128, bytes: &[u8]) -> u32 {
    let mut sum = Crc32c::new();
    sum.add(&store.to_le_bytes());
    sum.add(bytes);
    sum.value()
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

fn long(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

const MAGIC: &[u8; 8] = b"tailcutK";
const HEAD: &[u8; 8] = b"segmentK";
const FOOT: &[u8; 8] = b"summaryK";
const VERSION: u32 = 2;
const BYTES_OF_SUPERBLOCK: usize = 76;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_is_found_again_and_nothing_of_others() {
        let superblock = Superblock {
            store: 77 << 70,
            seed: 5,
            segment_blocks: 256,
            segments: 100,
            run: 3,
            count: 9,
            flushed: 12,
            part: Part { number: 2, of: 4 },
        };
        assert_eq!(Superblock::decode(&superblock.encode()), Ok(superblock));
        assert_eq!(Superblock::decode(&Bytes::ZEROS), Err(NotOurs::Foreign));
        let mut newer = superblock.encode();
        newer.as_mut_slice()[8] = 3;
        assert_eq!(Superblock::decode(&newer), Err(NotOurs::Newer(3)));
        let mut older = superblock.encode();
        older.as_mut_slice()[8] = 1;
        assert_eq!(Superblock::decode(&older), Err(NotOurs::Older(1)));
        let mut flipped = superblock.encode();
        flipped.as_mut_slice()[40] ^= 1;
        assert_eq!(Superblock::decode(&flipped), Err(NotOurs::Foreign));

        let head = Head { sequence: 1 << 40, durable: 7 };
        let block = Bytes::encode(&head.encode(7));
        assert_eq!((Head::decode(&block, 7), Head::decode(&block, 8)), (Some(head), None));
        let foot = Foot { sequence: 1 << 40, entries: 4, checksum: 99, buried: 3 };
        let mut block = Bytes::zeroed();
        block.as_mut_slice()[BLOCK_BYTES as usize - Foot::BYTES..].copy_from_slice(&foot.encode(7));
        assert_eq!((Foot::decode(&block, 7), Foot::decode(&block, 8)), (Some(foot), None));
        let entry = Entry { hash: KeyHash(1 << 127 | 5), unit: 9, bytes: 64, expires: 8, is_tombstone: true };
        assert_eq!(Entry::decode(&entry.encode()), entry);
    }
}
