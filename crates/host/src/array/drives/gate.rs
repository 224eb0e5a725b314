//! The gate of a drive that shares a heavy-I/O token with others: writes, trims, flushes, and bulk reads of
//! the layout wait here for the token and are sent in the drive's epoch.
//!
//! Flushes are never sent on: an epoch ends with one if the drive holds data that is not durable, and that
//! one completes all waiting flushes. Data that a layout holds back until the token arrives, to write it in
//! larger pieces, is announced with [`Drives::keep`].
//!
//! A drive that is being rebuilt serves no reads that need protection: it has no gate before it is in sync.
//! The array's superblock passes any gate: it records which drives are reliable.

use super::{Answered, Ask, Drives, Flight, Owner, Presence, Priority, Waiting};
use crate::array::DriveId;
use crate::array::token_scheduling::{Calls, Pace, Progress, Stage, StageTimes};
use crate::mutation::{Invariant, holds};
use crate::placement::WriteKind;
use std::collections::VecDeque;
use tailcut_base::{Class, Nanos, Op, Spans, Status, Time};

/// The gate of one drive.
#[derive(Debug)]
pub struct Gate<B> {
    /// The stage of the drive's epoch, and the time spent in each.
    pub progress: Progress,
    /// Waiting requests, in order of arrival.
    held: VecDeque<Waiting<B>>,
    /// How many of them this epoch may send.
    quota: usize,
    /// Waiting flushes.
    flushes: Vec<Waiting<B>>,
    /// Blocks held back by the layout.
    pub kept: usize,
    /// When the next epoch of the drive is due; [`Time::NEVER`] while none is.
    pub due: Time,
    /// Counts the epochs.
    epoch: u32,
    /// Requests of this epoch in flight or waiting for their place on the drive.
    heavy: u32,
    /// Reads outstanding on the drive, and those of them that this epoch waits for.
    reads: u32,
    draining: u32,
    /// Last time at which a request of this epoch may start, except for the first.
    end: Time,
    has_sent: bool,
    /// The drive may hold data that is not durable.
    is_dirty: bool,
    /// Blocks written to the drive in the epoch under way.
    pub written: usize,
    /// Estimate of the blocks that the drive can write in an epoch.
    pub pace: Pace,
    /// Control calls that make the drive collect garbage and wait until it has quiesced.
    pub calls: Calls,
    /// It is in the list of changed gates.
    is_listed: bool,
}

/// Epoch number of requests that belong to no epoch.
pub(super) const NO_EPOCH: u32 = 0;

impl<B> Gate<B> {
    fn new() -> Gate<B> {
        Gate {
            progress: Progress::default(),
            held: VecDeque::new(),
            quota: 0,
            flushes: Vec::new(),
            kept: 0,
            due: Time::NEVER,
            epoch: NO_EPOCH + 1,
            heavy: 0,
            reads: 0,
            draining: 0,
            end: Time::ZERO,
            has_sent: false,
            is_dirty: false,
            written: 0,
            pace: Pace::default(),
            calls: Calls::default(),
            is_listed: false,
        }
    }

    /// True if an epoch would have work.
    pub fn has_work(&self) -> bool {
        self.kept > 0 || !self.held.is_empty() || !self.flushes.is_empty()
    }

    /// True if reads should avoid the drive.
    #[inline]
    pub fn is_taken(&self) -> bool {
        self.progress.is_busy()
    }

    /// True while reads that this epoch waits for are outstanding.
    pub fn is_draining(&self) -> bool {
        self.draining > 0
    }

    /// True if no request of this epoch is in flight.
    pub fn is_idle(&self) -> bool {
        self.heavy == 0
    }

    fn may_send(&self, now: Time) -> bool {
        self.progress.stage() == Stage::Writing && (now < self.end || !self.has_sent)
    }
}

