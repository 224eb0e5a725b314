//! Background passes over all units: rebuild of a drive, scrub, and resync of parity after a power loss.
//!
//! Each unit is processed under its lock, a few at a time, as fast as the configured rate permits.

use super::cells::Cells;
use super::locks::PieceId;
use super::locks::{Kind, Piece};
use super::mismatches::MismatchPlaces;
use super::mutation::{Invariant, holds};
use super::{Raid, Token};
use crate::Block;
use crate::array::DriveId;
use crate::array::core::Core;
use crate::array::drives::{Ask, Owner, Presence, Priority};
use crate::array::reads::{ReadResult, ReconstructWhen, SealAge, seal_of};
use crate::array::requests::RequestSlot;
use crate::disk::BLOCK_BYTES;
use crate::placement::WriteKind;
use std::collections::VecDeque;
use tailcut_base::cast::{to_u32, to_u64, to_usize};
use tailcut_base::id;
use tailcut_base::{Class, Nanos, Op, Status, Time};

/// Purpose of a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    /// Rebuild the content of a drive from the others.
    Rebuild(DriveId),
    /// Read and verify everything.
    Scrub,
    /// Recompute the parity of marked regions.
    Resync,
}

/// Findings of scrubs, repairs and rebuilds so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScrubReport {
    /// Stripes that scrubs have read to the end.
    pub stripes: u64,
    /// Blocks that were damaged or unreadable when they were read.
    pub corrupt_blocks: u64,
    /// Damaged blocks that were rewritten from the others.
    pub repaired: u64,
    /// Rows whose parity did not match although all blocks are intact: it was recomputed.
    pub parity_mismatches: u64,
    /// The first places at which the parity did not match.
    pub mismatch_places: MismatchPlaces,
    /// Rows whose parity was compared, or blocks whose copies were.
    pub compared: u64,
    /// Rows, or blocks with copies, that a scrub could not compare because a member is missing.
    pub not_compared: u64,
    /// Damaged blocks that could not be reconstructed, so that their content is lost.
    pub unrepairable: u64,
    /// Rows whose parity was recomputed after a power loss.
    pub resynced: u64,
    /// Blocks that could not be reconstructed for a drive being rebuilt.
    pub not_rebuilt: u64,
}

id! {
    /// A pass; passes count up.
    pub(super) struct WalkId;
}

/// A pass over the units.
#[derive(Debug)]
pub(super) struct Walk {
    id: WalkId,
    /// Purpose of the pass.
    task: Task,
    /// The next unit, and the end of the pass.
    next: u64,
    end: u64,
    /// Units in progress, in order; whether each is done.
    under_way: VecDeque<bool>,
    /// Outstanding requests other than those of units: for the journal of a drive being rebuilt, and the last
    /// flush.
    beside: u32,
    /// When the next unit may start.
    due: Time,
    is_flushing: bool,
    is_cancelled: bool,
    /// It ends when the journal's transactions below this one are gone: see [`Raid::is_drained`].
    notes_end: u64,
    is_draining: bool,
}

impl Walk {
    /// True if a unit in progress belongs to this pass.
    pub(super) fn has<B>(&self, work: &Work<B>) -> bool {
        work.walk == self.id
    }
}

id! {
    /// A unit that a walk is working on.
    pub(super) struct WorkId;
}

/// A unit in progress.
#[derive(Debug)]
pub(super) struct Work<B> {
    /// Its pass.
    walk: WalkId,
    pub(super) task: Task,
    pub(super) unit: u64,
    piece: PieceId,
    pending: u32,
    is_writing: bool,
    /// Cells that could not be read.
    pub(super) bad: Cells,
    pub(super) content: Vec<B>,
}

impl<B> Work<B> {
    fn new(cells: usize) -> Work<B>
    where
        B: Block,
    {
        let content = vec![B::default(); cells];
        Work {
            walk: WalkId::new(0),
            task: Task::Scrub,
            unit: 0,
            piece: PieceId::NONE,
            pending: 0,
            is_writing: false,
            bad: Cells::NONE,
            content,
        }
    }
}

/// Concurrent units.
const AHEAD: usize = 8;

impl<B: Block> Raid<B> {
    /// Starts a pass, unless one of the same kind is running.
    pub(super) fn begin_task(&mut self, now: Time, core: &mut Core<B>, task: Task) {
        if self.walks.iter().any(|walk| walk.task == task && !walk.is_cancelled) {
            return;
        }
        let end = self.shape.units();
        let (under_way, due) = (VecDeque::new(), now);
        self.begun_walks += 1;
        let id = WalkId::new(self.begun_walks);
        let mut walk = Walk {
            id,
            task,
            next: 0,
            end,
            under_way,
            beside: 0,
            due,
            is_flushing: false,
            is_cancelled: false,
            notes_end: self.journal.as_ref().map_or(0, |journal| journal.ring.next()),
            is_draining: false,
        };
        match task {
            Task::Rebuild(drive) => walk.beside = self.clear_notes(now, core, drive, id),
            Task::Scrub => {
                let ScrubReport { resynced, not_rebuilt, .. } = self.report;
                self.report = ScrubReport { resynced, not_rebuilt, ..ScrubReport::default() };
            }
            Task::Resync => {}
        }
        self.walks.push(walk);
        self.advance_walk(now, core);
    }

