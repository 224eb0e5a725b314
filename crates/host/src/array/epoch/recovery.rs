//! From drives to an array that accepts requests: blank drives are cleared, and copies that differ after a
//! power loss are made equal.
//!
//! Copies may differ only for listed blocks: the descriptors of every drive are read, and all copies of their
//! blocks are compared (`compare`). So the duration of recovery depends on the number of descriptor slots,
//! not on the size of the drives. If a descriptor is unreadable, its blocks are unknown: then all blocks of
//! that drive are compared. Finally the drives are flushed, and descriptors start anew.

use super::compare::{Comparison, ComparisonId};
use super::descriptor::{Descriptor, Mark, SlotId};
use super::mutation::{Invariant, holds};
use super::walk::Task;
use super::{Epochs, RequestPurpose};
use crate::Block;
use crate::array::DriveId;
use crate::array::core::Core;
use crate::array::drives::{Answered, Ask, Owner, Presence, Priority};
use crate::placement::WriteKind;
use std::collections::BTreeMap;
use tailcut_base::cast::to_u32;
use tailcut_base::ids::{IdVec, Slab};
use tailcut_base::{Class, Op, Status, Time};

/// Stage of the work before requests are accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// The drives are cleared: all copies are zeros, whatever they held.
    Clear,
    /// Descriptors are read.
    Read,
    /// Copies are compared.
    Compare,
    /// The drives are flushed.
    Flush,
    /// Descriptors are cleared.
    Restart,
    /// None: requests are accepted.
    Ready,
}

/// State of a recovery.
#[derive(Debug)]
pub(super) struct Recovery<B> {
    /// The stage that the recovery has reached.
    pub stage: Stage,
    /// Outstanding completions.
    pending: u32,
    /// Clearing: the next block of each drive.
    cleared: IdVec<DriveId, u64>,
    /// Listed blocks: versions and checksums of each.
    pub(super) listed: BTreeMap<u64, Vec<Mark>>,
    /// Drives with an unreadable descriptor.
    pub(super) is_damaged: IdVec<DriveId, bool>,
    /// If there are any, the next block to compare whether it is listed or not.
    pub(super) next: u64,
    /// Blocks whose copies are being read and compared.
    pub(super) comparisons: Slab<ComparisonId, Comparison<B>>,
}

impl<B> Recovery<B> {
    /// No recovery: requests are accepted.
    pub(super) fn none() -> Recovery<B> {
        Recovery {
            stage: Stage::Ready,
            pending: 0,
            cleared: IdVec::new(),
            listed: BTreeMap::new(),
            is_damaged: IdVec::new(),
            next: 0,
            comparisons: Slab::new(),
        }
    }
}

impl<B: Block> Epochs<B> {
    /// True if requests are served.
    pub(super) fn is_serving(&self) -> bool {
        self.recovery.stage == Stage::Ready
    }

    /// Clears the drives of a new array.
    pub(super) fn begin_clear(&mut self, now: Time, core: &mut Core<B>) {
        self.recovery.stage = Stage::Clear;
        self.recovery.cleared = IdVec::filled(core.drives.len(), core.usable().start);
        self.recovery.pending = 1;
        self.clear_more(now, core);
        self.recovery_part_done(now, core);
    }

    fn clear_more(&mut self, now: Time, core: &mut Core<B>) {
        let end = match self.recovery.stage {
            Stage::Clear => core.usable().end,
            _ => self.first_slot + self.slots,
        };
        for drive in core.drives.ids() {
            let block = self.recovery.cleared[drive];
            let blocks = to_u32((end - block).min(self.most as u64));
            if blocks > 0 {
                self.recovery.cleared[drive] += u64::from(blocks);
                self.ask_for_recovery(now, core, drive, Op::Trim, (block, blocks));
            }
        }
    }

    fn ask_for_recovery(
        &mut self,
        now: Time,
        core: &mut Core<B>,
        drive: DriveId,
        op: Op,
        (block, blocks): (u64, u32),
    ) {
        self.recovery.pending += 1;
        let (class, data) = (Class::DEFAULT, Vec::new());
        let ask = Ask { op, fua: false, fail_fast: false, class, kind: WriteKind::Data, block, blocks, data };
        core.drives.ask(now, drive, Priority::Write, Owner::Layout(RequestPurpose::Recovery.pack()), ask);
    }

