//! On-disk format of everything but the records.
//!
//! The disk is divided into segments of equal length. The first holds only two *superblocks*, in its first
//! two blocks: each change is written to one of them, and to the other once that is durable. Every other
//! segment begins with a *head*, followed by records, each at a multiple of [`UNIT`], and ends with its
//! *foot*. A full segment has an end marker behind its records and, before the foot, a *summary* that lists
//! them. All numbers are little-endian, all checksums CRC-32C.
//!
//! Head and foot both record whether a segment is free and, if not, its sequence, so that either may be
//! damaged: if the head is neither that of a used nor of a free segment, it is ignored and the foot decides.
//! A segment whose first and last block are zeros was never used.

mod summary;

pub use summary::{Entry, entry_in, is_summary, summary, summary_blocks};

use crate::block::{Block, Bytes};
use crate::crc::{Crc32c, crc32c};
use crate::disk::{BLOCK_BYTES, BLOCK_LEN};
use crate::kv::log::{LEAST_SEGMENTS, SegmentId};
use crate::kv::place::UNIT;
use crate::kv::settings::MOST_UNITS;

/// The superblock of a store, from which it is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Superblock {
    /// Random identity of the store.
    pub store: u128,
    /// Seed of the hashes by which items are indexed.
    pub seed: u64,
    /// Number of blocks of 4 KiB in a segment.
    pub segment_blocks: u32,
    /// Number of segments, including the first.
    pub segments: u32,
    /// Number of times the store was opened.
    pub run: u32,
    /// Number of times that the superblock was written: the copy with the higher number is the latest.
    pub count: u64,
    /// Records in segments with sequences up to this one are invalid: the store was flushed.
    pub flushed: u64,
    /// The part of the store on this disk.
    pub part: Part,
    /// Damage may have destroyed newer versions of items in segments with sequences up to this one; 0 if no
    /// item is in doubt.
    pub doubted: u64,
    /// Segments with sequences up to this one were durable when the store was closed.
    pub durable: u64,
    /// Segments up to this number have been used, and were durable then.
    pub used: u32,
    /// True if the store was last opened as one that evicts nothing, and not as a cache.
    pub keeps_all: bool,
    /// Length of the disk, or of this part's range of it, when the store was created, in blocks.
    pub blocks: u64,
}

/// One part of a store. A store may be split into parts, each on its own disk or range of a disk and with its
/// own log. The key selects an item's part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Index of the part, from 0.
    pub number: u32,
    /// Number of parts that the store is split into, at least 1.
    pub of: u32,
}

impl Part {
    /// A store in one part.
    pub const WHOLE: Part = Part { number: 0, of: 1 };
}

/// Why a disk cannot be opened as a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotOurs {
    /// It holds other data, or none.
    #[error("there is no key-value store on it")]
    Foreign,
    /// A later version wrote it.
    #[error("its format is version {0}, and this program knows version {VERSION} only; use a newer one")]
    Newer(u32),
    /// An earlier version wrote it.
    #[error(
        "its format is version {0}, which is not read any more; make a new store with --create, or use an \
            older program"
    )]
    Older(u32),
    /// The checksum is right, but a value is impossible.
    #[error(
        "its superblock is wrong though its checksum is right ({0}): it was changed by something else than \
            tailcut"
    )]
    Wrong(&'static str),
    /// The disk has shrunk.
    #[error(
        "its store was made on a disk of at least {store} blocks ({} MiB), and this one has only {disk} ({} \
         MiB): make the disk as large as it was",
        store >> 8, disk >> 8
    )]
    Larger {
        /// Blocks that the store needs.
        store: u64,
        /// Blocks that the disk has.
        disk: u64,
    },
}

/// The bit that stores [`Superblock::keeps_all`], in the word of [`Superblock::used`]: segments are numbered
/// in 31 bits. Clear in superblocks written before the flag existed.
const KEEPS_ALL: u32 = 31;
const _: () = assert!(MOST_UNITS / UNITS <= 1 << KEEPS_ALL, "numbers of segments reach the bit");

impl Superblock {
    /// Encodes the superblock as one block.
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
        let used = self.used | u32::from(self.keeps_all) << KEEPS_ALL;
        bytes[96..100].copy_from_slice(&used.to_le_bytes());
        let sum = crc32c(&bytes[..100]);
        bytes[100..104].copy_from_slice(&sum.to_le_bytes());
        Bytes::encode(&bytes)
    }

    /// Decodes a superblock.
    ///
    /// # Errors
    /// If the block is no superblock, or one of another version, or has impossible values.
    #[expect(clippy::missing_panics_doc, reason = "the slices have the lengths of the numbers")]
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
        if crc32c(&bytes[..100]) != word(bytes, 100) {
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
            used: word(bytes, 96) & !(1 << KEEPS_ALL),
            keeps_all: word(bytes, 96) >> KEEPS_ALL == 1,
        };
        superblock.problem().map_or(Ok(superblock), |problem| Err(NotOurs::Wrong(problem)))
    }

    /// The first impossible value, if any.
    fn problem(&self) -> Option<&'static str> {
        let blocks = u64::from(self.segments) * u64::from(self.segment_blocks);
        let Superblock { part, run, .. } = *self;
        let is_later = |sequence: u64| sequence >> 32 > u64::from(run);
        [
            (self.segment_blocks < 2, "segments of less than two blocks"),
            (self.segments < LEAST_SEGMENTS, "too few segments"),
            (blocks > MOST_UNITS / UNITS, "more segments than can be addressed"),
            (self.blocks < blocks || self.blocks > 1 << 50, "segments beyond its end"),
            (self.used >= self.segments, "a used segment beyond its end"),
            (part.of == 0 || part.number >= part.of, "a part that there is not"),
            (run == u32::MAX, "no further run has a number"),
            (is_later(self.flushed.max(self.doubted).max(self.durable)), "segments of a later run"),
            (self.count > u64::MAX / 2, "it was written too often"),
        ]
        .into_iter()
        .find_map(|(is_wrong, problem)| is_wrong.then_some(problem))
    }
}

