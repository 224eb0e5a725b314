//! What happens next, and where it goes: from the drives to the subject, from the subject to drives and host.

use super::{End, Fuse, Harness};
use crate::drive::{Drive, Moment};
use crate::plan::Metadata;
use crate::subject::Subject;
use crate::tally::Reached;
use std::cmp::Reverse;
use tailcut_base::{Nanos, Op, Status, Time};
use tailcut_host::array::log::is_checkpoint;
use tailcut_host::array::superblock::SUPERBLOCK_BLOCKS;
use tailcut_host::{Block, Bytes, Request};

impl<'r, S: Subject> Harness<'r, S> {
    /// The next event; false when there is none.
    pub(super) fn step(&mut self) -> Result<bool, End> {
        let command = self.due.peek().map_or(Time::NEVER, |&Reverse((at, ..))| at);
        let (flash, drive) = self.next_of_flash();
        let own = self.subject.inner().next_event();
        let next = command.min(own).min(flash);
        if next == Time::NEVER {
            return Ok(false);
        }
        self.events += 1;
        if self.events - self.events_before > EVENTS {
            self.stuck(format!("no end in sight after {EVENTS} events"))?;
        }
        if flash == next {
            self.serve_flash(next, drive);
        } else if own == next {
            self.calls = if own > self.now { 0 } else { self.calls + 1 };
            if self.calls > CALLS {
                self.stuck(format!("it wants to be called again and again at {}", self.now))?;
            }
            self.now = self.now.max(own);
            self.subject.inner_mut().advance(self.now);
        } else {
            self.serve();
        }
        self.hand_over()?;
        match self.fuse.front_mut() {
            Some(Fuse { writes: 0, events: 0, .. }) => self.cut(),
            Some(Fuse { writes: 0, events, .. }) => *events -= 1,
            Some(_) | None => {}
        }
        Ok(true)
    }

    /// When something happens in the flash of a drive, and in which.
    fn next_of_flash(&self) -> (Time, usize) {
        let next = self.drives.iter().map(Drive::next_event).zip(0..).min();
        next.expect("there is a drive")
    }

    fn serve_flash(&mut self, at: Time, drive: usize) {
        self.now = self.now.max(at);
        let before = self.drives[drive].health();
        let mut moments = std::mem::take(&mut self.moments);
        self.drives[drive].advance(self.now, &mut moments);
        self.moments = moments;
        self.take_moments(drive);
        if self.drives[drive].health() != before {
            self.trace(|| format!("drive {drive} has used up its spare blocks and becomes read-only"));
            self.tally.reach(Reached::WornOut, 1);
        }
    }

    pub(super) fn take_moments(&mut self, drive: usize) {
        for Moment { at, slot, is_done } in self.moments.drain(..) {
            // A refused write that is repeated waits for every slow command ahead of it.
            let takes = at.since(self.now);
            if is_done && takes > SLOW && self.full_until >= self.now {
                self.full_until += takes;
            }
            self.order += 1;
            self.due.push(Reverse((at, self.order, drive, slot, is_done)));
        }
    }

    /// A drive has done half a command, or a whole one.
    fn serve(&mut self) {
        let Some(Reverse((at, _, drive, slot, is_done))) = self.due.pop() else { return };
        self.now = self.now.max(at);
        if !is_done {
            return self.drives[drive].half(slot);
        }
        let response = self.drives[drive].complete(self.now, slot);
        self.tally.drive_requests += 1;
        self.digest.add(self.now.0 ^ (drive as u64) << 56 ^ (response.status as u64) << 48);
        if !self.subject.inner().is_ready() {
            self.read_in_recovery += response.data.len() as u64;
        }
        let (id, status) = (response.id, response.status);
        if status == Status::NoSpace {
            self.full_until = self.now + ROOM_AGAIN;
        }
        self.tally.reach(Reached::NoRoom, u64::from(status == Status::NoSpace));
        self.tally.reach(Reached::Contended, u64::from(status == Status::Contended));
        self.trace(|| format!("  drive {drive} answers {id}: {status}"));
        self.subject.inner_mut().answered(self.now, drive, response);
    }

    /// Passes the subject's requests to the drives and its answers to the host.
    pub(crate) fn hand_over(&mut self) -> Result<(), End> {
        loop {
            let sent = self.subject.inner_mut().sent();
            let answers = self.subject.answers();
            let calls = self.subject.inner_mut().controls();
            if sent.is_empty() && answers.is_empty() && calls.is_empty() {
                if self.note_state()? {
                    continue;
                }
                return Ok(());
            }
            for (drive, call) in calls {
                let reply = self.drives[drive].control(call);
                self.trace(|| format!("  drive {drive} {call:?}: {reply:?}"));
                self.subject.inner_mut().control_answered(self.now, drive, call, reply);
            }
            for (drive, request) in sent {
                self.send(drive, request);
            }
            for answer in answers {
                self.answered(answer)?;
            }
        }
    }

    fn send(&mut self, drive: usize, request: Request<Bytes>) {
        self.trace(|| {
            let fua = if request.fua { " fua" } else { "" };
            format!(
                "  drive {drive} {}: {} {}+{}{fua}",
                request.id, request.op, request.block, request.blocks
            )
        });
        let flags = u64::from(request.fua) | u64::from(request.fail_fast) << 1 | (request.op as u64) << 2;
        let flags = flags | u64::from(request.class.number()) << 4;
        self.digest.add(request.block << 32 ^ u64::from(request.blocks) << 8 ^ flags);
        if request.op == Op::Write {
            request.data.iter().for_each(|block| self.digest.add(u64::from(block.checksum())));
        }
        if let Some(fuse) = self.fuse.front_mut().filter(|fuse| fuse.writes > 0) {
            fuse.writes -= u32::from(writes(&request, fuse.what));
        }
        self.drives[drive].submit(self.now, request, &mut self.moments);
        self.take_moments(drive);
    }
}

/// Whether a request writes this metadata.
fn writes(request: &Request<Bytes>, what: Metadata) -> bool {
    let is_here = || match what {
        Metadata::Superblock => request.block < SUPERBLOCK_BLOCKS,
        Metadata::Checkpoint => request.data.iter().any(|block| is_checkpoint(block.as_slice())),
    };
    request.op == Op::Write && is_here()
}

/// Commands that are not slowed down take less.
const SLOW: Nanos = Nanos::millis(10);
/// The most time after which a write is repeated that has found no room, beside that of slow commands.
const ROOM_AGAIN: Nanos = Nanos::millis(10_000);

/// More than any run needs between two power cuts: most have a few thousand.
const EVENTS: u64 = 1_000_000;

/// More calls than anything needs in one moment.
const CALLS: u32 = 10_000;
