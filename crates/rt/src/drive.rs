//! A drive in real time: what servers and arrays are given, and what emulated and real drives are.
//!
//! A drive has one user, a thread that runs a loop:
//!
//! 1. hand over what has come ([`Drive::submit`], [`Drive::control`]);
//! 2. take what is ready ([`Drive::poll`]);
//! 3. if there was nothing, sleep until [`Drive::next_event`], or until [`Drive::wakes`] is readable,
//!    whichever is earlier; but only if [`Drive::arm`] has agreed.
//!
//! Requests carry their data with them as [`Bytes`], which share their memory: a drive that keeps its data in
//! memory need not copy them.

use std::os::fd::BorrowedFd;
use tailcut_base::Time;
use tailcut_base::control::{Control, ControlReply};
use tailcut_base::device::Identify;
use tailcut_host::{BLOCK_SECTORS, Bytes, Disk, Request, Response};

/// What a drive has to say.
#[derive(Debug, Default)]
pub struct Answers {
    /// Requests that have ended.
    pub responses: Vec<Response<Bytes>>,
    /// Calls of the control interface with their replies, in the order in which they were made.
    pub replies: Vec<(Control, ControlReply)>,
}

/// A stretch of blocks that are alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Number of blocks; at least 1.
    pub blocks: u64,
    /// They take room on the drive.
    pub is_allocated: bool,
    /// They are known to read as zeros.
    pub is_zero: bool,
}

/// A drive knows when one of its requests will end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Announcement {
    /// The request.
    pub id: u32,
    /// When it will end; an estimate.
    pub ends: Time,
}

/// A drive that is used in real time, by one thread. Moments are those of the process's
/// [`Clock`](crate::Clock) and never decrease.
pub trait Drive {
    /// Identity and capacity of the drive.
    fn identify(&self) -> Identify;

    /// The same in blocks.
    fn disk(&self) -> Disk {
        Disk::of(&self.identify())
    }

    /// False if it can return wrong bytes with success: it keeps no guard tag with its blocks, as NVMe
    /// end-to-end data protection does.
    fn has_protection_information(&self) -> bool {
        true
    }

    /// True when trimmed blocks read as zeros from then on.
    fn trims_to_zeros(&self) -> bool;

    /// Hands over a request: within the drive, with at most `disk().most_blocks` blocks if it reads or
    /// writes. The caller never has more than `disk().depth` in flight, and their names differ.
    fn submit(&mut self, now: Time, request: Request<Bytes>);

    /// Makes a call of the control interface; the reply comes with [`Drive::poll`].
    fn control(&mut self, now: Time, call: Control);

    /// Goes on with its work, and appends what is ready.
    fn poll(&mut self, now: Time, answers: &mut Answers);

    /// When the drive has to be polled next; [`Time::NEVER`] if only [`Drive::wakes`] signals it.
    fn next_event(&self) -> Time;

    /// What becomes readable when it wants to be polled before that, if anything can make it want to.
    fn wakes(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    /// Its user is about to sleep: from now on [`Drive::wakes`] becomes readable when something is ready.
    /// False if something is ready already. The next [`Drive::poll`] ends it.
    fn arm(&mut self) -> bool {
        true
    }

    /// Appends what it knows of the ends of requests and has not said before. Nothing, unless it predicts.
    fn announce(&mut self, _announcements: &mut Vec<Announcement>) {}

    /// What is known of the blocks from `block` on, at most `blocks` of them, which lie within the drive.
    fn extent(&self, _block: u64, blocks: u64) -> Extent {
        Extent { blocks, is_allocated: true, is_zero: false }
    }

    /// Nobody will write any more: it writes what it knows of its content and would have written later. False
    /// until that has been done: it is to be polled, and asked again.
    fn come_to_rest(&mut self, _now: Time) -> bool {
        true
    }

    /// Why it takes no writes any more although it is there, with its name and what to do; see
    /// [`FailStop`](crate::FailStop).
    fn failure(&self) -> Option<&str> {
        None
    }

    /// Bytes that it holds for its user.
    fn bytes(&self) -> u64 {
        self.identify().sectors / BLOCK_SECTORS * tailcut_host::BLOCK_BYTES
    }
}
