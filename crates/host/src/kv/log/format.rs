//! What stands on the disk beside the records.
//!
//! The disk is divided into segments of equal length. The first holds nothing but two *superblocks*, in its first two blocks: each
//! change is written to one of them, and to the other when that is durable. Every other segment begins with a *head*; then come records, each at a multiple of
//! [`UNIT`]. Its last bytes are its *foot*. Behind the records of a full segment stand a record that says so, and before the foot its *summary*, which names
//! them. All numbers are little-endian, all checksums CRC-32C.
//!
//! Both ends say whether a segment is free or which use of it this is, so that one of them may be damaged: a head that is neither
//! that of a use nor of a free segment is believed nothing, and the foot is asked. Two blocks of zeros are a segment that was never used.

use crate::block::{Block, Bytes};
use crate::crc::{Crc32c, crc32c};
use crate::disk::BLOCK_BYTES;
use crate::kv::hash::KeyHash;
use crate::kv::log::{LEAST_SEGMENTS, SegmentId};
use crate::kv::place::UNIT;
use crate::kv::settings::MOST_UNITS;
use std::ops::Range;

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
    /// Of what is in segments with sequences up to this one, newer versions may have been lost to damage; 0 if that is
    /// not so.
    pub doubted: u64,
    /// Segments with sequences up to this one were on the disk for good when the store was closed.
    pub durable: u64,
    /// Blocks of the disk, or of this part's stretch of it, when the store was made.
    pub blocks: u64,
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
    /// Its checksum is right, and what it says is not possible.
    #[error(
        "its superblock is wrong though its checksum is right ({0}): it was changed by something else than tailcut"
    )]
    Wrong(&'static str),
    /// The disk has shrunk.
    #[error(
        "its store was made on a disk of at least {store} blocks ({} MiB), and this one has only {disk} ({} MiB): \
         make the disk as large as it was",
        store >> 8, disk >> 8
    )]
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
        bytes[72..80].copy_from_slice(&self.doubted.to_le_bytes());
        bytes[80..88].copy_from_slice(&self.durable.to_le_bytes());
        bytes[88..96].copy_from_slice(&self.blocks.to_le_bytes());
        let sum = crc32c(&bytes[..96]);
        bytes[96..100].copy_from_slice(&sum.to_le_bytes());
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
        if crc32c(&bytes[..96]) != word(bytes, 96) {
            return Err(NotOurs::Foreign);
        }
        let superblock = Superblock {
            store: u128::from_le_bytes(bytes[12..28].try_into().expect("sixteen bytes")),
            seed: long(bytes, 28),
            segment_blocks: word(bytes, 36),
            segments: word(bytes, 40),
            run: word(bytes, 44),
            count: long(bytes, 48),
            flushed: long(bytes, 56),
            part: Part { number: word(bytes, 64), of: word(bytes, 68) },
            doubted: long(bytes, 72),
            durable: long(bytes, 80),
            blocks: long(bytes, 88),
        };
        superblock.problem().map_or(Ok(superblock), |problem| Err(NotOurs::Wrong(problem)))
    }

    /// What cannot be so.
    fn problem(&self) -> Option<&'static str> {
        let blocks = u64::from(self.segments) * u64::from(self.segment_blocks);
        let Superblock { part, run, .. } = *self;
        let is_later = |sequence: u64| sequence >> 32 > u64::from(run);
        [
            (self.segment_blocks < 2, "segments of less than two blocks"),
            (self.segments < LEAST_SEGMENTS, "too few segments"),
            (blocks > MOST_UNITS / UNITS, "more segments than can be addressed"),
            (self.blocks < blocks || self.blocks > 1 << 50, "segments beyond its end"),
            (part.of == 0 || part.number >= part.of, "a part that there is not"),
            (run == u32::MAX, "no further run has a number"),
            (is_later(self.flushed.max(self.doubted).max(self.durable)), "segments of a later run"),
            (self.count > u64::MAX / 2, "it was written too often"),
        ]
        .into_iter()
        .find_map(|(is_wrong, problem)| is_wrong.then_some(problem))
    }
}

/// The first bytes of a segment that is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// Which use of the segment it is: later ones of the disk have larger numbers.
    pub sequence: u64,
    /// When it was written, all segments with sequences up to this one were on the disk for good: their summaries can be believed.
    pub durable: u64,
    /// It was not full when the store came to its end: the power may have cut off some of it, and nothing says where it ends.
    pub is_cut: bool,
}

/// The last bytes of a full segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Foot {
    /// The same as in its head.
    pub sequence: u64,
    /// Entries of its summary.
    pub entries: u32,
    /// Checksum of the summary.
    pub checksum: u32,
    /// Of its tombstones: the latest segment of which one says that a record there is not valid; 0 without any.
    pub buried: u64,
    /// Records of it were lost to damage: of everything up to this segment there may have been newer versions.
    pub has_hole: bool,
}

