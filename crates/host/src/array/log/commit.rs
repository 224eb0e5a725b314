//! Commits: make appended data durable.
//!
//! A commit covers the batch with a descriptor, pads its last stripe, waits until all of that is written, and
//! flushes the drives. Commits requested while one is in progress share the next one.

use super::Log;
use super::descriptor::Aged;
use super::open_row::OpenRowId;
use super::stream::{BEGUN_MAX, HOST};
use super::token::Token;
use crate::Block;
use crate::array::DriveId;
use crate::array::core::Core;
use crate::array::drives::{Answered, Ask, Owner, Priority};
use crate::array::requests::RequestSlot;
use crate::placement::WriteKind;
use tailcut_base::cast::to_u8;
use tailcut_base::{Cause, Class, Op, Spans, Status, Time};

/// A waiter for a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Waiter {
    /// A request of the host.
    Host(RequestSlot),
    /// Victims whose blocks have been moved.
    Collection,
    /// A checkpoint.
    Checkpoint,
}

/// Progress of a commit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    #[default]
    Idle,
    /// These stripes of this row must be complete, and all rows before it.
    Writing { row: Aged, stripes: u32 },
    /// Number of drives that have not been flushed.
    Flushing(u32),
}

/// The commits of a stream.
#[derive(Debug, Default)]
pub(super) struct Commit {
    phase: Phase,
    /// Rows that the current commit covers.
    begun: u32,
    waiting: Vec<Waiter>,
    next: Vec<Waiter>,
}

impl<B: Block> Log<B> {
    /// Makes all data appended by a stream durable, and notifies `waiter` then.
    pub(super) fn commit(&mut self, now: Time, core: &mut Core<B>, stream: usize, waiter: Waiter) {
        let commit = &mut self.streams[stream].commit;
        if commit.phase != Phase::Idle {
            commit.next.push(waiter);
            return;
        }
        commit.waiting.push(waiter);
        self.begin_commit(now, core, stream);
    }

    /// Commits from time to time without a request for it.
    pub(super) fn commit_at_times(&mut self, now: Time, core: &mut Core<B>, stream: usize) {
        let this = &self.streams[stream];
        if this.begun >= BEGUN_MAX / 16 && this.commit.phase == Phase::Idle {
            self.begin_commit(now, core, stream);
        }
    }

    fn begin_commit(&mut self, now: Time, core: &mut Core<B>, stream: usize) {
        self.streams[stream].commit.begun = self.streams[stream].begun;
        if !self.streams[stream].batch.is_empty() {
            self.describe(core, stream, None);
        }
        self.pad(stream);
        let row = self.open_row(stream);
        let phase = Phase::Writing { row: row.here, stripes: row.stripes() };
        self.streams[stream].commit.phase = phase;
        self.send(now, core, stream);
        if self.has_tokens {
            self.hurry(now, core, stream);
        }
        self.commit_on(now, core, stream);
    }

    /// Advances a commit whose blocks may be written by now.
    pub(super) fn commit_on(&mut self, now: Time, core: &mut Core<B>, stream: usize) {
        let Phase::Writing { row, stripes } = self.streams[stream].commit.phase else { return };
        let is_before = |&id: &OpenRowId| {
            let closing = &self.open_rows[id];
            closing.here.age < row.age || closing.here == row && closing.complete < stripes
        };
        let open = self.open_row(stream);
        let is_incomplete = open.here == row && open.complete < stripes;
        if is_incomplete || self.streams[stream].closing.iter().any(is_before) {
            return;
        }
        let dirty = std::mem::take(&mut self.streams[stream].dirty);
        let mut pending = 0;
        for drive in dirty.ids().filter(|&drive| dirty[drive]) {
            if core.drives.is_present(drive) && core.drives.disk(drive).volatile_cache {
                self.flush(now, core, drive, Token::Flush { stream: to_u8(stream) });
                pending += 1;
            }
        }
        self.streams[stream].dirty = dirty;
        self.streams[stream].dirty.as_mut_slice().fill(false);
        self.streams[stream].commit.phase = Phase::Flushing(pending);
        if pending == 0 {
            self.committed(now, core, stream);
        }
    }

    /// Flushes a drive.
    pub(super) fn flush(&mut self, now: Time, core: &mut Core<B>, drive: DriveId, token: Token) {
        let class = Class::DEFAULT;
        let (op, data) = (Op::Flush, Vec::new());
        let ask =
            Ask { op, fua: false, fail_fast: false, class, kind: WriteKind::Data, block: 0, blocks: 0, data };
        core.drives.ask(now, drive, Priority::Write, Owner::Layout(token.into()), ask);
    }

    /// The flush of a drive has completed.
    pub(super) fn flushed(&mut self, now: Time, core: &mut Core<B>, stream: usize, answer: &Answered<B>) {
        if self.judge(core, answer) != Status::Success {
            self.streams[stream].has_failed = true;
        }
        let Phase::Flushing(pending) = &mut self.streams[stream].commit.phase else {
            unreachable!("a commit waits for it")
        };
        *pending -= 1;
        if *pending == 0 {
            self.committed(now, core, stream);
        }
    }

    fn committed(&mut self, now: Time, core: &mut Core<B>, stream: usize) {
        let commit = &mut self.streams[stream].commit;
        commit.phase = Phase::Idle;
        let begun = std::mem::take(&mut commit.begun);
        let waiting = std::mem::take(&mut commit.waiting);
        commit.waiting = std::mem::take(&mut commit.next);
        self.streams[stream].begun -= begun;
        let goes_on = !commit.waiting.is_empty();
        for waiter in waiting {
            self.told(now, core, waiter);
        }
        if goes_on && self.streams[stream].commit.phase == Phase::Idle {
            self.begin_commit(now, core, stream);
        }
    }

    fn told(&mut self, now: Time, core: &mut Core<B>, waiter: Waiter) {
        match waiter {
            Waiter::Host(slot) => {
                core.requests.account_cause(now, slot, Cause::Flush);
                // Drives that are gone were not flushed; redundancy covers them only while the log has not
                // failed.
                let is_durable = self.failed.is_none() && !self.streams[HOST].has_failed;
                let status = if is_durable { Status::Success } else { Status::MediaError };
                core.part_done(now, slot, status, &Spans::new());
            }
            Waiter::Collection => self.barrier_done(now, core),
            Waiter::Checkpoint => self.checkpoint_committed(now, core),
        }
    }
}
