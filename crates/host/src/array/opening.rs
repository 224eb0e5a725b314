//! Finding the array that a set of drives belongs to, without touching anything on them.

use super::drives::{Ask, Drives, Owner, Presence, Urgency};
use super::epoch::{copies_of, has_lost_all};
use super::record::{FORMAT, NoRecord, RECORD_BLOCKS, Record};
use crate::Block;
use crate::disk::{Disk, Request, Response};
use tailcut_base::{Class, Op, Status, Time};

/// An array that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Its latest record; drives that are not there count as missing in it.
    pub record: Record,
    /// For each member of the array, which of the given drives it is.
    pub order: Vec<Option<usize>>,
    /// Given drives that belong to the array and are of no use any more: the array has gone on
    /// without them.
    pub stale: Vec<usize>,
}

/// Why drives are not opened. Drives are named by their place in the list that was given, from 0.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum OpenError {
    /// None of them is part of an array.
    #[error("none of the {0} drives belongs to an array; create one first")]
    NoArray(usize),
    /// A drive holds something else.
    #[error("drive {drive} holds something that is not part of an array: leave it out, or erase it first")]
    Foreign {
        /// Which.
        drive: usize,
    },
    /// A drive was written by a later program.
    #[error(
        "drive {drive} is of format {format}, and this program understands formats up to {FORMAT}: use a newer program"
    )]
    Newer {
        /// Which.
        drive: usize,
        /// Its format.
        format: u32,
    },
    /// A drive belongs to another array.
    #[error(
        "drives {first} and {second} belong to different arrays ({first_array:032x} and {second_array:032x}): open one array at a time"
    )]
    Mixed {
        /// A drive.
        first: usize,
        /// Another.
        second: usize,
        /// The array of the first.
        first_array: u128,
        /// The array of the second.
        second_array: u128,
    },
    /// Two drives say that they are the same one.
    #[error("drives {first} and {second} are both number {member} of the array: one is a copy, leave it out")]
    Twice {
        /// A drive.
        first: usize,
        /// Another.
        second: usize,
        /// Which member of the array they are.
        member: u32,
    },
    /// A drive is smaller than when the array was made.
    #[error("drive {drive} has {blocks} blocks, and the array uses {needed} of each drive")]
    TooSmall {
        /// Which.
        drive: usize,
        /// What it has.
        blocks: u64,
        /// What is needed.
        needed: u64,
    },
    /// More drives are missing than the layout can do without.
    #[error(
        "drives {missing:?} of the array are missing, and {layout} can do without {spare} of each R-group: find them"
    )]
    TooFew {
        /// Members of the array that are not there.
        missing: Vec<usize>,
        /// The layout.
        layout: String,
        /// How many it can do without.
        spare: usize,
    },
}

/// A machine that reads the records of drives and says what array they are.
#[derive(Debug)]
pub struct Opening<B> {
    drives: Drives<B>,
    disks: Vec<Disk>,
    records: Vec<Vec<Result<Record, NoRecord>>>,
    pending: usize,
}

impl<B: Block> Opening<B> {
    /// Begins to read.
    pub fn new(now: Time, disks: &[Disk]) -> Opening<B> {
        let mut drives = Drives::new(disks, u32::MAX);
        for drive in 0..disks.len() {
            for block in 0..RECORD_BLOCKS {
                let class = Class::DEFAULT;
                let data = Vec::new();
                let ask = Ask { op: Op::Read, fua: false, fail_fast: false, class, block, blocks: 1, data };
                drives.ask(now, drive, Urgency::Read, Owner::Layout(0), ask);
            }
        }
        let records = vec![Vec::new(); disks.len()];
        Opening { drives, disks: disks.to_vec(), records, pending: disks.len() * RECORD_BLOCKS as usize }
    }

    /// Requests for the drives.
    pub fn sent(&mut self) -> &mut Vec<(usize, Request<B>)> {
        self.drives.sent()
    }

    /// A drive has answered.
    pub fn answered(&mut self, now: Time, drive: usize, response: Response<B>) {
        let answer = self.drives.answered(now, drive, response);
        self.pending -= 1;
        let bytes = answer.data.first().and_then(Block::decode).unwrap_or(&[]);
        let readable = answer.status == Status::Success && !bytes.is_empty();
        let record = if readable { Record::decode(bytes) } else { Err(NoRecord::Damaged) };
        self.records[drive].push(record);
    }

