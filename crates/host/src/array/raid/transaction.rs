//! The encoding of a journal transaction on a drive.
//!
//! Format 1, little-endian, one block of header: magic (8 bytes), CRC-32C of the rest (u32), number of
//! entries (u32), identity of the array (u128), sequence number, tail and own position in the ring (u64
//! each); then for each entry drive (u32; the highest bit marks a trimmed block), checksum of
//! the content (u32) and block (u64). The contents of entries that are not trimmed follow, block by block.

use crate::Block;
use crate::array::DriveId;
use crate::crc::crc32c;
use crate::disk::BLOCK_LEN;
use tailcut_base::cast::to_u32;

/// Largest number of entries of a transaction.
pub(super) const ENTRIES_MOST: usize = (BLOCK_LEN - HEAD) / ENTRY;

const MAGIC: [u8; 8] = *b"tailcutJ";
const HEAD: usize = 56;
const ENTRY: usize = 16;
const TRIMMED: u32 = 1 << 31;

/// A block that is about to be written in place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// The drive on which the block is written.
    pub drive: DriveId,
    /// Block on the drive.
    pub block: u64,
    /// Checksum of the content; None for a trimmed block.
    pub content: Option<u32>,
}

/// The header of a transaction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Header {
    /// Identity of the array.
    pub array: u128,
    /// Sequence number of the transaction.
    pub sequence: u64,
    /// All transactions before this one are durable in place.
    pub tail: u64,
    /// Position in the ring.
    pub position: u64,
    /// The blocks of the transaction.
    pub entries: Vec<Entry>,
}

impl Header {
    /// Length of the transaction in blocks, including the header.
    pub(super) fn blocks(&self) -> u64 {
        1 + self.entries.iter().filter(|entry| entry.content.is_some()).count() as u64
    }

    /// Encodes the header into `bytes`.
    pub(super) fn encode(&self, bytes: &mut Vec<u8>) {
        assert!(self.entries.len() <= ENTRIES_MOST, "the entries fit the header");
        bytes.clear();
        bytes.extend(MAGIC);
        bytes.extend([0; 4]);
        bytes.extend(to_u32(self.entries.len()).to_le_bytes());
        bytes.extend(self.array.to_le_bytes());
        for number in [self.sequence, self.tail, self.position] {
            bytes.extend(number.to_le_bytes());
        }
        for entry in &self.entries {
            let trimmed = if entry.content.is_none() { TRIMMED } else { 0 };
            bytes.extend((entry.drive.get() | trimmed).to_le_bytes());
            bytes.extend(entry.content.unwrap_or(0).to_le_bytes());
            bytes.extend(entry.block.to_le_bytes());
        }
        let sum = crc32c(&bytes[12..]);
        bytes[8..12].copy_from_slice(&sum.to_le_bytes());
    }

    /// Decodes a header from a block; None if it is not one or is damaged.
    pub(super) fn decode(bytes: &[u8]) -> Option<Header> {
        if bytes.get(..8)? != MAGIC {
            return None;
        }
        let entries = u32::from_le_bytes(field(bytes, 12)?) as usize;
        let end = HEAD + entries.min(ENTRIES_MOST) * ENTRY;
        if entries > ENTRIES_MOST || crc32c(bytes.get(12..end)?).to_le_bytes() != bytes[8..12] {
            return None;
        }
        let number = |at| field(bytes, at).map(u64::from_le_bytes);
        Some(Header {
            array: u128::from_le_bytes(field(bytes, 16)?),
            sequence: number(32)?,
            tail: number(40)?,
            position: number(48)?,
            entries: bytes[HEAD..end].chunks_exact(ENTRY).map(entry).collect::<Option<_>>()?,
        })
    }

    /// True if `contents`, the blocks behind the header, match its checksums.
    pub(super) fn fits<B: Block>(&self, contents: &[B]) -> bool {
        let sums = self.entries.iter().filter_map(|entry| entry.content);
        contents.len() as u64 + 1 >= self.blocks()
            && sums.zip(contents).all(|(sum, content)| content.checksum() == sum)
    }
}

fn field<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at + N)?.try_into().ok()
}

fn entry(bytes: &[u8]) -> Option<Entry> {
    let drive = u32::from_le_bytes(field(bytes, 0)?);
    let sum = u32::from_le_bytes(field(bytes, 4)?);
    let block = u64::from_le_bytes(field(bytes, 8)?);
    Some(Entry {
        drive: DriveId::new(drive & !TRIMMED),
        block,
        content: (drive & TRIMMED == 0).then_some(sum),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Bytes;

    fn header() -> Header {
        let content = Bytes::encode(b"content").checksum();
        let entries = vec![
            Entry { drive: DriveId::new(3), block: 77, content: Some(content) },
            Entry { drive: DriveId::new(1), block: 78, content: None },
        ];
        Header { array: 9, sequence: 5, tail: 2, position: 40, entries }
    }

    #[test]
    fn a_header_comes_back_as_it_was() {
        let mut bytes = Vec::new();
        header().encode(&mut bytes);
        assert_eq!(Header::decode(Bytes::encode(&bytes).as_slice()), Some(header()));
        assert!(header().fits(&[Bytes::encode(b"content")]));
        assert!(!header().fits(&[Bytes::encode(b"another")]) && !header().fits::<Bytes>(&[]));
    }

    #[test]
    fn every_damaged_byte_is_noticed() {
        let mut good = Vec::new();
        header().encode(&mut good);
        for at in 0..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 0x10;
            assert_eq!(Header::decode(Bytes::encode(&bad).as_slice()), None, "byte {at}");
        }
    }
}
