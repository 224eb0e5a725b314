//! The interface between a host and a storage device: commands, completions, and the contract of
//! a [`Device`] as a machine without a clock.

use crate::cause::Spans;
use crate::control::{Control, ControlReply};
use crate::time::{Nanos, Time};

/// The unit of addresses on the interface.
pub const SECTOR_BYTES: u64 = 512;

/// The host's name for a command in flight; unique among the commands in flight on a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CommandId(pub u32);

crate::choice! {
    /// What a command asks for.
    pub enum Op {
        /// Read sectors.
        Read = "read",
        /// Write sectors.
        Write = "write",
        /// Declare sectors unused (TRIM, deallocate); whole pages only, parts of pages are left.
        Trim = "trim",
        /// Make everything that was completed before durable. Addresses are ignored; but of a device that is
        /// divided into NVM sets only that set is meant in which the first sector lies.
        Flush = "flush",
    }
}

/// The latency class of a command (PAReset, table 2): 1 is a read that may reset a program or
/// erase, 2 a read that may suspend one, 3 a read like any other, 4 a user write, 5 the work of
/// garbage collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Class(u8);

impl Class {
    /// The class of a read that asks for nothing special.
    pub const DEFAULT: Class = Class(3);

    /// Class `number`, 1 … 5.
    pub const fn new(number: u8) -> Option<Class> {
        if number >= 1 && number <= 5 { Some(Class(number)) } else { None }
    }

    /// The number, 1 … 5.
    pub const fn number(self) -> u8 {
        self.0
    }
}

impl Default for Class {
    fn default() -> Class {
        Class::DEFAULT
    }
}

/// A command as the device sees it. The payload of a timing run is one fingerprint, see
/// [`crate::device::content`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Command {
    /// The host's name for it.
    pub id: CommandId,
    /// What it asks for.
    pub op: Op,
    /// Force unit access: a write completes only when it is durable, and is not reordered.
    pub fua: bool,
    /// Latency class.
    pub class: Class,
    /// Of a read: rather than wait for garbage collection or another window of the device, end at
    /// once with [`Status::Contended`] (IODA's PL_IO flag; SOSP 2021, section 3.2).
    pub fail_fast: bool,
    /// Write stream: data of one stream is expected to die together (0 when unused).
    pub stream: u8,
    /// First sector.
    pub sector: u64,
    /// Number of sectors; at least 1 except for a flush.
    pub sectors: u32,
    /// Fingerprint of the data of a write; ignored otherwise.
    pub content: u32,
}

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Status {
    /// It was carried out.
    Success,
    /// Addresses beyond the device, no sectors, or more than the device takes at once.
    InvalidField,
    /// The device has no erased space left and cannot make any: too many blocks went bad.
    WriteProtected,
    /// Data could not be read back.
    MediaError,
    /// It would have had to wait for work of the device's own, and asked rather to fail; see
    /// [`Command::fail_fast`] and [`Completion::busy_for`].
    Contended,
    /// The device does not answer any more.
    Gone,
}

/// The end of a command.
#[derive(Clone, Copy, Debug)]
pub struct Completion {
    /// Which command.
    pub id: CommandId,
    /// How it ended.
    pub status: Status,
    /// When the host could see it.
    pub at: Time,
    /// For a read: the fold of the fingerprints of its pages (see [`content::fold`]).
    pub content: u64,
    /// With [`Status::Contended`]: how much longer, from `at` on, the device expects to be taken (IODA's
    /// busy remaining time); zero otherwise.
    pub busy_for: Nanos,
    /// Where the time went, from submission to `at`; sums up to just that.
    pub spans: Spans,
}

/// The device's answer to a submission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Submit {
    /// It has a tag and will complete.
    Accepted,
    /// No tag is free; come again after a completion.
    Busy,
    /// It can never be carried out.
    Refused(Status),
}

/// What a device says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identify {
    /// Name of the model or preset.
    pub model: String,
    /// User capacity in sectors.
    pub sectors: u64,
    /// Size of a page, the unit of mapping and of fingerprints, in sectors (1 … 64).
    pub page_sectors: u32,
    /// How many commands it takes at a time.
    pub queue_depth: u32,
    /// The most sectors of one read or write.
    pub max_sectors: u32,
    /// Sectors of a logical block: reads and writes begin and end on its bounds.
    pub block_sectors: u32,
    /// Completed writes can be lost with the power until they are flushed.
    pub volatile_cache: bool,
}