    /// Clears the journal of a drive to be rebuilt: it may have been part of an array before, whose journal
    /// must not be mistaken for ours.
    fn clear_notes(&mut self, now: Time, core: &mut Core<B>, drive: DriveId, walk: WalkId) -> u32 {
        let (first, end) = (core.usable().start, self.shape.first);
        let mut asked = 0;
        for block in (first..end).step_by(self.most) {
            let blocks = to_u32((end - block).min(self.most as u64));
            let (op, class, data) = (Op::Trim, Class::DEFAULT, Vec::new());
            let ask =
                Ask { op, fua: false, fail_fast: false, class, kind: WriteKind::Data, block, blocks, data };
            let owner = Owner::Layout(Token::Beside(walk).pack());
            core.drives.ask(now, drive, Priority::Background, owner, ask);
            asked += 1;
        }
        asked
    }

    /// A request of a rebuild other than those of its units has completed.
    pub(super) fn beside_answered(&mut self, now: Time, core: &mut Core<B>, id: WalkId) {
        if let Some(walk) = self.walks.iter_mut().find(|walk| walk.id == id) {
            walk.beside -= 1;
        }
        self.advance_walk(now, core);
    }

    /// Completed share of a pass in parts per million; None if it is not running.
    pub(super) fn share_done(&self, task: Task) -> Option<u32> {
        let walk = self.walks.iter().find(|walk| walk.task == task && !walk.is_cancelled)?;
        let done = walk.next - walk.under_way.len() as u64;
        Some(to_u32(to_u64(u128::from(done) * 1_000_000 / u128::from(walk.end.max(1)))))
    }

    /// When the next unit may start.
    pub(super) fn next_walk(&self) -> Time {
        // A resync has no rate limit: it continues when a unit is done.
        let can_begin =
            |walk: &&Walk| walk.task != Task::Resync && walk.next < walk.end && walk.under_way.len() < AHEAD;
        let moments = self.walks.iter().filter(can_begin).map(|walk| walk.due);
        moments.min().unwrap_or(Time::NEVER)
    }

    /// Starts the units that are due, and ends completed passes.
    pub(super) fn advance_walk(&mut self, now: Time, core: &mut Core<B>) {
        let mut at = 0;
        while at < self.walks.len() {
            self.cancel_if_vain(core, at);
            while let Some(unit) = self.next_unit(now, core, at) {
                self.begin_work(now, core, at, unit);
            }
            if self.is_finished(now, core, at) {
                let walk = self.walks.swap_remove(at);
                self.end_walk(now, core, &walk);
            } else {
                at += 1;
            }
        }
    }

    /// Cancels the rebuild of a drive that has failed again, or that too many other drives are missing for.
    fn cancel_if_vain(&mut self, core: &Core<B>, at: usize) {
        let has_failed = self.has_failed(core);
        let walk = &mut self.walks[at];
        let is_lost = match walk.task {
            Task::Rebuild(drive) => core.drives.presence(drive) != Presence::Rebuilding,
            _ => false,
        };
        if is_lost || has_failed {
            (walk.is_cancelled, walk.end) = (true, walk.next);
        }
    }

    fn next_unit(&mut self, now: Time, core: &Core<B>, at: usize) -> Option<u64> {
        let units = self.shape.units();
        let walk = &mut self.walks[at];
        if walk.due > now || walk.next >= walk.end || walk.under_way.len() >= AHEAD {
            return None;
        }
        if walk.task == Task::Resync {
            let marked = self.intent.as_ref().and_then(|intent| intent.marked_in(walk.next..units));
            let Some(marked) = marked else {
                walk.end = walk.next;
                return None;
            };
            if walk.next < marked.start && !walk.under_way.is_empty() {
                return None;
            }
            walk.next = marked.start;
        } else {
            let bytes = self.shape.rows as u64 * BLOCK_BYTES;
            walk.due = walk.due.max(now) + Nanos::for_bytes(bytes, core.config.background_rate);
        }
        walk.next += 1;
        walk.under_way.push_back(false);
        Some(walk.next - 1)
    }