impl<B> Drives<B> {
    /// Adds gates to all drives. An epoch is due `delay` after a request has arrived at an idle gate.
    pub fn set_gates(&mut self, delay: Nanos) {
        self.delay = delay;
        self.members.iter_mut().for_each(|member| member.gate = Some(Box::new(Gate::new())));
    }

    /// True if heavy requests must wait for the token.
    #[inline]
    pub fn is_gated(&self, drive: DriveId) -> bool {
        let member = &self.members[drive];
        member.gate.is_some() && member.presence == Presence::InSync
    }

    /// True if reads should avoid a drive because it has the token.
    #[inline]
    pub fn is_taken(&self, drive: DriveId) -> bool {
        self.members[drive].gate.as_ref().is_some_and(|gate| gate.is_taken())
    }

    /// True if the layout may send held data.
    #[inline]
    pub fn may_write(&self, now: Time, drive: DriveId) -> bool {
        !self.is_gated(drive) || self.gate(drive).may_send(now)
    }

    /// The gate of a drive.
    ///
    /// # Panics
    /// If the drive has no gate.
    pub fn gate(&self, drive: DriveId) -> &Gate<B> {
        self.members[drive].gate.as_ref().expect("it has a gate")
    }

    /// The gate of a drive, mutable.
    ///
    /// # Panics
    /// If the drive has no gate.
    pub fn gate_mut(&mut self, drive: DriveId) -> &mut Gate<B> {
        self.members[drive].gate.as_mut().expect("it has a gate")
    }

    /// Host reads sent to a drive with the token.
    pub fn met(&self) -> u64 {
        self.met
    }

    /// Time per stage of epochs, summed over the drives.
    pub fn stage_times(&self) -> StageTimes {
        let gates = self.members.iter().filter_map(|member| member.gate.as_ref());
        gates.map(|gate| gate.progress.times()).fold(StageTimes::default(), StageTimes::plus)
    }

    /// The layout holds `blocks` more blocks back for a drive with a gate.
    pub fn keep(&mut self, now: Time, drive: DriveId, blocks: u32) {
        if blocks > 0 {
            self.gate_mut(drive).kept += blocks as usize;
            self.wait_from(now, drive);
        }
    }

    /// The layout is about to send `blocks` of the held blocks.
    ///
    /// # Panics
    /// If the drive has no gate, or fewer than `blocks` are held back there.
    pub fn release(&mut self, drive: DriveId, blocks: u32) {
        let gate = self.gate_mut(drive);
        gate.kept = gate.kept.checked_sub(blocks as usize).expect("they were kept back");
    }

    /// A request waits for the data held at a drive's gate: makes its epoch due.
    pub fn hurry(&mut self, now: Time, drive: DriveId) {
        if self.is_gated(drive) && self.gate(drive).has_work() {
            let gate = self.gate_mut(drive);
            gate.due = gate.due.min(now);
            self.list(drive);
        }
    }

    fn wait_from(&mut self, now: Time, drive: DriveId) {
        let due = now + self.delay;
        let gate = self.gate_mut(drive);
        gate.due = gate.due.min(due);
        self.list(drive);
    }

    /// Lists a drive whose gate has changed, for the token machine.
    pub(in crate::array) fn list(&mut self, drive: DriveId) {
        if !std::mem::replace(&mut self.gate_mut(drive).is_listed, true) {
            self.changed.push(drive);
        }
    }

    /// The next drive whose gate has changed.
    pub(in crate::array) fn next_changed(&mut self) -> Option<DriveId> {
        let drive = self.changed.pop()?;
        self.gate_mut(drive).is_listed = false;
        Some(drive)
    }

    /// Sends a request to a drive, or holds it until the token arrives.
    #[inline]
    pub(super) fn ask_at_gate(&mut self, now: Time, drive: DriveId, urgency: Priority, waiting: Waiting<B>) {
        if !waiting.is_heavy || !self.is_gated(drive) {
            return self.ask_now(now, drive, urgency, waiting);
        }
        if waiting.ask.op != Op::Flush {
            self.gate_mut(drive).held.push_back(waiting);
        } else if self.gate(drive).is_dirty {
            self.gate_mut(drive).flushes.push(waiting);
            self.gate_mut(drive).due = now;
        } else {
            return self.answer(drive, waiting, Status::Success);
        }
        self.wait_from(now, drive);
    }

