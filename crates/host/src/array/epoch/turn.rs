//! The token: which group holds it, when an epoch starts, and when it ends.

use super::mutation::{Invariant, holds};
use super::{Epochs, RequestPurpose};
use crate::Block;
use crate::array::DriveId;
use crate::array::core::Core;
use crate::array::drives::{Answered, Ask, Owner, Priority};
use crate::array::token_scheduling::Stage;
use crate::placement::WriteKind;
use tailcut_base::{Class, Op, Status, Time};

/// Concurrent batches per drive.
const BATCHES: u32 = 2;

impl<B: Block> Epochs<B> {
    /// When an epoch may have to start or a drive must be polled.
    pub(super) fn next_epoch(&self) -> Time {
        let due = if self.is_serving() { self.turn.next_due() } else { Time::NEVER };
        due.min(self.turn.next_poll())
    }

    /// Passes the token on, if it is free and a group is due.
    pub(super) fn consider(&mut self, now: Time, core: &mut Core<B>) {
        while self.turn.is_due(now) && self.is_serving() {
            match self.turn.next(|group| self.is_due(now, group)) {
                Some(group) => self.begin_epoch(now, core, group),
                None => self.turn.set_due(self.next_due()),
            }
        }
    }

    fn is_due(&self, now: Time, group: usize) -> bool {
        let is_awaited = self.admission.is_waiting();
        self.turn.members(group).iter().map(|&drive| &self.lines[drive]).any(|line| {
            let is_old = || line.oldest().is_some_and(|since| since + self.delay <= now);
            line.has_work() && (is_awaited || line.is_awaited() || is_old())
        })
    }

    fn next_due(&self) -> Time {
        let with_work = self.lines.iter().filter(|line| line.has_work());
        let oldest = with_work.filter_map(|line| line.oldest()).min();
        oldest.map_or(Time::NEVER, |since| since + self.delay)
    }

    /// When the oldest copy in a group began to wait for the token.
    pub(super) fn waits_since(&self, group: usize) -> Option<Time> {
        self.turn.members(group).iter().filter_map(|&drive| self.lines[drive].oldest()).min()
    }

    fn begin_epoch(&mut self, now: Time, core: &mut Core<B>, group: usize) {
        self.turn.begin(now, group);
        self.figures.epochs += 1;
        for index in 0..self.turn.members(group).len() {
            let drive = self.turn.members(group)[index];
            let line = &mut self.lines[drive];
            if !line.has_work() {
                continue;
            }
            line.quota = line.len();
            self.turn.more();
            self.begin_line(now, core, drive);
        }
        self.working_less(now);
    }

    /// A drive with the token enters a stage, or is done with the token: then it serves reads while others of
    /// its group continue.
    pub(super) fn enter(&mut self, now: Time, core: &mut Core<B>, drive: DriveId, stage: Stage) {
        self.lines[drive].progress.enter(now, stage);
        core.drives.set_at_work(drive, stage != Stage::Rest);
    }

    /// A drive with the token starts its work once it has completed its outstanding reads, which writes would
    /// delay.
    fn begin_line(&mut self, now: Time, core: &mut Core<B>, drive: DriveId) {
        if self.lines[drive].reads > 0 {
            self.enter(now, core, drive, Stage::Draining);
        } else {
            self.begin_writing(now, core, drive);
        }
    }

    /// A drive has completed a read that it received without the token.
    pub(super) fn drained(&mut self, now: Time, core: &mut Core<B>, drive: DriveId) {
        let line = &mut self.lines[drive];
        line.reads -= 1;
        if line.reads == 0 && line.progress.stage() == Stage::Draining {
            self.begin_writing(now, core, drive);
        }
    }

    fn begin_writing(&mut self, now: Time, core: &mut Core<B>, drive: DriveId) {
        self.enter(now, core, drive, Stage::Writing);
        let line = &mut self.lines[drive];
        line.pace.begin(now, now.since(self.turn.began()), self.share);
        self.write_on(now, core, drive);
    }

