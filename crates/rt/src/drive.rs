//! The interface of a drive in real time, for servers and arrays; emulated and real drives implement it.
//!
//! A drive has one user, a thread that runs this loop:
//!
//! 1. submit new requests ([`Drive::submit`], [`Drive::control`]);
//! 2. process completions ([`Drive::poll`]);
//! 3. without any, sleep until [`Drive::next_event`], or until [`Drive::wakes`] is readable, whichever is
//!    earlier; but only if [`Drive::arm`] returns true.
//!
//! Requests carry their data as [`Bytes`], which share memory: a drive that keeps its data in memory need not
//! copy them.

use std::os::fd::BorrowedFd;
use tailcut_base::Time;
use tailcut_base::control::{Control, ControlReply};
use tailcut_base::device::Identify;
use tailcut_host::{BLOCK_SECTORS, Bytes, Disk, Request, Response};

/// Output of a drive.
#[derive(Debug, Default)]
pub struct Answers {
    /// Completions of requests, in the order in which the drive completed them.
    pub responses: Vec<Response<Bytes>>,
    /// Calls of the control interface with their replies, in order of submission.
    pub replies: Vec<(Control, ControlReply)>,
}

/// An extent: a range of blocks with equal status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Number of blocks of 4 KiB of the extent; at least 1.
    pub blocks: u64,
    /// Whether the blocks of the extent are allocated.
    pub is_allocated: bool,
    /// Whether the blocks of the extent are known to read as zeros.
    pub is_zero: bool,
}

/// Announces the completion of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Announcement {
    /// Identifier of the request that will complete.
    pub id: u32,
    /// When the request is expected to complete.
    pub ends: Time,
}

/// A drive that one thread uses in real time. Times are those of the process's [`Clock`](crate::Clock) and
/// never decrease.
pub trait Drive {
    /// Identity and capacity of the drive.
    fn identify(&self) -> Identify;

    /// Identity and capacity in blocks.
    fn disk(&self) -> Disk {
        Disk::of(&self.identify())
    }

    /// False if it can return wrong bytes with success: it keeps no guard tag with its blocks, as NVMe
    /// end-to-end data protection does.
    fn has_protection_information(&self) -> bool {
        true
    }

    /// True if trimmed blocks read as zeros.
    fn trims_to_zeros(&self) -> bool;

    /// Submits a request: within the drive, with at most `disk().most_blocks` blocks if it reads or writes.
    /// The caller has at most `disk().depth` requests in flight, with distinct ids.
    fn submit(&mut self, now: Time, request: Request<Bytes>);

    /// Makes a call of the control interface; the reply comes with [`Drive::poll`].
    fn control(&mut self, now: Time, call: Control);

    /// Advances the drive, and appends its completions.
    fn poll(&mut self, now: Time, answers: &mut Answers);

    /// When the drive has to be polled next; [`Time::NEVER`] if only [`Drive::wakes`] signals it.
    fn next_event(&self) -> Time;

    /// The descriptor that becomes readable when the drive has to be polled before that; None if this cannot
    /// happen.
    fn wakes(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    /// Announces that the user is about to sleep: from now on [`Drive::wakes`] becomes readable when a
    /// completion is ready. False if one is ready already. The next [`Drive::poll`] disarms it.
    fn arm(&mut self) -> bool {
        true
    }

    /// Appends announcements that have not been made before. None, unless the drive predicts completions.
    fn announce(&mut self, _announcements: &mut Vec<Announcement>) {}

    /// The extent that begins at `block`, of at most `blocks` blocks, which lie within the drive.
    fn extent(&self, _block: u64, blocks: u64) -> Extent {
        Extent { blocks, is_allocated: true, is_zero: false }
    }

    /// Called after the last write: writes metadata that was deferred. False until that is done: poll the
    /// drive, and call again.
    fn come_to_rest(&mut self, _now: Time) -> bool {
        true
    }

    /// Called before a shutdown: trims that were not executed yet may fail with [`Status::Gone`], so that
    /// the shutdown does not wait for them; nor does it wait for a drive that is made to stall. By default,
    /// all are executed.
    ///
    /// [`Status::Gone`]: tailcut_base::Status::Gone
    fn abandon_trims(&mut self) {}

    /// Why a present drive accepts no more writes, with its name and the remedy; see
    /// [`FailStop`](crate::FailStop).
    fn failure(&self) -> Option<&str> {
        None
    }

    /// The drives below that have refused writes for lack of room, by name, until there is room again. None
    /// if there are none, and for a drive that does not record it.
    fn full(&self) -> Option<String> {
        None
    }

    /// Bytes of memory or storage that it holds for its user.
    fn bytes(&self) -> u64 {
        self.identify().sectors / BLOCK_SECTORS * tailcut_host::BLOCK_BYTES
    }
}