    /// Counts a request that is sent to a drive or waits for a slot there.
    pub(super) fn note_begin(&mut self, now: Time, drive: DriveId, waiting: &mut Waiting<B>) {
        waiting.is_heavy &= self.is_gated(drive);
        let Some(gate) = &mut self.members[drive].gate else { return };
        if waiting.is_heavy {
            gate.heavy += 1;
            gate.has_sent = true;
            gate.pace.write(now);
        } else if waiting.ask.op == Op::Read {
            gate.reads += 1;
        }
        waiting.epoch = gate.epoch;
    }

    /// A request of the drive's current life has completed.
    pub(super) fn note_end(&mut self, now: Time, flight: &Flight, status: Status) {
        let Some(gate) = &mut self.members[flight.drive].gate else { return };
        let is_of_epoch = flight.epoch == gate.epoch;
        if flight.is_heavy && is_of_epoch {
            gate.heavy -= 1;
            gate.is_dirty |= status == Status::Success && !matches!(flight.op, Op::Flush | Op::Read);
            gate.written += if flight.op == Op::Write { flight.blocks as usize } else { 0 };
        } else if !flight.is_heavy && flight.op == Op::Read {
            gate.reads -= 1;
            if is_of_epoch || gate.progress.stage() != Stage::Draining {
                return;
            }
            gate.draining -= 1;
        } else if !gate.progress.is_busy() && gate.has_work() {
            gate.due = now;
        } else {
            return;
        }
        self.list(flight.drive);
    }

    /// A request that waited for a slot on the drive is failed.
    pub(super) fn note_bounce(&mut self, drive: DriveId, waiting: &Waiting<B>) {
        if let Some(gate) = &mut self.members[drive].gate
            && !waiting.is_heavy
            && waiting.ask.op == Op::Read
        {
            gate.reads -= 1;
        }
    }

    /// Starts the epoch of a drive with the drain of its outstanding reads.
    pub(in crate::array) fn begin_epoch(&mut self, now: Time, drive: DriveId) {
        let gate = self.gate_mut(drive);
        assert!(!gate.progress.is_busy() && gate.heavy == 0, "it had no token");
        gate.epoch = gate.epoch.wrapping_add(1).max(NO_EPOCH + 1);
        gate.progress.enter(now, Stage::Draining);
        (gate.draining, gate.written) = (gate.reads, 0);
        (gate.quota, gate.due, gate.has_sent) = (gate.held.len(), Time::NEVER, false);
        self.list(drive);
    }

    /// Starts the writes of the epoch, until `end`: held requests first.
    pub(in crate::array) fn begin_writing(&mut self, now: Time, drive: DriveId, end: Time) {
        let gate = self.gate_mut(drive);
        gate.progress.enter(now, Stage::Writing);
        gate.end = end;
        self.send_held(now, drive);
        self.list(drive);
    }

    /// Sends held requests as far as the drive accepts them at once, but at least one: the end of the epoch
    /// is checked in between, and every epoch makes progress.
    pub(in crate::array) fn send_held(&mut self, now: Time, drive: DriveId) {
        loop {
            let member = &self.members[drive];
            let gate = self.gate(drive);
            let is_full = member.in_flight >= member.depth && !gate.is_idle();
            if gate.quota == 0 || !gate.may_send(now) || is_full {
                return;
            }
            let gate = self.gate_mut(drive);
            gate.quota -= 1;
            let waiting = gate.held.pop_front().expect("it was there when the epoch began");
            self.ask_now(now, drive, Priority::Write, waiting);
        }
    }

