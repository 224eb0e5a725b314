//! The tokens of an array whose drives have gates: of drives that are redundant to each other, one at a time
//! writes, flushes and collects.
//!
//! An epoch takes the requests waiting at its drive's gate when it starts, as far as its share of the
//! deadline permits, and ends with a flush. Drives without waiting requests are skipped.

use super::{EpochFigures, Next, Stage, TokenRotation, stage_of};
use crate::array::ArrayConfig;
use crate::array::drives::Drives;
use crate::array::epoch::EpochMode;
use crate::array::{Column, DriveId, GroupId, RGroups};
use tailcut_base::cast::to_u32;
use tailcut_base::control::{Control, ControlReply};
use tailcut_base::ids::{Id, IdVec};
use tailcut_base::timers::Timers;
use tailcut_base::{Nanos, Status, Time};

/// The tokens: one per R-group.
#[derive(Debug)]
pub struct Tokens {
    turns: IdVec<GroupId, TokenRotation>,
    /// The division of drives into R-groups.
    groups: RGroups,
    /// Timers of the groups.
    timers: Timers,
    /// Longest permitted epoch.
    share: Nanos,
    deadline: Nanos,
    /// Time from the first request at a drive's gate until its epoch is due.
    delay: Nanos,
    poll: Nanos,
    has_control: bool,
    figures: EpochFigures,
}

impl Tokens {
    /// The tokens of an array, one per R-group.
    pub fn new(array: &ArrayConfig) -> Tokens {
        let (config, groups, width) = (&array.epoch, array.groups as usize, array.width());
        let layout = RGroups::new(width);
        let turn =
            |group: GroupId| TokenRotation::new(layout.drives(group).map(|drive| vec![drive]).collect());
        Tokens {
            turns: GroupId::first(groups).map(turn).collect(),
            groups: layout,
            timers: Timers::new(groups),
            share: config.share(to_u32(width)),
            deadline: config.deadline,
            delay: config.delay,
            poll: config.poll,
            has_control: config.mode == EpochMode::GcControl,
            figures: EpochFigures::default(),
        }
    }

    /// Counters of the epochs since the array was created or opened, or since its preparation.
    pub fn figures(&self) -> &EpochFigures {
        &self.figures
    }

    /// Sets the longest epoch and the longest wait to zero.
    pub fn forget_longest(&mut self) {
        self.figures.forget_longest();
    }

    /// Longest permitted epoch of a drive, so that every drive of its R-group gets the token within the
    /// deadline.
    pub fn share(&self) -> Nanos {
        self.share
    }

    /// Estimated time to write a block to one of the drives of a group.
    pub fn interval(&self, group: GroupId) -> Nanos {
        self.turns[group].interval()
    }

    /// The drive of a group that has its token.
    pub fn holder(&self, group: GroupId) -> Option<DriveId> {
        self.turns[group].holders().first().copied()
    }

    /// `blocks` blocks have waited for the token for `wait`.
    pub fn note_wait(&mut self, wait: Nanos, blocks: u64, deadline: Nanos) {
        self.figures.longest_wait = self.figures.longest_wait.max(wait);
        self.figures.late += if wait > deadline { blocks } else { 0 };
    }

    /// When the next timer expires.
    pub fn next_event(&self) -> Time {
        self.timers.next()
    }

    /// Runs the timers that have expired by `now`: epochs that are due, and polls of drives that quiesce.
    pub fn advance<B>(&mut self, now: Time, drives: &mut Drives<B>) {
        while let Some((at, group)) = self.timers.first()
            && at <= now
        {
            let group = GroupId::at(group);
            if self.turns[group].take_poll(now)
                && let Some(drive) = self.holder(group)
                && let Some(call) = drives.gate_mut(drive).calls.poll(&mut self.figures)
            {
                drives.control(drive, call);
            }
            self.pass_on(now, drives, group);
        }
    }

    /// Advances all epochs as far as possible. Returns the next drive that may be written, for which its
    /// layout may hold data.
    pub fn run<B>(&mut self, now: Time, drives: &mut Drives<B>) -> Option<DriveId> {
        while let Some(drive) = drives.next_changed() {
            let may_begin = self.resume(now, drives, drive);
            self.pass_on(now, drives, self.groups.group_of(drive));
            if may_begin {
                return Some(drive);
            }
        }
        None
    }

    /// Advances the epoch of a drive; true if its writes begin.
    fn resume<B>(&mut self, now: Time, drives: &mut Drives<B>, drive: DriveId) -> bool {
        let group = self.groups.group_of(drive);
        let gate = drives.gate(drive);
        match gate.progress.stage() {
            Stage::Rest => {
                self.turns[group].expect(gate.due);
                false
            }
            _ if !drives.is_gated(drive) => {
                self.end(now, drives, drive);
                false
            }
            Stage::Draining if !gate.is_draining() => {
                self.begin_writing(now, drives, drive);
                true
            }
            Stage::Writing => {
                drives.send_held(now, drive);
                self.end_writing(now, drives, drive);
                false
            }
            _ => false,
        }
    }

