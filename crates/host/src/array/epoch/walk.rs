//! Background passes over all blocks: rebuild of a drive, and scrub. A few blocks at a time are processed, as
//! fast as the configured rate permits.

use super::geometry::Place;
use super::mutation::{Invariant, holds};
use super::work::WorkPurpose;
use super::{Epochs, RequestPurpose};
use crate::Block;
use crate::array::DriveId;
use crate::array::core::Core;
use crate::array::drives::{Ask, Owner, Presence, Priority};
use crate::array::raid::ScrubReport;
use crate::disk::BLOCK_BYTES;
use crate::placement::WriteKind;
use std::collections::VecDeque;
use std::ops::Range;
use tailcut_base::cast::{to_u32, to_u64};
use tailcut_base::{Class, Nanos, Op, Time, id};

id! {
    /// A pass; passes count up.
    pub struct WalkId;
}

/// Purpose of a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    /// Rebuild the content of a drive from the other copies.
    Rebuild(DriveId),
    /// Read and verify everything.
    Scrub,
}

/// A pass: over the blocks of a drive being rebuilt, or over those of the host.
#[derive(Debug)]
pub(super) struct Walk {
    id: WalkId,
    task: Task,
    next: u64,
    end: u64,
    /// Extents in progress, in order: start, end, and whether it is done.
    under_way: VecDeque<(u64, u64, bool)>,
    /// When the next extent may start.
    due: Time,
    is_cancelled: bool,
}

/// Concurrent extents.
const AHEAD: usize = 8;

/// Largest number of blocks of an extent.
const RUN_MOST: u64 = 32;

impl<B: Block> Epochs<B> {
    /// Starts a pass, unless one of the same kind is running.
    pub(super) fn begin_task(&mut self, now: Time, core: &mut Core<B>, task: Task) {
        if self.walks.iter().any(|walk| walk.task == task && !walk.is_cancelled) {
            return;
        }
        let range = match task {
            Task::Rebuild(_) => self.shape.data(),
            Task::Scrub => 0..self.shape.blocks(),
        };
        match task {
            Task::Rebuild(drive) => self.clear_descriptors(now, core, drive),
            Task::Scrub => {
                let ScrubReport { resynced, not_rebuilt, .. } = self.report;
                self.report = ScrubReport { resynced, not_rebuilt, ..ScrubReport::default() };
            }
        }
        self.begun_walks += 1;
        let (id, under_way) = (WalkId::new(self.begun_walks), VecDeque::new());
        let (next, end) = (range.start, range.end);
        self.walks.push(Walk { id, task, next, end, under_way, due: now, is_cancelled: false });
        self.advance_walk(now, core);
    }

    /// Clears the descriptors of a drive to be rebuilt: it may have been part of an array before, whose
    /// descriptors must not be mistaken for ours.
    fn clear_descriptors(&mut self, now: Time, core: &mut Core<B>, drive: DriveId) {
        let (first, end) = (self.first_slot, self.first_slot + self.slots);
        if !holds(Invariant::ClearDescriptors) {
            return;
        }
        for block in (first..end).step_by(self.most) {
            let blocks = to_u32((end - block).min(self.most as u64));
            let (op, class, data) = (Op::Trim, Class::DEFAULT, Vec::new());
            let ask =
                Ask { op, fua: false, fail_fast: false, class, kind: WriteKind::Data, block, blocks, data };
            let owner = Owner::Layout(RequestPurpose::Clear(drive).pack());
            self.lines[drive].clearing += 1;
            core.drives.ask(now, drive, Priority::Write, owner, ask);
        }
    }

    /// Some descriptors have been cleared.
    pub(super) fn cleared(&mut self, now: Time, core: &mut Core<B>, drive: DriveId) {
        self.lines[drive].clearing -= 1;
        self.turn.expect(now);
        self.advance_walk(now, core);
    }

    /// Completed share of a pass in parts per million; None if it is not running.
    pub(super) fn share_done(&self, task: Task) -> Option<u32> {
        let walk = self.walks.iter().find(|walk| walk.task == task && !walk.is_cancelled)?;
        let first = if task == Task::Scrub { 0 } else { self.shape.data().start };
        let all = u128::from((walk.end - first).max(1));
        Some(to_u32(to_u64(u128::from(walk.low() - first) * 1_000_000 / all)))
    }

    /// When the next extent may start.
    pub(super) fn next_walk(&self) -> Time {
        let can_begin = |walk: &&Walk| {
            walk.next < walk.end && walk.under_way.len() < AHEAD && !self.is_clearing(walk.task)
        };
        self.walks.iter().filter(can_begin).map(|walk| walk.due).min().unwrap_or(Time::NEVER)
    }

