//! The interface between a host and a storage device: commands, completions, and the contract of a [`Device`]
//! as a state machine without a clock.

use crate::cause::Spans;
use crate::control::{Control, ControlReply};
use crate::time::{Nanos, Time};
use std::fmt;

/// Unit of addresses on the interface, in bytes.
pub const SECTOR_BYTES: u64 = 512;

/// Unit in which a host divides its disks, in bytes.
pub const BLOCK_BYTES: u64 = BLOCK_LEN as u64;

/// [`BLOCK_BYTES`] as the length of a slice.
pub const BLOCK_LEN: usize = 4096;

/// Number of sectors in a block: 8.
pub const BLOCK_SECTORS: u64 = BLOCK_BYTES / SECTOR_BYTES;

/// The host's identifier of a command in flight; unique among the commands in flight on a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CommandId(pub u32);

crate::choice! {
    /// The operation of a command.
    pub enum Op {
        /// Read sectors.
        Read = "read",
        /// Write sectors.
        Write = "write",
        /// Declare sectors unused (TRIM, deallocate); only whole pages are trimmed, parts of pages stay as
        /// they are.
        Trim = "trim",
        /// Make everything completed before it durable. Addresses are ignored, except on a device that is
        /// divided into NVM sets: there, only the set of the first sector is flushed.
        Flush = "flush",
    }
}

/// The latency class of a command (PAReset, table 2): 1 is a read that may reset a program or erase, 2 a read
/// that may suspend one, 3 an ordinary read, 4 a user write, 5 the work of garbage collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Class(u8);

impl Class {
    /// The class of an ordinary read.
    pub const DEFAULT: Class = Class(3);

    /// Class `number`; `None` outside of 1 … 5.
    pub const fn new(number: u8) -> Option<Class> {
        if number >= 1 && number <= 5 { Some(Class(number)) } else { None }
    }

    /// The number of the class, 1 … 5.
    pub const fn number(self) -> u8 {
        self.0
    }
}

impl Default for Class {
    fn default() -> Class {
        Class::DEFAULT
    }
}

/// A command as the device sees it. In a timing run the payload is one fingerprint; see
/// [`crate::device::content`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Command {
    /// The identifier that the host chose; the [`Completion`] carries it back.
    pub id: CommandId,
    /// What the command does: read, write, trim or flush.
    pub op: Op,
    /// Force unit access: a write completes only once it is durable, and is not reordered.
    pub fua: bool,
    /// The latency class, which decides whether a read may reset or suspend a program or erase.
    pub class: Class,
    /// For reads: complete at once with [`Status::Contended`] instead of waiting for garbage collection or
    /// for another window of the device (IODA's PL_IO flag; SOSP 2021, section 3.2).
    pub fail_fast: bool,
    /// Write stream: data of one stream is expected to be invalidated together (0 if unused). On a device
    /// with Flexible Data Placement the reclaim group and unit handle; see [`crate::fdp::PlacementId`].
    pub stream: u8,
    /// The submission queue that the command is in: which one matters to devices that arbitrate between
    /// queues (NVMe base specification 2.0, 3.4.4). 0 where the host has one.
    pub queue: u16,
    /// Number of the first sector, of [`SECTOR_BYTES`] each.
    pub sector: u64,
    /// Number of sectors; at least 1 except for a flush.
    pub sectors: u32,
    /// Fingerprint of the data of a write; ignored otherwise.
    pub content: u32,
}

impl Command {
    /// A flush of the default class, in queue 0; on a device with NVM sets, of the first set.
    pub fn flush(id: CommandId) -> Command {
        Command {
            id,
            op: Op::Flush,
            fua: false,
            class: Class::DEFAULT,
            fail_fast: false,
            stream: 0,
            queue: 0,
            sector: 0,
            sectors: 0,
            content: 0,
        }
    }
}

/// The status of a completed command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Status {
    /// The command was executed.
    Success,
    /// Addresses beyond the device, no sectors, or more sectors than the device accepts in one command.
    InvalidField,
    /// The device has no erased space left and cannot reclaim any: too many blocks went bad.
    WriteProtected,
    /// The data could not be read.
    MediaError,
    /// The read would have waited for the device's own work, and was submitted to fail instead; see
    /// [`Command::fail_fast`] and [`Completion::busy_for`].
    Contended,
    /// The device no longer responds.
    Gone,
    /// There is no room for the data where the device keeps it, as for a sparse file on a full file system,
    /// or in a reclaim group that is full (NVMe: Capacity Exceeded, 81h). Nothing stored is lost, and the
    /// same write may succeed later.
    NoSpace,
}

/// The status in the words of a message, such as `media error`.
impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Status::Success => "success",
            Status::InvalidField => "invalid field",
            Status::WriteProtected => "write protected",
            Status::MediaError => "media error",
            Status::Contended => "contended",
            Status::Gone => "no response",
            Status::NoSpace => "no space",
        })
    }
}

/// The completion of a command.
#[derive(Clone, Copy, Debug)]
pub struct Completion {
    /// The identifier of the completed command, as its [`Command::id`] gave it.
    pub id: CommandId,
    /// Whether the command succeeded, or why it failed.
    pub status: Status,
    /// When the completion became visible to the host.
    pub at: Time,
    /// For a read: the fold of the fingerprints of its pages (see [`content::fold`]).
    pub content: u64,
    /// With [`Status::Contended`]: how much longer, from `at` on, the device expects to be busy (IODA's busy
    /// remaining time); zero otherwise.
    pub busy_for: Nanos,
    /// The time from submission to `at` by cause; the spans sum up to exactly that.
    pub spans: Spans,
}

