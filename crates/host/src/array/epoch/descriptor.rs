//! Descriptors: a drive's list of the blocks that an epoch is about to change, with their old and new
//! versions.
//!
//! Format 1, little-endian: magic (8 bytes), CRC-32C of the rest (u32), number of entries (u32),
//! identity of the array (u128), slot on the drive (u32), format (u32), sequence (u64); each entry: block of
//! the host (u64), version (u64), version before (u64), checksums of both contents (u32 each).

use crate::crc::crc32c;
use crate::disk::BLOCK_LEN;
use tailcut_base::cast::to_u32;
use tailcut_base::id;

const MAGIC: [u8; 8] = *b"tailcutE";
const FORMAT: u32 = 1;
const HEAD: usize = 8 + 4 + 4 + 16 + 4 + 4 + 8;
const ENTRY: usize = 32;

/// Largest number of entries of a descriptor.
pub(super) const ENTRIES_MOST: usize = (BLOCK_LEN - HEAD) / ENTRY;

id! {
    /// A descriptor slot of a drive: a block, counted from the first one with a descriptor.
    pub struct SlotId;
}

/// A version of a block, and the checksum of its content.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Mark {
    /// Later versions are higher; 0 for content before the first recorded version.
    pub version: u64,
    /// Checksum of the content; meaningless with version 0.
    pub sum: u32,
}

/// A block that a drive is about to change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DescriptorEntry {
    /// Block number of the host.
    pub block: u64,
    /// Version and checksum that the drive is about to write.
    pub mark: Mark,
    /// Version and checksum that the drive holds until then.
    pub before: Mark,
}

/// Blocks that a drive is about to change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Descriptor {
    /// Identity of the array.
    pub array: u128,
    /// Number of the slot on the drive that the descriptor is written to.
    pub slot: SlotId,
    /// Counts the descriptors of the array.
    pub sequence: u64,
    /// The blocks that the drive is about to change, at most [`ENTRIES_MOST`].
    pub entries: Vec<DescriptorEntry>,
}

impl Descriptor {
    /// Encodes the descriptor as the bytes of a block.
    pub(super) fn encode(&self) -> Vec<u8> {
        assert!(self.entries.len() <= ENTRIES_MOST, "a descriptor is one block");
        let mut bytes = Vec::with_capacity(HEAD + ENTRY * self.entries.len());
        bytes.extend(MAGIC);
        bytes.extend([0; 4]);
        bytes.extend(to_u32(self.entries.len()).to_le_bytes());
        bytes.extend(self.array.to_le_bytes());
        bytes.extend(self.slot.get().to_le_bytes());
        bytes.extend(FORMAT.to_le_bytes());
        bytes.extend(self.sequence.to_le_bytes());
        for DescriptorEntry { block, mark, before } in &self.entries {
            for number in [*block, mark.version, before.version] {
                bytes.extend(number.to_le_bytes());
            }
            bytes.extend(mark.sum.to_le_bytes());
            bytes.extend(before.sum.to_le_bytes());
        }
        let sum = crc32c(&bytes[12..]);
        bytes[8..12].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    /// Decodes a descriptor from a block; None if it is invalid or incomplete.
    pub(super) fn decode(bytes: &[u8]) -> Option<Descriptor> {
        let u32_at = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
        let u64_at = |at: usize| Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
        if bytes.get(..8)? != MAGIC || u32_at(36)? != FORMAT {
            return None;
        }
        let count = u32_at(12)? as usize;
        if count > ENTRIES_MOST || crc32c(bytes.get(12..HEAD + ENTRY * count)?) != u32_at(8)? {
            return None;
        }
        let array = u128::from_le_bytes(bytes.get(16..32)?.try_into().ok()?);
        let entry = |at: usize| {
            let mark = Mark { version: u64_at(at + 8)?, sum: u32_at(at + 24)? };
            let before = Mark { version: u64_at(at + 16)?, sum: u32_at(at + 28)? };
            Some(DescriptorEntry { block: u64_at(at)?, mark, before })
        };
        let entries: Option<Vec<DescriptorEntry>> =
            (0..count).map(|index| entry(HEAD + ENTRY * index)).collect();
        let slot = SlotId::new(u32_at(32)?);
        Some(Descriptor { array, slot, sequence: u64_at(40)?, entries: entries? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn descriptor(entries: usize) -> Descriptor {
        let entry = |n: u64| DescriptorEntry {
            block: n * 7,
            mark: Mark { version: n + 9, sum: n as u32 },
            before: Mark { version: n, sum: !n as u32 },
        };
        let slot = SlotId::new(3);
        Descriptor { array: 77, slot, sequence: 12, entries: (0..entries as u64).map(entry).collect() }
    }

    #[test]
    fn a_descriptor_comes_back_as_it_was() {
        for entries in [0, 1, ENTRIES_MOST] {
            let bytes = descriptor(entries).encode();
            assert!(bytes.len() <= BLOCK_LEN);
            assert_eq!(Descriptor::decode(&bytes), Some(descriptor(entries)));
        }
    }

    #[test]
    fn every_damaged_byte_is_noticed() {
        let good = descriptor(3).encode();
        for at in 0..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 0x10;
            assert_eq!(Descriptor::decode(&bad), None, "byte {at}");
        }
    }
}