    fn begin_work(&mut self, now: Time, core: &mut Core<B>, at: usize, unit: u64) {
        let id = self.works.allocate(|| Work::new(self.shape.width * self.shape.rows));
        let piece = Piece::new(unit, Kind::Maintain(id), RequestSlot::NONE, self.shape.data_cells());
        let work = &mut self.works[id];
        (work.walk, work.task, work.unit) = (self.walks[at].id, self.walks[at].task, unit);
        (work.pending, work.bad, work.is_writing, work.piece) = (0, Cells::NONE, false, PieceId::NONE);
        if holds(Invariant::RebuildUnderLock) {
            work.piece = self.locks.push(piece);
            self.woken.push_back(unit);
        } else {
            self.begin_unit(now, core, id);
        }
    }

    /// A unit is locked: reads the required blocks.
    pub(super) fn begin_unit(&mut self, now: Time, core: &mut Core<B>, id: WorkId) {
        let Work { task, unit, .. } = self.works[id];
        let cells = match task {
            Task::Rebuild(drive) => self.shape.role_cells(self.shape.role(unit, drive)),
            _ => self.shape.all_cells() & !self.unknown(core, unit),
        };
        self.works[id].pending = 1;
        self.read_cells(now, core, id, cells, self.most);
        self.work_part_done(now, core, id);
    }

    fn read_cells(&mut self, now: Time, core: &mut Core<B>, id: WorkId, cells: Cells, most: usize) {
        let Work { task, unit, .. } = self.works[id];
        let around =
            if matches!(task, Task::Rebuild(_)) { ReconstructWhen::AtNeed } else { ReconstructWhen::Later };
        for run in self.shape.runs(unit, cells, most) {
            self.works[id].pending += 1;
            let wanted = run.wanted(Class::DEFAULT, Priority::Background, around, Token::Work(id));
            core.reads.begin(now, &mut core.drives, wanted);
        }
    }

    /// A read of blocks of a unit has completed.
    pub(super) fn work_read(&mut self, now: Time, core: &mut Core<B>, id: WorkId, done: &ReadResult<B>) {
        let Work { task, unit, .. } = self.works[id];
        let first = self.shape.cell(unit, done.wanted.drive, done.wanted.block);
        let cells = Cells::range(first..first + done.wanted.blocks as usize);
        if done.status != Status::Success && done.wanted.blocks > 1 {
            self.read_cells(now, core, id, cells, 1);
        } else if done.status != Status::Success {
            self.works[id].bad |= cells;
        } else {
            let content = &mut self.works[id].content;
            content[first..first + done.data.len()].clone_from_slice(&done.data);
        }
        if let Task::Rebuild(_) = task
            && (done.status == Status::Success || done.wanted.blocks == 1)
        {
            self.fill(now, core, id, cells);
        }
        self.work_part_done(now, core, id);
    }

    /// Writes blocks of a drive being rebuilt. Blocks that could not be reconstructed are written such that
    /// no read takes them for data.
    fn fill(&mut self, now: Time, core: &mut Core<B>, id: WorkId, cells: Cells) {
        let lost = cells & self.works[id].bad;
        self.report.not_rebuilt += lost.len() as u64;
        for cell in lost.iter() {
            self.works[id].content[cell] = B::encode(b"lost");
        }
        self.write_cells(now, core, id, cells);
    }

    fn write_cells(&mut self, now: Time, core: &mut Core<B>, id: WorkId, cells: Cells) {
        let unit = self.works[id].unit;
        for run in self.shape.runs(unit, cells, self.most) {
            let (drive, kind, block, blocks) =
                (run.drive, run.kind(&self.shape, WriteKind::Data), run.block, run.blocks());
            let mut data = core.drives.memory();
            let work = &mut self.works[id];
            for (cell, address) in run.cells.zip(block..) {
                let mut content = work.content[cell].clone();
                if !(matches!(work.task, Task::Rebuild(_)) && work.bad.contains(cell)) {
                    content.seal(seal_of(drive, address, SealAge::IN_PLACE));
                }
                data.push(content);
            }
            work.pending += 1;
            let (op, class) = (Op::Write, Class::DEFAULT);
            let ask = Ask { op, fua: false, fail_fast: false, class, kind, block, blocks, data };
            let owner = Owner::Layout(Token::WorkWrite(id).pack());
            core.drives.ask(now, drive, Priority::Background, owner, ask);
        }
    }

    /// A write of blocks of a unit has completed.
    pub(super) fn work_written(&mut self, now: Time, core: &mut Core<B>, id: WorkId) {
        self.work_part_done(now, core, id);
    }

    fn work_part_done(&mut self, now: Time, core: &mut Core<B>, id: WorkId) {
        self.works[id].pending -= 1;
        if self.works[id].pending > 0 {
            return;
        }
        let Work { task, is_writing, .. } = self.works[id];
        if is_writing || matches!(task, Task::Rebuild(_)) {
            return self.end_work(now, core, id);
        }
        let writes = self.compare(now, core, id);
        let work = &mut self.works[id];
        (work.is_writing, work.pending) = (true, 1);
        self.write_cells(now, core, id, writes);
        self.work_part_done(now, core, id);
    }