    /// What has been found, once every drive has answered.
    ///
    /// # Errors
    /// See [`OpenError`].
    pub fn found(&self) -> Option<Result<Found, OpenError>> {
        (self.pending == 0).then(|| self.judge())
    }

    fn judge(&self) -> Result<Found, OpenError> {
        let mut latest: Vec<(usize, &Record)> = Vec::new();
        for (drive, records) in self.records.iter().enumerate() {
            if let Some(record) = self.latest_of(drive, records)? {
                latest.push((drive, record));
            }
        }
        let Some(&(first, newest)) = latest.iter().max_by_key(|(_, record)| record.generation) else {
            return Err(OpenError::NoArray(self.disks.len()));
        };
        for &(second, record) in &latest {
            if record.array != newest.array {
                let (first_array, second_array) = (newest.array, record.array);
                return Err(OpenError::Mixed { first, second, first_array, second_array });
            }
        }
        self.assemble(newest, &latest)
    }

    /// The latest record of a drive; none if it is blank or damaged.
    fn latest_of<'r>(
        &self,
        drive: usize,
        records: &'r [Result<Record, NoRecord>],
    ) -> Result<Option<&'r Record>, OpenError> {
        for record in records {
            if let Err(NoRecord::Newer(format)) = record {
                return Err(OpenError::Newer { drive, format: *format });
            }
        }
        let newest = records.iter().flatten().max_by_key(|record| record.generation);
        let is_foreign = records.iter().any(|record| matches!(record, Err(NoRecord::Foreign)));
        match newest {
            None if is_foreign => Err(OpenError::Foreign { drive }),
            newest => Ok(newest),
        }
    }

    fn assemble(&self, newest: &Record, latest: &[(usize, &Record)]) -> Result<Found, OpenError> {
        let mut order: Vec<Option<usize>> = vec![None; newest.presence.len()];
        let mut stale = Vec::new();
        for &(drive, record) in latest {
            let member = record.member as usize;
            if let Some(first) = order[member] {
                return Err(OpenError::Twice { first, second: drive, member: record.member });
            }
            let (blocks, needed) = (self.disks[drive].blocks, newest.drive_blocks);
            if blocks < needed {
                return Err(OpenError::TooSmall { drive, blocks, needed });
            }
            order[member] = Some(drive);
            if newest.presence[member] == Presence::Missing {
                stale.push(drive);
            }
        }
        let mut record = newest.clone();
        for (member, presence) in record.presence.iter_mut().enumerate() {
            if order[member].is_none() {
                *presence = Presence::Missing;
            } else if *presence == Presence::Missing {
                order[member] = None;
            }
        }
        self.enough(&record)?;
        Ok(Found { record, order, stale })
    }

    /// Every group must be able to do without what is missing.
    fn enough(&self, record: &Record) -> Result<(), OpenError> {
        if record.layout.is_mirrored() {
            return enough_copies(record);
        }
        let spare = usize::from(record.layout.is_redundant());
        let width = record.presence.len() / record.groups as usize;
        let unusable = |presence: &Presence| *presence != Presence::InSync;
        let is_short =
            |group: &[Presence]| group.iter().filter(|presence| unusable(presence)).count() > spare;
        if !record.presence.chunks(width).any(is_short) {
            return Ok(());
        }
        let missing =
            (0..record.presence.len()).filter(|&member| unusable(&record.presence[member])).collect();
        Err(OpenError::TooFew { missing, layout: record.layout.to_string(), spare })
    }
}

/// Of the drives that have copies of the same blocks one must serve.
fn enough_copies(record: &Record) -> Result<(), OpenError> {
    let serves: Vec<bool> = record.presence.iter().map(|&presence| presence == Presence::InSync).collect();
    let copies = copies_of(record);
    if !has_lost_all(&serves, record.groups as usize, copies) {
        return Ok(());
    }
    let missing = (0..serves.len()).filter(|&member| !serves[member]).collect();
    Err(OpenError::TooFew { missing, layout: record.layout.to_string(), spare: copies - 1 })
}