/// The result of a submission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Submit {
    /// The command has a tag and will complete.
    Accepted,
    /// No tag is free; retry after a completion.
    Busy,
    /// The device can never execute this command.
    Refused(Status),
}

/// Properties that a device reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identify {
    /// Name of the model or preset.
    pub model: String,
    /// User capacity in sectors of [`SECTOR_BYTES`].
    pub sectors: u64,
    /// Size of a page, the unit of mapping and of fingerprints, in sectors (1 … 64).
    pub page_sectors: u32,
    /// Maximum number of commands in flight, over all queues.
    pub queue_depth: u32,
    /// Maximum number of sectors of one read or write.
    pub max_sectors: u32,
    /// Sectors of a logical block, to which reads and writes are aligned.
    pub block_sectors: u32,
    /// True if completed writes can be lost on power failure until they are flushed.
    pub volatile_cache: bool,
    /// Reclaim unit handles that writes can name (Linux: `max_write_streams`; of one reclaim group), 1 …
    /// [`HANDLES_MAX`](crate::fdp::HANDLES_MAX); 1 on a device without data placement.
    pub handles: u32,
}

/// A storage device as a state machine: its driver passes the time, and the device reports when its next
/// event is due.
///
/// The driver calls [`Device::submit`] with times that never decrease and are not later than
/// [`Device::next_event`], and [`Device::advance`] whenever that time has come.
pub trait Device {
    /// The device's model, capacity and limits.
    fn identify(&self) -> Identify;

    /// Submits a command. All events before `now` must have been processed by `advance`.
    fn submit(&mut self, now: Time, command: &Command) -> Submit;

    /// Time of the next event inside the device; [`Time::NEVER`] if it is idle.
    fn next_event(&self) -> Time;

    /// Processes events in order up to and including `until`, but stops after the event that produces the
    /// first completions. Appends the completions. Returns false if it stopped for a completion and events up
    /// to `until` may remain.
    fn advance(&mut self, until: Time, completions: &mut Vec<Completion>) -> bool;

    /// A hint that these commands come soon: prefetches their map entries into the cache of the processor
    /// that simulates. Has no other effect; the result only keeps the reads from being optimised away.
    fn expect(&self, commands: &[Command]) -> u64;

    /// The preparation by writes is over: statistics may begin.
    fn begin_counting(&mut self, _now: Time) {}

    /// Executes a call of the control interface.
    fn control(&mut self, now: Time, call: Control) -> ControlReply;
}

pub mod content {
    //! Fingerprints in place of data, for timing-only runs.
    //!
    //! A page's content is a 32-bit number; an unwritten or trimmed page is 0. A write changes it by an
    //! affine map `x -> a·x + b` (mod 2^32): a whole-page write has `a = 0`, a write of some sectors keeps a
    //! trace of the old content. So a buffer can merge partial writes in order before it has read the page,
    //! and a lost, duplicated, misplaced or reordered write changes the result; the chance of missing one is
    //! about 2^-32.

    use crate::cast::low_u32;

    /// A change of a page's content.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Change {
        a: u32,
        b: u32,
    }

    impl Change {
        /// No change.
        pub const NONE: Change = Change { a: 1, b: 0 };
        /// Zeroes the page.
        pub const ZERO: Change = Change { a: 0, b: 0 };

        /// The change that a write with fingerprint `content` makes to logical page `page`. `sectors` has a
        /// bit for each written sector of the page; `whole` is true if these are all of its sectors.
        #[inline]
        pub fn write(page: u64, content: u32, sectors: u64, whole: bool) -> Change {
            // Distinct for each page of a multi-page write; never 0, which means "unwritten".
            let b = (content.wrapping_mul(0x9E37_79B1) ^ low_u32(page).wrapping_mul(0x85EB_CA77)) | 1;
            if whole {
                return Change { a: 0, b };
            }
            let folded = low_u32(sectors ^ (sectors >> 32));
            Change { a: folded.wrapping_mul(0xC2B2_AE3D) | 1, b: b.wrapping_mul(folded | 1) }
        }

        /// This change followed by `next`.
        #[inline]
        pub fn then(self, next: Change) -> Change {
            Change { a: next.a.wrapping_mul(self.a), b: next.a.wrapping_mul(self.b).wrapping_add(next.b) }
        }

        /// The content after this change of `old`.
        #[inline]
        pub fn apply(self, old: u32) -> u32 {
            self.a.wrapping_mul(old).wrapping_add(self.b)
        }
    }

    /// Adds the content of the `index`-th page of a read to the fold. Pages may come in any order; a page in
    /// another's place changes the result.
    #[inline]
    pub fn fold(folded: u64, index: u32, page: u32) -> u64 {
        let mixed = (u64::from(page) << 32 | u64::from(index)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        folded.wrapping_add((mixed ^ (mixed >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9))
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn merged_changes_equal_changes_one_by_one() {
            let first = Change::write(3, 7, 0b0011, false);
            let second = Change::write(3, 8, 0b0110, false);
            let old = Change::write(3, 6, 0b1111, true).apply(0);
            assert_eq!(first.then(second).apply(old), second.apply(first.apply(old)));
            assert_ne!(first.then(second).apply(old), second.then(first).apply(old));
            assert_ne!(first.apply(old), first.apply(0));
        }
    }
}
