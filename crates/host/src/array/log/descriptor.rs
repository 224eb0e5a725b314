//! The metadata in a log that makes it readable again.
//!
//! A *descriptor* is a block in the log that describes the blocks before it, back to the previous descriptor:
//! a
//! *batch*. The last descriptor of a row names the next row. A *summary* is the last block of each segment
//! and gives the block of the host for each of its blocks, for collection.
//!
//! Format 1 of a descriptor, little-endian: magic (8 bytes), CRC-32C of the rest (u32), format (u32),
//! array (u128), row and its age (u32 each), stream (u8), is final (u8), entries and trims (u16 each),
//! 2 bytes of zeros, batch (u64), first and own position (u32 each), next row and its age (u32 each),
//! 16 bytes of zeros; then entries: block of the host plus 1 (5 bytes), checksum (u32), place it was moved
//! from plus 1 (5 bytes); then trims: entries before it (u16), first block (5 bytes), blocks (u32).
//! A summary: magic, CRC, format, array, row, age, member (u32), entries (u32), then 5 bytes for each.

use super::geometry::{Place, Row};
use super::map::{ENTRY_BYTES, pack, unpack};
use crate::crc::crc32c;
use crate::disk::BLOCK_LEN;
use tailcut_base::cast::{to_u16, to_u32};

const DESCRIPTOR: [u8; 8] = *b"tailcutL";
const SUMMARY: [u8; 8] = *b"tailcutS";
const FORMAT: u32 = 1;
const HEADER: usize = 88;
const SUMMARY_HEADER: usize = 48;
const ENTRY: usize = 14;
const TRIM: usize = 11;

/// Largest number of entries of a descriptor without trims.
pub(super) const ENTRIES_MAX: u32 = 286;
const _: () = assert!(ENTRIES_MAX as usize == (BLOCK_LEN - HEADER) / ENTRY);

/// Describes one block of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// The block of the host.
    pub block: u64,
    /// Checksum of the content.
    pub checksum: u32,
    /// Place from which collection has moved it; None if the host has written it.
    pub source: Option<Place>,
}

/// Blocks trimmed by the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Trim {
    /// Number of entries of the batch before the trim.
    pub after: u16,
    /// First block of the host that was trimmed.
    pub block: u64,
    /// Number of trimmed blocks.
    pub blocks: u32,
}

/// A row and the age of its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Aged {
    /// The row that the age belongs to.
    pub row: Row,
    /// Number of rows opened before it.
    pub age: u32,
}

/// A descriptor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Descriptor {
    /// Identity of the array.
    pub array: u128,
    /// The row that contains it.
    pub here: Aged,
    /// Stream: 0 for the host's, 1 for that of collection.
    pub stream: u8,
    /// Batch number in the stream, counting up.
    pub batch: u64,
    /// Position of the first entry.
    pub first: u32,
    /// Position of the descriptor itself.
    pub position: u32,
    /// The row in which the stream continues; only in the last descriptor of a row.
    pub next: Option<Aged>,
    /// The blocks from position `first` to the one before `position`.
    pub entries: Vec<Entry>,
    /// Trims in the same period.
    pub trims: Vec<Trim>,
}

/// True if a descriptor has room for another entry or trim.
pub(super) fn has_room(entries: &[Entry], trims: &[Trim]) -> bool {
    HEADER + (entries.len() + 1) * ENTRY + (trims.len() + 1) * TRIM <= BLOCK_LEN
}

impl Descriptor {
    /// Encodes the descriptor as the bytes of a block.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(BLOCK_LEN);
        bytes.extend(DESCRIPTOR);
        bytes.extend([0; 4]);
        bytes.extend(FORMAT.to_le_bytes());
        bytes.extend(self.array.to_le_bytes());
        bytes.extend(self.here.row.get().to_le_bytes());
        bytes.extend(self.here.age.to_le_bytes());
        bytes.extend([self.stream, u8::from(self.next.is_some())]);
        bytes.extend(to_u16(self.entries.len()).to_le_bytes());
        bytes.extend(to_u16(self.trims.len()).to_le_bytes());
        bytes.extend([0; 2]);
        bytes.extend(self.batch.to_le_bytes());
        let next = self.next.unwrap_or(Aged { row: Row::FIRST, age: 0 });
        for number in [self.first, self.position, next.row.get(), next.age] {
            bytes.extend(number.to_le_bytes());
        }
        bytes.resize(HEADER, 0);
        for entry in &self.entries {
            bytes.extend(pack(entry.block + 1));
            bytes.extend(entry.checksum.to_le_bytes());
            bytes.extend(pack(entry.source.map_or(0, |place| place.0 + 1)));
        }
        for trim in &self.trims {
            bytes.extend(trim.after.to_le_bytes());
            bytes.extend(pack(trim.block));
            bytes.extend(trim.blocks.to_le_bytes());
        }
        sum(&mut bytes);
        bytes
    }

    /// Decodes a descriptor from a block; None if it is not one.
    pub(super) fn decode(bytes: &[u8]) -> Option<Descriptor> {
        let mut fields = Fields::checked(bytes, DESCRIPTOR)?;
        let array = u128::from_le_bytes(fields.take()?);
        let here = Aged { row: Row::new(fields.u32()?), age: fields.u32()? };
        let [stream, is_final] = fields.take()?;
        let (entries, trims) = (fields.u16()?, fields.u16()?);
        fields.take::<2>()?;
        let batch = u64::from_le_bytes(fields.take()?);
        let (first, position) = (fields.u32()?, fields.u32()?);
        let next = Aged { row: Row::new(fields.u32()?), age: fields.u32()? };
        fields.at = HEADER;
        let entries = (0..entries).map(|_| fields.entry()).collect::<Option<Vec<_>>>()?;
        let trims = (0..trims).map(|_| fields.trim()).collect::<Option<Vec<_>>>()?;
        let next = (is_final == 1).then_some(next);
        Some(Descriptor { array, here, stream, batch, first, position, next, entries, trims })
    }
}

