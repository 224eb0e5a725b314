//! System calls on a drive's file, through io_uring or threads.

use super::buffer::Buffer;
use rustix::io::Errno;
use tailcut_base::{Status, id};

id! {
    /// A request in flight to the system; below the queue depth.
    pub struct FlightId;
}

/// A system call on the file.
#[derive(Debug)]
pub(super) struct Job {
    /// The request in flight that the call is for.
    pub flight: FlightId,
    /// What the call does: read, write, flush or deallocate.
    pub work: Work,
    /// First byte on the drive.
    pub offset: u64,
    /// Length of the range in bytes.
    pub length: u64,
    /// Bytes transferred so far.
    pub done: u64,
    /// Buffer to read into or write from; None for operations without data.
    pub buffer: Option<Buffer>,
}

/// Operations of the system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Work {
    /// Read.
    Read,
    /// Write, durably if requested.
    Write {
        /// Force unit access.
        is_durable: bool,
    },
    /// Make all completed writes durable.
    Flush,
    /// Deallocate; the range reads as zeros afterwards.
    Punch,
}

/// A completed job, with the number of bytes transferred.
pub(super) type Ended = (Job, Result<u64, Errno>);

impl Job {
    /// True if the job has to be resubmitted for its remaining bytes.
    pub(super) fn goes_on(&mut self, moved: u64) -> bool {
        let has_data = matches!(self.work, Work::Read | Work::Write { .. });
        self.done += moved;
        has_data && moved > 0 && self.done < self.length
    }

    /// Completion status of the job.
    pub(super) fn status(&self, result: Result<u64, Errno>) -> Status {
        let has_data = matches!(self.work, Work::Read | Work::Write { .. });
        match result {
            // The file has become shorter than the drive: a write would extend it, and what lies between
            // would read as zeros.
            Ok(_) if has_data && self.done < self.length => Status::Gone,
            Ok(_) => Status::Success,
            // A flush that finds no room has lost what it should have written.
            Err(why) if self.work == Work::Flush && status(why) == Status::NoSpace => Status::MediaError,
            Err(why) => status(why),
        }
    }
}

/// Translates a system error for the user of a drive.
fn status(why: Errno) -> Status {
    match why {
        Errno::NOSPC | Errno::DQUOT | Errno::FBIG => Status::NoSpace,
        Errno::ROFS | Errno::BADF | Errno::PERM | Errno::ACCESS => Status::WriteProtected,
        Errno::NODEV | Errno::NXIO | Errno::SHUTDOWN | Errno::STALE => Status::Gone,
        Errno::INVAL => Status::InvalidField,
        _ => Status::MediaError,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_without_room_may_be_repeated_and_a_flush_may_not() {
        let job =
            |work| Job { flight: FlightId::new(0), work, offset: 0, length: 4096, done: 0, buffer: None };
        for why in [Errno::NOSPC, Errno::DQUOT, Errno::FBIG] {
            for work in [Work::Write { is_durable: false }, Work::Write { is_durable: true }, Work::Punch] {
                assert_eq!(job(work).status(Err(why)), Status::NoSpace);
            }
            assert_eq!(job(Work::Flush).status(Err(why)), Status::MediaError);
        }
        let write = Work::Write { is_durable: false };
        assert_eq!(job(write).status(Err(Errno::ROFS)), Status::WriteProtected);
    }
}
