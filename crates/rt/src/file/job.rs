//! What is asked of the system, whichever way it is asked.

use super::buffer::Buffer;
use rustix::io::Errno;
use tailcut_base::Status;

/// A piece of work.
#[derive(Debug)]
pub struct Job {
    /// Whose it is.
    pub slot: u32,
    /// What is to be done.
    pub work: Work,
    /// The first byte of the drive.
    pub offset: u64,
    /// How many bytes.
    pub length: u64,
    /// How many of them have been moved.
    pub done: u64,
    /// What is read into or written from; none for what moves no data.
    pub buffer: Option<Buffer>,
}

/// What the system can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// Read.
    Read,
    /// Write; durably if so.
    Write {
        /// It is durable when it is done.
        is_durable: bool,
    },
    /// Make everything durable that has been written.
    Flush,
    /// Give back the room; it reads as zeros from then on.
    Punch,
}

/// A piece of work that has ended, with the number of bytes that were moved.
pub type Ended = (Job, Result<u64, Errno>);

impl Job {
    /// True when it has to be asked for again, for what is left of it.
    pub fn goes_on(&mut self, moved: u64) -> bool {
        let has_data = matches!(self.work, Work::Read | Work::Write { .. });
        self.done += moved;
        has_data && moved > 0 && self.done < self.length
    }

    /// How it ended.
    pub fn status(&self, result: Result<u64, Errno>) -> Status {
        let has_data = matches!(self.work, Work::Read | Work::Write { .. });
        match result {
            // The file has become shorter than the drive.
            Ok(_) if has_data && self.done < self.length => Status::MediaError,
            Ok(_) => Status::Success,
            Err(why) => status(why),
        }
    }
}

/// What an error of the system is to the user of a drive.
fn status(why: Errno) -> Status {
    match why {
        Errno::NOSPC
        | Errno::DQUOT
        | Errno::FBIG
        | Errno::ROFS
        | Errno::BADF
        | Errno::PERM
        | Errno::ACCESS => Status::WriteProtected,
        Errno::NODEV | Errno::NXIO | Errno::SHUTDOWN | Errno::STALE => Status::Gone,
        Errno::INVAL => Status::InvalidField,
        _ => Status::MediaError,
    }
}