    /// Starts the extents that are due, and ends completed passes.
    pub(super) fn advance_walk(&mut self, now: Time, core: &mut Core<B>) {
        let mut at = 0;
        while at < self.walks.len() {
            self.cancel_if_vain(core, at);
            while let Some((purpose, run)) = self.next_run(now, core, at) {
                self.look_after(now, core, purpose, run);
                if at >= self.walks.len() {
                    return;
                }
            }
            if at < self.walks.len() && self.is_finished(at) {
                let walk = self.walks.swap_remove(at);
                self.end_walk(now, core, &walk);
            } else {
                at += 1;
            }
        }
    }

    /// True while the descriptors of a predecessor are being cleared.
    fn is_clearing(&self, task: Task) -> bool {
        matches!(task, Task::Rebuild(drive) if self.lines[drive].clearing > 0)
    }

    /// Cancels the rebuild of a drive that has failed again or has no neighbours to be rebuilt from.
    fn cancel_if_vain(&mut self, core: &Core<B>, at: usize) {
        let has_failed = self.has_failed;
        let walk = &mut self.walks[at];
        let is_lost = match walk.task {
            Task::Rebuild(drive) => core.drives.presence(drive) != Presence::Rebuilding,
            Task::Scrub => false,
        };
        if is_lost || has_failed {
            (walk.is_cancelled, walk.end) = (true, walk.next);
        }
    }

    /// The next extent of a pass, if one may start.
    fn next_run(&mut self, now: Time, core: &Core<B>, at: usize) -> Option<(WorkPurpose, Range<u64>)> {
        let most = RUN_MOST.min(self.most as u64);
        let is_clearing = self.is_clearing(self.walks[at].task);
        let walk = &mut self.walks[at];
        if walk.due > now || walk.next >= walk.end || walk.under_way.len() >= AHEAD || is_clearing {
            return None;
        }
        let (purpose, host) = match walk.task {
            Task::Scrub => (WorkPurpose::Scrub(walk.id), walk.next),
            Task::Rebuild(drive) => {
                walk.next = self.shape.used_from(Place { drive, block: walk.next });
                let place = Place { drive, block: walk.next };
                (WorkPurpose::Fill(walk.id, drive), self.shape.host_block(place)?.0)
            }
        };
        let first = walk.next;
        let run = self.shape.run(host..host + most.min(walk.end - first));
        let blocks = run.end - run.start;
        walk.next += blocks;
        walk.under_way.push_back((first, walk.next, false));
        walk.due = walk.due.max(now) + Nanos::for_bytes(blocks * BLOCK_BYTES, core.config.background_rate);
        Some((purpose, run))
    }

    /// An extent is done.
    pub(super) fn unit_done(&mut self, now: Time, core: &mut Core<B>, id: WalkId, run: Range<u64>) {
        let Some(walk) = self.walks.iter_mut().find(|walk| walk.id == id) else { return };
        let first = match walk.task {
            Task::Scrub => run.start,
            Task::Rebuild(drive) => {
                let places = self.shape.places(run.start);
                places.iter().find(|place| place.drive == drive).expect("it has a copy").block
            }
        };
        walk.done(first);
        match walk.task {
            Task::Scrub => self.report.stripes += u64::from(run.end.is_multiple_of(self.shape.chunk)),
            Task::Rebuild(drive) if !walk.is_cancelled => core.drives.set_filled(drive, walk.low()),
            Task::Rebuild(_) => {}
        }
        self.advance_walk(now, core);
    }

    fn is_finished(&self, at: usize) -> bool {
        let walk = &self.walks[at];
        walk.next >= walk.end && walk.under_way.is_empty()
    }

    fn end_walk(&mut self, now: Time, core: &mut Core<B>, walk: &Walk) {
        if let (Task::Rebuild(drive), false) = (walk.task, walk.is_cancelled) {
            core.drives.set_presence(drive, Presence::InSync);
            core.write_record(now);
            self.look_at_drives(core);
        }
    }
}

impl Walk {
    /// Start of the first extent that is not done.
    fn low(&self) -> u64 {
        self.under_way.front().map_or(self.next, |&(first, ..)| first)
    }

    /// Marks an extent as done and removes completed ones from the front.
    fn done(&mut self, first: u64) {
        if let Some(run) = self.under_way.iter_mut().find(|run| run.0 == first) {
            run.2 = true;
        }
        while self.under_way.front().is_some_and(|&(.., is_done)| is_done) {
            self.under_way.pop_front();
        }
    }
}