/// A storage device as a machine: it is told the time, and says when it wants to be told again.
///
/// The driver calls [`Device::submit`] with a moment that never decreases and is not later than
/// [`Device::next_event`], and [`Device::advance`] whenever that moment has come.
pub trait Device {
    /// Who it is and how much it takes.
    fn identify(&self) -> Identify;

    /// Hands over a command. All events before `now` must have been served by `advance`.
    fn submit(&mut self, now: Time, command: &Command) -> Submit;

    /// The moment of the next event inside the device; [`Time::NEVER`] when it is at rest.
    fn next_event(&self) -> Time;

    /// Serves events in order up to and including `until`, but stops behind the event that
    /// produces the first completions. Completions are appended. Returns false when it stopped
    /// for a completion and events up to `until` may remain.
    fn advance(&mut self, until: Time, completions: &mut Vec<Completion>) -> bool;

    /// A hint that these commands come soon: brings their map entries into the cache of the
    /// processor that simulates. Changes nothing; the result only keeps the reads alive.
    fn expect(&self, commands: &[Command]) -> u64;

    /// It has been prepared by writing to it: what it counts may begin now.
    fn begin_counting(&mut self) {}

    /// A call of the control interface.
    fn control(&mut self, now: Time, call: Control) -> ControlReply;
}

pub mod content {
    //! Fingerprints in place of data, for runs that only want timing.
    //!
    //! A page's content is a 32-bit number; an unwritten or trimmed page is 0. A write changes it
    //! by an affine map `x -> a·x + b` (mod 2^32): a whole-page write has `a = 0`, a write of some
    //! of its sectors keeps a trace of what was there. So a buffer can merge partial writes in
    //! order before it has read the page, and a lost, doubled, misplaced or reordered write
    //! changes the result, with a chance of about 2^-32 to go unseen.

    /// A change of a page's content.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Change {
        a: u32,
        b: u32,
    }

    impl Change {
        /// Nothing changes.
        pub const NONE: Change = Change { a: 1, b: 0 };
        /// The page is zeroed.
        pub const ZERO: Change = Change { a: 0, b: 0 };

        /// The change that a write with fingerprint `content` makes to logical page `page`.
        /// `sectors` has a bit for each sector of the page that is written; `whole` says that
        /// these are all of them.
        #[inline]
        pub fn write(content: u32, page: u32, sectors: u64, whole: bool) -> Change {
            // Distinct for each page of a multi-page write; never 0, which means "unwritten".
            let b = (content.wrapping_mul(0x9E37_79B1) ^ page.wrapping_mul(0x85EB_CA77)) | 1;
            if whole {
                return Change { a: 0, b };
            }
            let folded = (sectors ^ (sectors >> 32)) as u32;
            Change { a: folded.wrapping_mul(0xC2B2_AE3D) | 1, b: b.wrapping_mul(folded | 1) }
        }

        /// This change, then `next`.
        #[inline]
        pub fn then(self, next: Change) -> Change {
            Change { a: next.a.wrapping_mul(self.a), b: next.a.wrapping_mul(self.b).wrapping_add(next.b) }
        }

        /// The content that this change makes of `old`.
        #[inline]
        pub fn apply(self, old: u32) -> u32 {
            self.a.wrapping_mul(old).wrapping_add(self.b)
        }
    }

    /// Takes the content of the `index`-th page of a read into the fold. Pages may come in any
    /// order; a page in another's place changes the result.
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
            let first = Change::write(7, 3, 0b0011, false);
            let second = Change::write(8, 3, 0b0110, false);
            let old = Change::write(6, 3, 0b1111, true).apply(0);
            assert_eq!(first.then(second).apply(old), second.apply(first.apply(old)));
            assert_ne!(first.then(second).apply(old), second.then(first).apply(old));
            assert_ne!(first.apply(old), first.apply(0));
        }
    }
}