    fn end_work(&mut self, now: Time, core: &mut Core<B>, id: WorkId) {
        let parts = self.shape.chunk / self.shape.rows as u64;
        let work = &mut self.works[id];
        let (task, unit, piece, walk) = (work.task, work.unit, work.piece, work.walk);
        work.content.fill(B::default());
        self.works.release(id);
        if piece != PieceId::NONE {
            self.locks.end(piece);
            self.woken.push_back(unit);
        }
        self.report.stripes += u64::from(task == Task::Scrub && unit % parts == parts - 1);
        if let Some(walk) = self.walks.iter_mut().find(|other| other.id == walk) {
            walk.done(unit);
            if let (Task::Rebuild(drive), false) = (task, walk.is_cancelled) {
                let low = walk.next - walk.under_way.len() as u64;
                core.drives.set_filled(drive, self.shape.base(low));
            }
        }
        self.advance_walk(now, core);
    }

    /// True if a pass has ended. A rebuilt drive is flushed before it counts as in sync, and its
    /// predecessor's blocks must have left the journal. After a scrub the drives are flushed, which makes its
    /// repairs durable.
    fn is_finished(&mut self, now: Time, core: &mut Core<B>, at: usize) -> bool {
        let walk = &mut self.walks[at];
        if walk.next < walk.end || !walk.under_way.is_empty() || walk.beside > 0 {
            return false;
        }
        if walk.is_cancelled || walk.task == Task::Resync {
            return true;
        }
        walk.is_draining = true;
        let (task, notes_end) = (walk.task, walk.notes_end);
        let rule =
            if task == Task::Scrub { Invariant::ScrubTheJournal } else { Invariant::DrainBeforeInSync };
        if holds(rule) && !self.is_drained(now, core, notes_end) {
            return false;
        }
        let has_repaired = self.report.repaired + self.report.parity_mismatches > 0;
        let drives: Vec<DriveId> = match task {
            Task::Rebuild(drive) => vec![drive],
            _ if has_repaired => core.drives.ids().filter(|&drive| core.drives.is_present(drive)).collect(),
            _ => Vec::new(),
        };
        let walk = &mut self.walks[at];
        let cached = |&drive: &DriveId| core.drives.disk(drive).volatile_cache;
        let drives: Vec<DriveId> = drives.into_iter().filter(cached).collect();
        if walk.is_flushing || drives.is_empty() {
            return true;
        }
        (walk.is_flushing, walk.beside) = (true, to_u32(drives.len()));
        let owner = Owner::Layout(Token::Beside(walk.id).pack());
        for drive in drives {
            let (op, class, data) = (Op::Flush, Class::DEFAULT, Vec::new());
            let ask = Ask {
                op,
                fua: false,
                fail_fast: false,
                class,
                kind: WriteKind::Data,
                block: 0,
                blocks: 0,
                data,
            };
            core.drives.ask(now, drive, Priority::Write, owner, ask);
        }
        false
    }

    /// True if no transaction before `end` would be written in place again after a power loss. Otherwise
    /// works towards that.
    ///
    /// Rebuild: a transaction from before a drive failed has blocks of that drive, and later ones, from while
    /// it was missing, have none: replayed on its successor, which has been rebuilt since, the first would
    /// not be followed by the others. Scrub: one copy of a transaction may have become unreadable; if the
    /// other were lost with its drive, earlier transactions would be replayed and this one would not.
    /// Transactions written from now on have two good copies and a tail behind all of these.
    fn is_drained(&mut self, now: Time, core: &mut Core<B>, end: u64) -> bool {
        let Some(journal) = &self.journal else { return true };
        if journal.ring.oldest() >= end {
            return true;
        }
        if journal.is_idle() {
            self.make_room(now, core);
        }
        false
    }

    /// A pass that waits for the journal may continue.
    pub(super) fn drain_on(&mut self, now: Time, core: &mut Core<B>) {
        if self.walks.iter().any(|walk| walk.is_draining) {
            self.advance_walk(now, core);
        }
    }

    fn end_walk(&mut self, now: Time, core: &mut Core<B>, walk: &Walk) {
        match walk.task {
            Task::Rebuild(drive) if !walk.is_cancelled => {
                core.drives.set_presence(drive, Presence::InSync);
                core.write_record(now);
            }
            Task::Resync => self.resynced(now, core),
            _ => {}
        }
    }
}

impl Walk {
    /// Marks a unit as done and removes completed ones from the front.
    fn done(&mut self, unit: u64) {
        let first = self.next - self.under_way.len() as u64;
        self.under_way[to_usize(unit - first)] = true;
        while self.under_way.front() == Some(&true) {
            self.under_way.pop_front();
        }
    }
}