    /// Flushes a drive if it holds data that is not durable; false if not.
    pub(in crate::array) fn flush_epoch(&mut self, now: Time, drive: DriveId) -> bool {
        let has_cache = self.members[drive].disk.volatile_cache;
        let gate = self.gate_mut(drive);
        gate.progress.enter(now, Stage::Flushing);
        if !gate.is_dirty || !has_cache || !holds(Invariant::EpochsAreFlushed) {
            return false;
        }
        let (op, class, data) = (Op::Flush, Class::DEFAULT, Vec::new());
        let ask =
            Ask { op, fua: false, fail_fast: false, class, kind: WriteKind::Data, block: 0, blocks: 0, data };
        let owner = Owner::Epoch(gate.epoch);
        let waiting = Waiting { since: now, is_heavy: true, epoch: NO_EPOCH, owner, ask, is_retry: false };
        self.ask_now(now, drive, Priority::Write, waiting);
        true
    }

    /// True if a flush belongs to the drive's current epoch.
    pub(in crate::array) fn is_epoch(&self, drive: DriveId, epoch: u32) -> bool {
        self.gate(drive).epoch == epoch
    }

    /// The flush of an epoch has completed, successfully or not: completes the waiting flushes.
    pub(in crate::array) fn flushed_epoch(&mut self, drive: DriveId, status: Status) {
        let gate = self.gate_mut(drive);
        gate.is_dirty &= status != Status::Success;
        for waiting in std::mem::take(&mut gate.flushes) {
            self.answer(drive, waiting, status);
        }
    }

    /// The drive is done with the token.
    pub(in crate::array) fn end_epoch(&mut self, now: Time, drive: DriveId, share: Nanos) {
        let gate = self.gate_mut(drive);
        let collected = gate.calls.take_collected();
        gate.pace.end(now, share, collected);
        gate.progress.enter(now, Stage::Rest);
        gate.quota = 0;
        if !gate.has_work() || !gate.has_sent {
            // The requests left wait for ones sent before the drive had a gate.
            gate.due = Time::NEVER;
        } else if gate.due == Time::NEVER {
            // The requests left have waited long enough.
            gate.due = now;
        }
    }

    /// The state of a drive has changed: if it is missing, its held requests fail. Data written to it without
    /// a gate may not be durable.
    pub(super) fn reset_gate(&mut self, drive: DriveId) {
        let is_gone = self.members[drive].presence == Presence::Missing;
        let Some(gate) = &mut self.members[drive].gate else { return };
        gate.is_dirty = true;
        if !is_gone {
            return;
        }
        let held: Vec<Waiting<B>> = gate.held.drain(..).chain(gate.flushes.drain(..)).collect();
        (gate.kept, gate.quota, gate.due) = (0, 0, Time::NEVER);
        (gate.heavy, gate.draining) = (0, 0);
        gate.epoch = gate.epoch.wrapping_add(1).max(NO_EPOCH + 1);
        gate.calls.forget();
        held.into_iter().for_each(|waiting| self.bounce(drive, waiting));
        self.list(drive);
    }

    /// Another drive has this place: it has no outstanding requests.
    pub(super) fn renew_gate(&mut self, drive: DriveId) {
        if let Some(gate) = &mut self.members[drive].gate {
            (gate.reads, gate.pace) = (0, Pace::default());
        }
    }

    /// Completes a request without sending it to the drive.
    pub(super) fn answer(&mut self, drive: DriveId, waiting: Waiting<B>, status: Status) {
        let Waiting { owner, ask, .. } = waiting;
        let (op, fua, block, blocks, data) = (ask.op, ask.fua, ask.block, ask.blocks, ask.data);
        let (busy_for, spans) = (Nanos::ZERO, Spans::new());
        self.bounced.push_back(Answered {
            owner,
            drive,
            op,
            fua,
            block,
            blocks,
            status,
            data,
            busy_for,
            spans,
        });
    }
}