/// The head of a used segment: its first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// Identifies this use of the segment; later uses on the disk have larger sequences.
    pub sequence: u64,
    /// When this head was written, segments with sequences up to this one were durable: their summaries are
    /// valid.
    pub durable: u64,
    /// The segment was still open when the store stopped: a power loss may have cut it off at any record.
    pub is_cut: bool,
}

/// The last bytes of a segment that is used but not full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenEnd {
    /// The sequence in the segment's head.
    pub sequence: u64,
    /// Number of blocks, counted from the first of the segment, that were durable when this was written. A
    /// header of a later block states the same ([`Stamp::durable`](crate::kv::record::Stamp::durable)), so
    /// that either may be damaged.
    pub durable: u32,
}

/// The foot of a full segment: its last bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Foot {
    /// The sequence in the segment's head.
    pub sequence: u64,
    /// Number of entries in the summary.
    pub entries: u32,
    /// Checksum over all entries of the summary.
    pub checksum: u32,
    /// The latest segment in which one of this segment's tombstones invalidates a record; 0 without
    /// tombstones.
    pub buried: u64,
    /// Records were lost to damage: newer versions of any item up to this segment may be missing.
    pub has_hole: bool,
}

/// Identifies one end of a segment of a store. Checksums of ends cover it, so that an end written to the
/// wrong place counts as damaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndOf {
    /// Identity of the store: [`Superblock::store`].
    pub store: u128,
    /// Number of the segment on the disk.
    pub number: SegmentId,
}

/// The state of a segment according to one of its ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The segment was never used.
    Blank,
    /// Free; its last use had this sequence.
    Free(u64),
    /// Head of a used segment.
    Head(Head),
    /// Last block of a segment that is used but not full.
    Open(OpenEnd),
    /// Last block of a full segment.
    Foot(Foot),
    /// Damaged, or foreign data.
    Damaged,
}

impl End {
    /// Length of an encoded end in bytes.
    pub const BYTES: usize = 48;

    /// Encodes the end; zeros for `Blank` and `Damaged`.
    pub fn encode(&self, of: EndOf) -> [u8; End::BYTES] {
        let mut bytes = [0; End::BYTES];
        let (magic, sequence) = match self {
            End::Free(sequence) => (FREE, sequence),
            End::Head(head) => (HEAD, &head.sequence),
            End::Open(open) => (OPEN, &open.sequence),
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
            End::Open(open) => bytes[16..20].copy_from_slice(&open.durable.to_le_bytes()),
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

    /// Decodes the first block of a segment.
    pub fn first(block: &Bytes, of: EndOf) -> End {
        match End::decode(&block.as_slice()[..End::BYTES], of) {
            End::Open(_) | End::Foot(_) => End::Damaged,
            end => end,
        }
    }

    /// True if the block begins like a segment of any store.
    pub fn is_of_any(block: &Bytes) -> bool {
        [HEAD, FREE].iter().any(|magic| block.as_slice().starts_with(*magic))
    }

    /// Decodes the last block of a segment.
    pub fn last(block: &Bytes, of: EndOf) -> End {
        match End::decode(&block.as_slice()[BLOCK_LEN - End::BYTES..], of) {
            End::Head(_) => End::Damaged,
            end => end,
        }
    }

    /// The last block of a used or free segment without a summary.
    pub fn last_block(&self, of: EndOf) -> Bytes {
        let mut block = Bytes::zeroed();
        block.as_mut_slice()[BLOCK_LEN - End::BYTES..].copy_from_slice(&self.encode(of));
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
        // New sequences are derived from the ones found here, so they must not overflow.
        let is_possible = sequence >> 32 < u64::from(u32::MAX) && sequence & u64::from(u32::MAX) < 1 << 31;
        match magic {
            _ if !is_possible => End::Damaged,
            Some(FREE) => End::Free(sequence),
            Some(HEAD) => End::Head(Head { sequence, durable: long(bytes, 16), is_cut: bytes[24] != 0 }),
            Some(OPEN) => End::Open(OpenEnd { sequence, durable: word(bytes, 16) }),
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
    /// Checksum of an end, which also covers its store and segment.
    fn sum(&self, bytes: &[u8]) -> u32 {
        let mut sum = Crc32c::new();
        sum.add(&self.store.to_le_bytes());
        sum.add(&self.number.get().to_le_bytes());
        sum.add(bytes);
        sum.value()
    }
}

/// Units per block.
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
const VERSION: u32 = 5;
const BYTES_OF_SUPERBLOCK: usize = 104;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kv::hash::KeyHash;

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
            used: 99,
            keeps_all: true,
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
        for end in [End::Free(5), End::Open(OpenEnd { sequence: 6, durable: 3 }), End::Foot(last), End::Blank]
        {
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