/// The summary of a segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Summary {
    /// Identity of the array.
    pub array: u128,
    /// The row that contains the segment, and its age.
    pub here: Aged,
    /// Number of its data column, from 0.
    pub data_column: u32,
    /// Block of the host in each stripe plus 1; 0 for other content.
    pub blocks: Vec<u64>,
}

impl Summary {
    /// Encodes the summary as the bytes of a block.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(BLOCK_LEN);
        bytes.extend(SUMMARY);
        bytes.extend([0; 4]);
        bytes.extend(FORMAT.to_le_bytes());
        bytes.extend(self.array.to_le_bytes());
        for number in [self.here.row.get(), self.here.age, self.data_column, to_u32(self.blocks.len())] {
            bytes.extend(number.to_le_bytes());
        }
        assert_eq!(bytes.len(), SUMMARY_HEADER);
        bytes.extend(self.blocks.iter().flat_map(|&block| pack(block)));
        sum(&mut bytes);
        bytes
    }

    /// Decodes a summary from a block; None if it is not one.
    pub(super) fn decode(bytes: &[u8]) -> Option<Summary> {
        let mut fields = Fields::checked(bytes, SUMMARY)?;
        let array = u128::from_le_bytes(fields.take()?);
        let here = Aged { row: Row::new(fields.u32()?), age: fields.u32()? };
        let (data_column, entries) = (fields.u32()?, fields.u32()?);
        let blocks = (0..entries).map(|_| fields.number()).collect::<Option<Vec<_>>>()?;
        Some(Summary { array, here, data_column, blocks })
    }
}

/// Pads the block with zeros and sets its checksum.
pub(super) fn sum(bytes: &mut Vec<u8>) {
    assert!(bytes.len() <= BLOCK_LEN, "it fits a block");
    bytes.resize(BLOCK_LEN, 0);
    let sum = crc32c(&bytes[12..]);
    bytes[8..12].copy_from_slice(&sum.to_le_bytes());
}

/// Reads fields in sequence.
#[derive(Debug)]
pub(super) struct Fields<'b> {
    bytes: &'b [u8],
    /// Offset of the next byte.
    at: usize,
}

impl<'b> Fields<'b> {
    /// The fields behind magic, checksum and format; None if one of these is wrong.
    pub(super) fn checked(bytes: &'b [u8], magic: [u8; 8]) -> Option<Fields<'b>> {
        let mut fields = Fields { bytes, at: 0 };
        let is_ours = fields.take::<8>()? == magic
            && fields.u32()? == crc32c(bytes.get(12..)?)
            && fields.u32()? == FORMAT;
        is_ours.then_some(fields)
    }

    /// The next `N` bytes.
    pub(super) fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let field = self.bytes.get(self.at..self.at + N)?;
        self.at += N;
        field.try_into().ok()
    }

    fn u16(&mut self) -> Option<u16> {
        self.take().map(u16::from_le_bytes)
    }

    /// A 32-bit number.
    pub(super) fn u32(&mut self) -> Option<u32> {
        self.take().map(u32::from_le_bytes)
    }

    /// A 64-bit number.
    pub(super) fn u64(&mut self) -> Option<u64> {
        self.take().map(u64::from_le_bytes)
    }

    /// A 40-bit number.
    pub(super) fn number(&mut self) -> Option<u64> {
        self.take::<ENTRY_BYTES>().map(|bytes| unpack(&bytes))
    }

    fn entry(&mut self) -> Option<Entry> {
        let block = self.number()?.checked_sub(1)?;
        let (checksum, source) = (self.u32()?, self.number()?);
        Some(Entry { block, checksum, source: source.checked_sub(1).map(Place) })
    }

    fn trim(&mut self) -> Option<Trim> {
        Some(Trim { after: self.u16()?, block: self.number()?, blocks: self.u32()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn descriptor(entries: u32, trims: u32) -> Descriptor {
        let entry = |at: u32| Entry {
            block: u64::from(at) * 7,
            checksum: at,
            source: at.is_multiple_of(2).then_some(Place(u64::from(at) << 20)),
        };
        let trim = |at: u32| Trim { after: at as u16, block: u64::from(at), blocks: at + 1 };
        Descriptor {
            array: 1 << 100,
            here: Aged { row: Row::new(3), age: 9 },
            stream: 1,
            batch: 1 << 40,
            first: 5,
            position: 5 + entries,
            next: (entries > 2).then_some(Aged { row: Row::new(8), age: 10 }),
            entries: (0..entries).map(entry).collect(),
            trims: (0..trims).map(trim).collect(),
        }
    }

    #[test]
    fn descriptors_and_summaries_come_back_as_they_were() {
        for (entries, trims) in [(0, 0), (3, 2), (ENTRIES_MAX, 0), (0, 300), (100, 100)] {
            let descriptor = descriptor(entries, trims);
            assert_eq!(Descriptor::decode(&descriptor.encode()), Some(descriptor));
        }
        let blocks = (0..255).collect();
        let summary = Summary { array: 5, here: Aged { row: Row::new(1), age: 2 }, data_column: 3, blocks };
        assert_eq!(Summary::decode(&summary.encode()), Some(summary));
    }

    #[test]
    fn any_damage_is_noticed() {
        let good = descriptor(4, 4).encode();
        for at in 0..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 4;
            assert_eq!(Descriptor::decode(&bad), None, "byte {at}");
        }
    }
}