    /// Starts reading the descriptors of an array being opened.
    pub(super) fn begin_recovery(&mut self, now: Time, core: &mut Core<B>) {
        self.recovery.stage = Stage::Read;
        self.recovery.is_damaged = IdVec::filled(core.drives.len(), false);
        self.recovery.pending = 1;
        for drive in core.drives.ids() {
            if !core.drives.is_in_sync(drive) {
                continue;
            }
            for at in (0..self.slots).step_by(self.most) {
                let blocks = to_u32((self.slots - at).min(self.most as u64));
                self.ask_for_recovery(now, core, drive, Op::Read, (self.first_slot + at, blocks));
            }
        }
        self.recovery_part_done(now, core);
    }

    /// Handles a completion from a drive.
    pub(super) fn recovery_answered(&mut self, now: Time, core: &mut Core<B>, answer: &Answered<B>) {
        match self.recovery.stage {
            Stage::Read if answer.status == Status::Success => {
                for (block, content) in (answer.block..).zip(&answer.data) {
                    self.take_descriptor(answer.drive, block, content);
                }
            }
            // One unreadable block must not fail its neighbours.
            Stage::Read if answer.blocks > 1 && answer.status == Status::MediaError => {
                for block in answer.block..answer.block + u64::from(answer.blocks) {
                    self.ask_for_recovery(now, core, answer.drive, Op::Read, (block, 1));
                }
            }
            Stage::Read => self.recovery.is_damaged[answer.drive] = true,
            Stage::Clear | Stage::Restart => self.clear_more(now, core),
            _ => {}
        }
        self.recovery_part_done(now, core);
    }

    /// Records the entries of a descriptor.
    fn take_descriptor(&mut self, drive: DriveId, block: u64, content: &B) {
        let bytes = content.decode().unwrap_or(&[]);
        if bytes.iter().all(|&byte| byte == 0) {
            return;
        }
        let slot = SlotId::new(to_u32(block - self.first_slot));
        let found = Descriptor::decode(bytes).filter(|found| found.array == self.array && found.slot == slot);
        let Some(descriptor) = found else {
            self.recovery.is_damaged[drive] = true;
            return;
        };
        for entry in descriptor.entries.iter().filter(|entry| entry.block < self.shape.blocks()) {
            let marks = self.recovery.listed.entry(entry.block).or_default();
            marks.extend([entry.mark, entry.before].iter().filter(|mark| mark.version > 0));
        }
    }

    fn recovery_part_done(&mut self, now: Time, core: &mut Core<B>) {
        self.recovery.pending -= 1;
        if self.recovery.pending > 0 {
            return;
        }
        match self.recovery.stage {
            Stage::Clear => self.flush_all(now, core),
            Stage::Read => {
                self.recovery.stage = Stage::Compare;
                let is_damaged = self.recovery.is_damaged.as_slice().contains(&true);
                self.recovery.next = if is_damaged { 0 } else { self.shape.blocks() };
                if !holds(Invariant::Reconcile) {
                    self.recovery.listed.clear();
                }
                self.compare_more(now, core);
            }
            Stage::Flush => {
                self.recovery.stage = Stage::Restart;
                self.recovery.cleared = IdVec::filled(core.drives.len(), self.first_slot);
                self.recovery.pending = 1;
                self.clear_more(now, core);
                self.recovery_part_done(now, core);
            }
            Stage::Restart => self.be_ready(now, core),
            stage => unreachable!("nothing is asked for in stage {stage:?}"),
        }
    }

    /// Copies are equal: flushes them.
    pub(super) fn flush_all(&mut self, now: Time, core: &mut Core<B>) {
        self.recovery.stage = Stage::Flush;
        self.recovery.pending = 1;
        for drive in core.drives.ids() {
            if core.drives.is_present(drive) && core.drives.disk(drive).volatile_cache {
                self.ask_for_recovery(now, core, drive, Op::Flush, (0, 0));
            }
        }
        self.recovery_part_done(now, core);
    }

    fn be_ready(&mut self, now: Time, core: &mut Core<B>) {
        self.recovery = Recovery::none();
        self.look_at_drives(core);
        for drive in core.drives.ids() {
            if core.drives.presence(drive) == Presence::Rebuilding {
                self.begin_task(now, core, Task::Rebuild(drive));
            }
        }
    }
}