/// Which end of which segment of which store: the checksum of an end stands for that, too, so that one that was written
/// elsewhere counts as damaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndOf {
    /// The name of the store.
    pub store: u128,
    /// The segment.
    pub number: SegmentId,
}

/// What one end of a segment says of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// It was never used.
    Blank,
    /// It is free since its use of this sequence.
    Free(u64),
    /// Its head: it is used.
    Head(Head),
    /// Its last block: it is used, and not full.
    Open(u64),
    /// Its last block: it is full.
    Foot(Foot),
    /// None of these: it is damaged, or belongs to something else.
    Damaged,
}

impl End {
    /// Bytes at either end.
    pub const BYTES: usize = 48;

    /// As bytes.
    pub fn encode(&self, of: EndOf) -> [u8; End::BYTES] {
        let mut bytes = [0; End::BYTES];
        let (magic, sequence) = match self {
            End::Free(sequence) => (FREE, sequence),
            End::Head(head) => (HEAD, &head.sequence),
            End::Open(sequence) => (OPEN, sequence),
            End::Foot(foot) => (FOOT, &foot.sequence),
            End::Blank | End::Damaged => return bytes,
        };
        bytes[..8].copy_from_slice(magic);
        bytes[8..16].copy_from_slice(&sequence.to_le_bytes());
        match self {
            End::Head(head) => {
                bytes[16..24].copy_from_slice(&head.durable.to_le_bytes());
                bytes[24] = u8::from(head.is_cut);
            }
            End::Foot(foot) => {
                bytes[16..20].copy_from_slice(&foot.entries.to_le_bytes());
                bytes[20..24].copy_from_slice(&foot.checksum.to_le_bytes());
                bytes[24..32].copy_from_slice(&foot.buried.to_le_bytes());
                bytes[32] = u8::from(foot.has_hole);
            }
            _ => {}
        }
        let sum = of.sum(&bytes[..40]);
        bytes[40..44].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    /// What the first block of a segment says.
    pub fn first(block: &Bytes, of: EndOf) -> End {
        match End::decode(&block.as_slice()[..End::BYTES], of) {
            End::Open(_) | End::Foot(_) => End::Damaged,
            end => end,
        }
    }

    /// Whether a segment of some store begins with this block.
    pub fn is_of_any(block: &Bytes) -> bool {
        [HEAD, FREE].iter().any(|magic| block.as_slice().starts_with(*magic))
    }

    /// What the last block of a segment says.
    pub fn last(block: &Bytes, of: EndOf) -> End {
        match End::decode(&block.as_slice()[BLOCK_BYTES as usize - End::BYTES..], of) {
            End::Head(_) => End::Damaged,
            end => end,
        }
    }

    /// The last block of a segment that is used or free, and has no summary.
    pub fn last_block(&self, of: EndOf) -> Bytes {
        let mut block = Bytes::zeroed();
        block.as_mut_slice()[BLOCK_BYTES as usize - End::BYTES..].copy_from_slice(&self.encode(of));
        block
    }

    fn decode(bytes: &[u8], of: EndOf) -> End {
        if bytes.iter().all(|&byte| byte == 0) {
            return End::Blank;
        }
        if word(bytes, 40) != of.sum(&bytes[..40]) {
            return End::Damaged;
        }
        let (magic, sequence) = (bytes.first_chunk::<8>(), long(bytes, 8));
        // Sequences are counted on from them.
        let is_possible = sequence >> 32 < u64::from(u32::MAX) && sequence & u64::from(u32::MAX) < 1 << 31;
        match magic {
            _ if !is_possible => End::Damaged,
            Some(FREE) => End::Free(sequence),
            Some(HEAD) => End::Head(Head { sequence, durable: long(bytes, 16), is_cut: bytes[24] != 0 }),
            Some(OPEN) => End::Open(sequence),
            Some(FOOT) => End::Foot(Foot {
                sequence,
                entries: word(bytes, 16),
                checksum: word(bytes, 20),
                buried: long(bytes, 24),
                has_hole: bytes[32] != 0,
            }),
            _ => End::Damaged,
        }
    }
}

impl EndOf {
    /// A checksum that no other end has.
    fn sum(&self, bytes: &[u8]) -> u32 {
        let mut sum = Crc32c::new();
        sum.add(&self.store.to_le_bytes());
        sum.add(&self.number.get().to_le_bytes());
        sum.add(bytes);
        sum.value()
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
    /// Its bytes in the segment.
    pub fn range(&self) -> Range<u64> {
        let first = u64::from(self.unit) * UNIT;
        first..first + u64::from(self.bytes)
    }

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

/// The blocks of a summary with its foot, for the end of a segment. `foot` need not know entries and checksum.
pub fn summary(entries: &[Entry], foot: Foot, of: EndOf) -> Vec<Bytes> {
    const BLOCK: usize = BLOCK_BYTES as usize;
    let mut bytes = Vec::with_capacity(summary_blocks(entries.len()) as usize * BLOCK);
    entries.iter().for_each(|entry| bytes.extend_from_slice(&entry.encode()));
    let foot = Foot { entries: entries.len() as u32, checksum: crc32c(&bytes), ..foot };
    bytes.resize(summary_blocks(entries.len()) as usize * BLOCK - End::BYTES, 0);
    bytes.extend_from_slice(&End::Foot(foot).encode(of));
    bytes.chunks(BLOCK).map(Bytes::encode).collect()
}

/// True if blocks, which end with `foot`, are the summary of which it says so, and its entries name records in a segment of so many blocks.
pub fn is_summary(blocks: &[Bytes], foot: &Foot, segment_blocks: u32) -> bool {
    let (mut sum, mut left) = (Crc32c::new(), foot.entries as usize * Entry::BYTES);
    let end = u64::from(segment_blocks) * BLOCK_BYTES;
    for block in blocks {
        let count = left.min(BLOCK_BYTES as usize);
        let bytes = &block.as_slice()[..count];
        sum.add(bytes);
        left -= count;
    }
    // They are in the order of their records, none of which lie across another.
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

/// The bytes of an entry of a summary.
#[inline]
pub fn entry_in(blocks: &[Bytes], at: usize) -> &[u8] {
    let first = at % ENTRIES * Entry::BYTES;
    &blocks[at / ENTRIES].as_slice()[first..first + Entry::BYTES]
}

/// Blocks that a summary of so many entries takes with its foot, at the end of a segment.
pub fn summary_blocks(entries: usize) -> u64 {
    ((entries * Entry::BYTES + End::BYTES) as u64).div_ceil(BLOCK_BYTES)
}

/// Entries of a block.
const ENTRIES: usize = BLOCK_BYTES as usize / Entry::BYTES;
/// Units of a block.
pub const UNITS: u64 = BLOCK_BYTES / UNIT;

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

fn long(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

const MAGIC: &[u8; 8] = b"tailcutK";
const HEAD: &[u8; 8] = b"segmentK";
const FOOT: &[u8; 8] = b"summaryK";
const OPEN: &[u8; 8] = b"openingK";
const FREE: &[u8; 8] = b"freesegK";
const VERSION: u32 = 4;
const BYTES_OF_SUPERBLOCK: usize = 100;

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
            doubted: 8,
            durable: 11,
            blocks: 25_700,
        };
        assert_eq!(Superblock::decode(&superblock.encode()), Ok(superblock));
        assert_eq!(Superblock::decode(&Bytes::ZEROS), Err(NotOurs::Foreign));
        let mut newer = superblock.encode();
        newer.as_mut_slice()[8] = 1 + VERSION as u8;
        assert_eq!(Superblock::decode(&newer), Err(NotOurs::Newer(1 + VERSION)));
        let mut older = superblock.encode();
        older.as_mut_slice()[8] = 2;
        assert_eq!(Superblock::decode(&older), Err(NotOurs::Older(2)));
        let mut flipped = superblock.encode();
        flipped.as_mut_slice()[40] ^= 1;
        assert_eq!(Superblock::decode(&flipped), Err(NotOurs::Foreign));

        let (of, other) =
            (EndOf { store: 7, number: SegmentId::new(3) }, EndOf { store: 7, number: SegmentId::new(4) });
        let head = End::Head(Head { sequence: 1 << 40, durable: 7, is_cut: true });
        let block = Bytes::encode(&head.encode(of));
        assert_eq!((End::first(&block, of), End::first(&block, other)), (head, End::Damaged));
        let last = Foot { sequence: 1 << 40, entries: 4, checksum: 99, buried: 3, has_hole: true };
        for end in [End::Free(5), End::Open(6), End::Foot(last), End::Blank] {
            let block = end.last_block(of);
            assert_eq!(End::last(&block, of), end);
            let is_anyones = end == End::Blank;
            assert_eq!(
                End::last(&block, EndOf { store: 8, number: SegmentId::new(3) }) == End::Damaged,
                !is_anyones
            );
            let mut flipped = block;
            flipped.as_mut_slice()[BLOCK_BYTES as usize - 20] ^= 1;
            assert_eq!(End::last(&flipped, of), End::Damaged);
        }
        let entry = Entry { hash: KeyHash(1 << 127 | 5), unit: 9, bytes: 64, expires: 8, is_tombstone: true };
        assert_eq!(Entry::decode(&entry.encode()), entry);
    }
}
