//! Waits for durability: of flushes, writes with force unit access, and blocks under scrub or repair.

use super::Epochs;
use super::mutation::{Invariant, holds};
use super::work::WorkId;
use crate::Block;
use crate::array::DriveId;
use crate::array::core::Core;
use crate::array::requests::RequestSlot;
use tailcut_base::{Cause, Spans, Status, Time, id};

id! {
    /// A wait for durability in progress.
    pub struct WaiterId;
}

/// A wait for durability.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiter {
    reason: WaitReason,
    /// Dirty lists that have not advanced far enough yet.
    pending: u32,
}

/// What is waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WaitReason {
    /// A request of the host.
    Host(RequestSlot),
    /// Blocks under scrub or repair.
    Work(WorkId),
}

impl<B: Block> Epochs<B> {
    /// A flush of the host waits for all dirty copies: about an epoch of each group.
    pub(super) fn flush(&mut self, now: Time, core: &mut Core<B>, slot: RequestSlot) {
        core.requests.expect(slot, 1);
        let id = self.waiter(WaitReason::Host(slot));
        for drive in self.lines.ids() {
            if holds(Invariant::FlushBoth) || self.shape.group(drive) == 0 {
                self.wait_for(now, id, drive);
            }
        }
        self.pass(now, core, id);
    }

    /// Creates a waiter with one pending count; [`Epochs::pass`] completes its setup.
    pub(super) fn waiter(&mut self, reason: WaitReason) -> WaiterId {
        self.waiters.insert(Waiter { reason, pending: 1 })
    }

    /// Adds a wait for all copies in the dirty list of a drive now; epochs start at once.
    pub(super) fn wait_for(&mut self, now: Time, id: WaiterId, drive: DriveId) {
        if self.lines[drive].wait(id) {
            self.waiters[id].pending += 1;
            self.turn.expect(now);
        }
    }

    /// A dirty list has advanced far enough: decrements the pending count.
    pub(super) fn pass(&mut self, now: Time, core: &mut Core<B>, id: WaiterId) {
        let waiter = &mut self.waiters[id];
        waiter.pending -= 1;
        if waiter.pending > 0 {
            return;
        }
        let who = waiter.reason;
        self.waiters.release(id);
        match who {
            WaitReason::Host(slot) => {
                core.requests.account_cause(now, slot, Cause::Epoch);
                let status = if self.has_failed { Status::MediaError } else { Status::Success };
                core.part_done(now, slot, status, &Spans::new());
            }
            WaitReason::Work(id) => self.end_work(now, core, id),
        }
    }

    /// A dirty list has advanced, or its drive has failed.
    pub(super) fn release_waiting(&mut self, now: Time, core: &mut Core<B>, drive: DriveId) {
        while let Some(id) = self.lines[drive].released() {
            self.pass(now, core, id);
        }
    }
}