    fn begin_writing<B>(&mut self, now: Time, drives: &mut Drives<B>, drive: DriveId) {
        let began = self.turns[self.groups.group_of(drive)].began();
        let pace = &mut drives.gate_mut(drive).pace;
        pace.begin(now, now.since(began), self.share);
        let end = began + pace.last_write(self.share);
        drives.begin_writing(now, drive, end);
    }

    /// Flushes a drive whose writes of the epoch have completed.
    fn end_writing<B>(&mut self, now: Time, drives: &mut Drives<B>, drive: DriveId) {
        if drives.gate(drive).is_idle() && !drives.flush_epoch(now, drive) {
            self.settle(now, drives, drive, Status::Success);
        }
    }

    /// The flush at the end of an epoch has completed.
    pub fn flushed<B>(
        &mut self,
        now: Time,
        drives: &mut Drives<B>,
        drive: DriveId,
        epoch: u32,
        status: Status,
    ) {
        if drives.is_epoch(drive, epoch) {
            self.settle(now, drives, drive, status);
            self.pass_on(now, drives, self.groups.group_of(drive));
        }
    }

    /// Handles the end of an epoch's writes: they are durable, or the flush has failed.
    fn settle<B>(&mut self, now: Time, drives: &mut Drives<B>, drive: DriveId, status: Status) {
        let group = self.groups.group_of(drive);
        drives.flushed_epoch(drive, status);
        let (groups, delay) = (self.groups, self.delay);
        let since = |member: usize| {
            let due = drives.gate(groups.drive(group, Column::at(member))).due;
            (due != Time::NEVER).then(|| Time(due.0.saturating_sub(delay.0)))
        };
        let limit = self.turns[group].limit(since, self.deadline, self.share);
        let gate = drives.gate_mut(drive);
        self.turns[group].settle(gate.written as u64);
        self.figures.written += gate.written as u64;
        gate.pace.learn(now, gate.written);
        if !self.has_control || !gate.calls.are_known() {
            return self.end(now, drives, drive);
        }
        let began = self.turns[group].began();
        let (until, end) = gate.pace.collection(now, began, self.share, limit);
        let call = gate.calls.begin(now, until, end, &mut self.figures);
        call_to(now, drives, drive, call);
    }

    /// Handles a drive's reply to a control call.
    pub fn replied<B>(
        &mut self,
        now: Time,
        drives: &mut Drives<B>,
        drive: DriveId,
        call: Control,
        reply: ControlReply,
    ) {
        let group = self.groups.group_of(drive);
        match drives.gate_mut(drive).calls.replied(now, call, reply, &mut self.figures) {
            Next::Ask(call) => call_to(now, drives, drive, call),
            Next::Poll => self.turns[group].poll_at(now + self.poll),
            Next::Done => self.end(now, drives, drive),
            Next::Nothing => {}
        }
        self.pass_on(now, drives, group);
    }

    fn end<B>(&mut self, now: Time, drives: &mut Drives<B>, drive: DriveId) {
        drives.end_epoch(now, drive, self.share);
        let turn = &mut self.turns[self.groups.group_of(drive)];
        let took = now.since(turn.began());
        assert!(turn.less(now), "one drive has a token");
        turn.learn(took, (1, 1));
        self.figures.longest_epoch = self.figures.longest_epoch.max(took);
    }

    /// Passes the token of a group on, if it is free and some drive is due.
    fn pass_on<B>(&mut self, now: Time, drives: &mut Drives<B>, group: GroupId) {
        let groups = self.groups;
        let turn = &mut self.turns[group];
        while turn.is_due(now) {
            let gates = &*drives;
            let is_due = |member: usize| {
                let drive = groups.drive(group, Column::at(member));
                let gate = gates.gate(drive);
                gates.is_gated(drive) && gate.has_work() && gate.due <= now
            };
            match turn.next(is_due) {
                Some(member) => {
                    turn.begin(now, member);
                    self.figures.epochs += 1;
                    drives.begin_epoch(now, groups.drive(group, Column::at(member)));
                }
                None => {
                    let dues = groups.drives(group).map(|drive| drives.gate(drive).due);
                    let due = dues.min().unwrap_or(Time::NEVER);
                    assert!(due > now, "who is due gets the token");
                    turn.set_due(due);
                }
            }
        }
        self.timers.set_or_clear(group.index(), turn.next_due().min(turn.next_poll()));
    }
}

fn call_to<B>(now: Time, drives: &mut Drives<B>, drive: DriveId, call: Control) {
    drives.gate_mut(drive).progress.enter(now, stage_of(call));
    drives.control(drive, call);
}
