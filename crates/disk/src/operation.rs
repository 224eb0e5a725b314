//! Operations, and why they fail.

use std::fmt;
use tailcut_base::cast::to_u64;
use tailcut_base::device::SECTOR_BYTES;
use tailcut_base::{Op, Status};

/// The address of a sector of 512 bytes ([`SECTOR_BYTES`]).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Sector(u64);

impl Sector {
    /// Sector `number`, from 0.
    pub const fn new(number: u64) -> Sector {
        Sector(number)
    }

    /// The sector that begins at byte `offset`, or `None` if no sector begins there.
    pub const fn at_byte(offset: u64) -> Option<Sector> {
        if offset.is_multiple_of(SECTOR_BYTES) { Some(Sector(offset / SECTOR_BYTES)) } else { None }
    }

    /// The number, from 0.
    pub const fn number(self) -> u64 {
        self.0
    }
}

impl fmt::Display for Sector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// An operation to submit to a disk.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Operation {
    /// Reads sectors.
    Read {
        /// First sector.
        sector: Sector,
        /// Number of sectors, 1 … 65,536.
        sectors: u32,
    },
    /// Writes sectors.
    Write {
        /// First sector.
        sector: Sector,
        /// The data: 1 … 65,536 whole sectors.
        data: Vec<u8>,
        /// Force unit access: the write completes when it is durable.
        fua: bool,
    },
    /// Declares sectors unused (TRIM, deallocate). Of the range, whole pages of 4 KiB read as zeros from then
    /// on; parts of pages at its ends keep their data.
    Trim {
        /// First sector.
        sector: Sector,
        /// Number of sectors, 1 … 65,536.
        sectors: u32,
    },
    /// Makes every write and trim durable that had completed when the flush was submitted.
    Flush,
}

impl Operation {
    /// A read of `sectors` sectors.
    pub fn read(sector: Sector, sectors: u32) -> Operation {
        Operation::Read { sector, sectors }
    }

    /// A write that a power cut can undo until it is flushed, if the disk has a volatile cache.
    pub fn write(sector: Sector, data: Vec<u8>) -> Operation {
        Operation::Write { sector, data, fua: false }
    }

    /// A write that is durable when it completes (force unit access).
    pub fn write_durable(sector: Sector, data: Vec<u8>) -> Operation {
        Operation::Write { sector, data, fua: true }
    }

    /// A trim of `sectors` sectors.
    pub fn trim(sector: Sector, sectors: u32) -> Operation {
        Operation::Trim { sector, sectors }
    }

    /// A flush.
    pub fn flush() -> Operation {
        Operation::Flush
    }

    /// The kind of this operation.
    pub fn op(&self) -> Op {
        match self {
            Operation::Read { .. } => Op::Read,
            Operation::Write { .. } => Op::Write,
            Operation::Trim { .. } => Op::Trim,
            Operation::Flush => Op::Flush,
        }
    }

    /// First sector and number of sectors; no sectors for a flush.
    ///
    /// # Panics
    /// If the data of a write is not a whole number of sectors.
    pub(crate) fn range(&self) -> (u64, u64) {
        match self {
            Operation::Read { sector, sectors } | Operation::Trim { sector, sectors } => {
                (sector.0, u64::from(*sectors))
            }
            Operation::Write { sector, data, .. } => {
                let bytes = data.len() as u64;
                assert!(bytes.is_multiple_of(SECTOR_BYTES), "{bytes} bytes are not whole sectors of 512");
                (sector.0, bytes / SECTOR_BYTES)
            }
            Operation::Flush => (0, 0),
        }
    }
}

/// The identity of a submitted operation: unique over the life of a disk, ascending in order of submission.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(u64);

impl Ticket {
    pub(crate) const fn new(number: u64) -> Ticket {
        Ticket(number)
    }

    /// The number, from 0: how many operations the disk had accepted before this one.
    pub const fn number(self) -> u64 {
        self.0
    }
}

impl fmt::Display for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// The disk's queue is full; submit the operation again after a completion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Busy(Operation);

impl Busy {
    pub(crate) fn new(operation: Operation) -> Busy {
        Busy(operation)
    }

    /// The operation that was not accepted.
    pub fn into_operation(self) -> Operation {
        self.0
    }
}

impl fmt::Display for Busy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the queue of the disk is full")
    }
}

impl std::error::Error for Busy {}

/// Why an operation failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Error {
    /// The operation names no sectors, more than 65,536, or sectors beyond the end of the disk. It had no
    /// effect.
    OutOfRange,
    /// A sector cannot be read.
    Unreadable,
    /// The disk has run out of good flash blocks and takes no more writes. Of a failed write each atomic unit
    /// holds old or new data.
    WriteProtected,
    /// The disk no longer responds. Of a write that was in flight each atomic unit holds old or new data.
    Gone,
}

impl Error {
    pub(crate) fn of(status: Status) -> Option<Error> {
        match status {
            Status::Success => None,
            Status::InvalidField => Some(Error::OutOfRange),
            Status::WriteProtected | Status::NoSpace => Some(Error::WriteProtected),
            Status::MediaError | Status::Contended => Some(Error::Unreadable),
            Status::Gone => Some(Error::Gone),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Error::OutOfRange => "not a range of sectors of the disk",
            Error::Unreadable => "a sector cannot be read",
            Error::WriteProtected => "the disk is write protected",
            Error::Gone => "the disk does not respond",
        })
    }
}

impl std::error::Error for Error {}

/// The error kinds of a file on such a disk: `InvalidInput`, `Other` (EIO), `ReadOnlyFilesystem`,
/// `NotConnected`.
impl From<Error> for std::io::Error {
    fn from(error: Error) -> std::io::Error {
        use std::io::ErrorKind;
        let kind = match error {
            Error::OutOfRange => ErrorKind::InvalidInput,
            Error::Unreadable => ErrorKind::Other,
            Error::WriteProtected => ErrorKind::ReadOnlyFilesystem,
            Error::Gone => ErrorKind::NotConnected,
        };
        std::io::Error::new(kind, error)
    }
}

/// Sectors that `bytes` bytes are, rounded up.
pub(crate) fn sectors_of(bytes: usize) -> u64 {
    to_u64(bytes as u128).div_ceil(SECTOR_BYTES)
}