    /// Starts further writes, or ends the writing stage.
    pub(super) fn write_on(&mut self, now: Time, core: &mut Core<B>, drive: DriveId) {
        if self.lines[drive].progress.stage() != Stage::Writing {
            return;
        }
        let end = self.turn.began() + self.lines[drive].pace.last_write(self.share);
        while self.lines[drive].batches < BATCHES {
            let line = &self.lines[drive];
            let has_begun = line.batches > 0 || !line.written.is_empty();
            if now >= end && has_begun || !self.next_batch(now, core, drive) {
                break;
            }
            self.lines[drive].pace.write(now);
        }
        let line = &self.lines[drive];
        if line.progress.stage() == Stage::Writing && line.batches == 0 && !line.is_held {
            self.flush_drive(now, core, drive);
        }
    }

    fn flush_drive(&mut self, now: Time, core: &mut Core<B>, drive: DriveId) {
        self.enter(now, core, drive, Stage::Flushing);
        let line = &mut self.lines[drive];
        line.quota = 0;
        if line.written.is_empty()
            || !core.drives.disk(drive).volatile_cache
            || !holds(Invariant::FlushEpochs)
        {
            return self.settle(now, core, drive, true);
        }
        let (op, class, data) = (Op::Flush, Class::DEFAULT, Vec::new());
        let ask =
            Ask { op, fua: false, fail_fast: false, class, kind: WriteKind::Data, block: 0, blocks: 0, data };
        let owner = Owner::Layout(RequestPurpose::Flush(drive).pack());
        line.flushed_life = line.life;
        core.drives.ask(now, drive, Priority::Write, owner, ask);
    }

    /// The flush of a drive has completed, successfully or not.
    pub(super) fn flushed(&mut self, now: Time, core: &mut Core<B>, drive: DriveId, answer: &Answered<B>) {
        let line = &self.lines[drive];
        let is_good = answer.status == Status::Success && line.flushed_life == line.life;
        self.settle(now, core, drive, is_good);
    }

    /// The writes of an epoch are durable, or must be repeated.
    fn settle(&mut self, now: Time, core: &mut Core<B>, drive: DriveId, is_good: bool) {
        let mut written = std::mem::take(&mut self.lines[drive].written);
        let count = written.len();
        self.turn.settle(count as u64);
        for done in written.drain(..) {
            if is_good {
                let state = self.cache.copy(done.copy);
                (state.sent, state.durable) = (0, done.mark);
                self.leave_if_done(now, core, done.copy.entry());
            } else {
                self.undo(now, core, done.copy);
            }
        }
        let line = &mut self.lines[drive];
        line.written = written;
        if is_good {
            line.settle();
            line.pace.learn(now, count);
        }
        self.release_waiting(now, core, drive);
        if self.has_control && self.lines[drive].calls.are_known() && core.drives.is_present(drive) {
            self.collect(now, core, drive);
        } else {
            self.line_done(now, core, drive);
        }
    }

    /// A drive is done with the token.
    pub(super) fn line_done(&mut self, now: Time, core: &mut Core<B>, drive: DriveId) {
        self.enter(now, core, drive, Stage::Rest);
        let line = &mut self.lines[drive];
        line.quota = 0;
        let collected = line.calls.take_collected();
        line.pace.end(now, self.share, collected);
        self.working_less(now);
        self.advance_walk(now, core);
    }

    fn working_less(&mut self, now: Time) {
        if !self.turn.less(now) {
            return;
        }
        let began = self.turn.began();
        for &drive in self.turn.last_members() {
            self.figures.waiting += self.lines[drive].progress.rested(now, began);
        }
        let took = now.since(began);
        self.figures.longest_epoch = self.figures.longest_epoch.max(took);
        self.turn.learn(took, (self.shape.copies.count as u64, 1));
    }
}
