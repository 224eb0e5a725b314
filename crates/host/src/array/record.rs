//! What every drive of an array knows of the array: its *record*, in the first two blocks.
//!
//! Format 1, little-endian: magic (8 bytes), format (u32), CRC-32C of the rest (u32), then identity
//! (u128), generation (u64), blocks used on each drive (u64), layout, drives, groups and own number
//! (u32 each), presence of each drive (1 byte each, 1024 of them), 8 numbers of the layout that never
//! change and 8 that do (u64 each). The two copies are written in turn, so one of them is always whole.

use super::config::LayoutKind;
use super::drives::Presence;
use crate::crc::crc32c;
use tailcut_base::config::Choice;

/// Blocks at the start of a drive that hold its record.
pub const RECORD_BLOCKS: u64 = 2;

/// The format that this program writes, and the newest that it understands.
pub const FORMAT: u32 = 1;

const MAGIC: [u8; 8] = *b"tailcutA";
const DRIVES_MAX: usize = 1024;
const NUMBERS: usize = 8;
const LENGTH: usize = 16 + 16 + 8 + 8 + 16 + DRIVES_MAX + 2 * NUMBERS * 8;

/// The record of one drive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Identity of the array.
    pub array: u128,
    /// Counts the changes of the record: the highest is the latest.
    pub generation: u64,
    /// Blocks of each drive that the array uses.
    pub drive_blocks: u64,
    /// How data is laid out.
    pub layout: LayoutKind,
    /// R-groups.
    pub groups: u32,
    /// Which of the drives this is.
    pub member: u32,
    /// Which drives serve.
    pub presence: Vec<Presence>,
    /// What the layout was made with.
    pub shape: [u64; NUMBERS],
    /// What the layout wants to know when it is opened again.
    pub state: [u64; NUMBERS],
}

/// Why a block is no record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoRecord {
    /// It is nothing of ours.
    Foreign,
    /// All zeros: the drive is blank.
    Blank,
    /// It was ours and is damaged.
    Damaged,
    /// It is of a later format.
    Newer(u32),
}

impl Record {
    /// The bytes of a block.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(LENGTH);
        bytes.extend(MAGIC);
        bytes.extend(FORMAT.to_le_bytes());
        bytes.extend([0; 4]);
        bytes.extend(self.array.to_le_bytes());
        bytes.extend(self.generation.to_le_bytes());
        bytes.extend(self.drive_blocks.to_le_bytes());
        let counts = [self.layout.index() as u32, self.presence.len() as u32, self.groups, self.member];
        bytes.extend(counts.iter().flat_map(|count| count.to_le_bytes()));
        let presence = (0..DRIVES_MAX).map(|drive| self.presence.get(drive).map_or(0, |&p| 1 + p as u8));
        bytes.extend(presence);
        bytes.extend(self.shape.iter().chain(&self.state).flat_map(|number| number.to_le_bytes()));
        assert_eq!(bytes.len(), LENGTH);
        let sum = crc32c(&bytes[16..]);
        bytes[12..16].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    /// The record in a block.
    ///
    /// # Errors
    /// Why there is none.
    pub fn decode(bytes: &[u8]) -> Result<Record, NoRecord> {
        if bytes.iter().all(|&byte| byte == 0) {
            return Err(NoRecord::Blank);
        }
        let mut fields = Fields { bytes, at: 0 };
        if fields.take::<8>()? != MAGIC {
            return Err(NoRecord::Foreign);
        }
        let format = u32::from_le_bytes(fields.take()?);
        if format > FORMAT {
            return Err(NoRecord::Newer(format));
        }
        let sum = u32::from_le_bytes(fields.take()?);
        let body = bytes.get(16..LENGTH).ok_or(NoRecord::Damaged)?;
        if crc32c(body) != sum {
            return Err(NoRecord::Damaged);
        }
        fields.body().ok_or(NoRecord::Damaged)
    }
}

/// Reads fields one after the other.
struct Fields<'b> {
    bytes: &'b [u8],
    at: usize,
}

impl Fields<'_> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], NoRecord> {
        let field = self.bytes.get(self.at..self.at + N).ok_or(NoRecord::Foreign)?;
        self.at += N;
        Ok(field.try_into().expect("the length is N"))
    }

    fn u32(&mut self) -> Option<u32> {
        self.take().ok().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.take().ok().map(u64::from_le_bytes)
    }

    fn numbers(&mut self) -> Option<[u64; NUMBERS]> {
        let mut numbers = [0; NUMBERS];
        for number in &mut numbers {
            *number = self.u64()?;
        }
        Some(numbers)
    }

    fn body(&mut self) -> Option<Record> {
        let array = u128::from_le_bytes(self.take().ok()?);
        let (generation, drive_blocks) = (self.u64()?, self.u64()?);
        let layout = *LayoutKind::all().get(self.u32()? as usize)?;
        let (drives, groups, member) = (self.u32()? as usize, self.u32()?, self.u32()?);
        let all = self.take::<DRIVES_MAX>().ok()?;
        let presence: Option<Vec<Presence>> =
            all.get(..drives)?.iter().map(|&byte| presence_of(byte)).collect();
        let (shape, state) = (self.numbers()?, self.numbers()?);
        let presence = presence?;
        ((member as usize) < drives && groups > 0).then_some(Record {
            array,
            generation,
            drive_blocks,
            layout,
            groups,
            member,
            presence,
            shape,
            state,
        })
    }
}

fn presence_of(byte: u8) -> Option<Presence> {
    [Presence::InSync, Presence::Rebuilding, Presence::Missing].into_iter().find(|&p| 1 + p as u8 == byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record() -> Record {
        Record {
            array: 77,
            generation: 5,
            drive_blocks: 1000,
            layout: LayoutKind::Swan4,
            groups: 2,
            member: 3,
            presence: vec![Presence::InSync, Presence::Missing, Presence::InSync, Presence::Rebuilding],
            shape: [1, 2, 3, 4, 5, 6, 7, 8],
            state: [9; 8],
        }
    }

    #[test]
    fn a_record_comes_back_as_it_was() {
        assert_eq!(Record::decode(&record().encode()), Ok(record()));
    }

    #[test]
    fn what_is_no_record_is_told_apart() {
        assert_eq!(Record::decode(&[0; 4096]), Err(NoRecord::Blank));
        assert_eq!(Record::decode(&[7; 4096]), Err(NoRecord::Foreign));
        let mut newer = record().encode();
        newer[8] = 2;
        assert_eq!(Record::decode(&newer), Err(NoRecord::Newer(2)));
    }

    #[test]
    fn every_damaged_byte_is_noticed() {
        let good = record().encode();
        for at in 0..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 0x10;
            assert!(Record::decode(&bad).is_err(), "byte {at}");
        }
    }
}
