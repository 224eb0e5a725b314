//! Commands in flight: their blocks arrive little by little, and in any order.

use super::flash::FlashCompletion;
use super::{Drive, Health};
use tailcut_base::{Cause, Nanos, Op, Spans, Status, Time};
use tailcut_host::array::superblock::SUPERBLOCK_BLOCKS;
use tailcut_host::{Bytes, Request, Response};

/// A command in flight.
#[derive(Clone, Debug)]
pub(super) struct Working {
    pub(super) request: Request<Bytes>,
    pub(super) submitted: Time,
    /// Blocks that have not arrived yet, in the order in which they will.
    pub(super) missing: Vec<u32>,
    /// Content of a read, as far as it has been looked up.
    pub(super) found: Vec<Option<Bytes>>,
    /// What had arrived when a flush was submitted.
    pub(super) arrived: u64,
    pub(super) fails: Option<Status>,
    pub(super) busy_for: Nanos,
    pub(super) misdirect: Option<(u32, u32)>,
}

fn writes_superblock(request: &Request<Bytes>) -> bool {
    request.op == Op::Write && request.block < SUPERBLOCK_BLOCKS
}

/// When something is done for a command.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    /// The time at which it happens.
    pub at: Time,
    /// The name of the command for [`Drive::half`] and [`Drive::complete`].
    pub slot: u32,
    /// Whether the command is answered then; otherwise some of its blocks have arrived.
    pub is_done: bool,
}

impl Drive {
    /// Something happens in its flash: a command has ended, or some has come a little further. Pushes the
    /// moments at which commands are answered.
    ///
    /// # Panics
    /// If the drive has no flash: only a drive with one has events.
    pub fn advance(&mut self, now: Time, moments: &mut Vec<Moment>) {
        let flash = self.flash.as_mut().expect("a drive without flash has no events");
        let ended = flash.advance(now);
        if flash.is_read_only() && self.health == Health::Well {
            (self.health, self.has_refused) = (Health::ReadOnly, true);
        }
        if ended.is_empty() {
            return self.some_arrive();
        }
        for FlashCompletion { slot, status, busy_for } in ended {
            let working = self.commands[slot as usize].as_mut().expect("it is in flight");
            if status != Status::Success && working.fails.is_none() {
                (working.fails, working.busy_for) = (Some(status), busy_for);
            }
            let took = now.since(working.submitted);
            let is_superblock = writes_superblock(&working.request);
            moments.push(Moment { at: now + self.longer(took, is_superblock), slot, is_done: true });
        }
    }

    /// Of one of the commands in flight some blocks arrive.
    fn some_arrive(&mut self) {
        let in_flight = |slot: &u32| self.commands[*slot as usize].is_some();
        let slots: Vec<u32> = (0..self.commands.len() as u32).filter(in_flight).collect();
        if !slots.is_empty() && self.random.below(4) == 0 {
            let slot = slots[self.random.below(slots.len() as u64) as usize];
            self.half(slot);
        }
    }

    /// By how much a slow drive takes longer.
    fn longer(&mut self, took: Nanos, is_superblock: bool) -> Nanos {
        let slow = if is_superblock && self.slow_superblocks.0 > 0 {
            &mut self.slow_superblocks
        } else {
            &mut self.slow
        };
        if slow.0 == 0 {
            return Nanos::ZERO;
        }
        slow.0 -= 1;
        Nanos(took.0 * u64::from(slow.1 - 1))
    }

    /// A command has come. Pushes the moments at which something is done for it, as far as they are known.
    ///
    /// # Panics
    /// If the command names no block, blocks beyond the end of the drive, or more than the drive takes at
    /// once; or a reclaim unit handle that the drive does not have, or that no write is placed by.
    pub fn submit(&mut self, now: Time, request: Request<Bytes>, moments: &mut Vec<Moment>) {
        let end = request.block + u64::from(request.blocks);
        assert!(request.op == Op::Flush || request.blocks > 0, "a command for no blocks: {request:?}");
        assert!(end <= self.model.blocks, "a command beyond the end of the drive: {request:?}");
        assert!(request.op == Op::Trim || request.blocks <= self.model.most_blocks, "too long: {request:?}");
        let handles = if request.op == Op::Write { self.model.disk().handles } else { 1 };
        assert!(request.handle.get() < handles, "a handle that there is not: {request:?}");
        let mut missing: Vec<u32> = (0..request.blocks).collect();
        for index in (1..missing.len()).rev() {
            missing.swap(index, self.random.below(index as u64 + 1) as usize);
        }
        let mut found = if request.op == Op::Read { vec![None; missing.len()] } else { Vec::new() };
        let flash = self.flash.as_ref().filter(|_| request.op == Op::Read);
        if let Some(content) = flash.and_then(|flash| flash.content(request.block, request.blocks)) {
            found = content.into_iter().map(Some).collect();
            missing.clear();
        }
        let fails = self.failure(&request);
        let busy_for = if fails == Some(Status::Contended) { self.model.latency.1 } else { Nanos::ZERO };
        let misdirect = match (request.op, self.misdirect) {
            (Op::Write, Some(pick)) if fails.is_none() => {
                self.misdirect = None;
                Some((self.random.below(u64::from(request.blocks)) as u32, pick))
            }
            _ => None,
        };
        let arrived = self.arrivals;
        let working =
            Working { request, submitted: now, missing, found, arrived, fails, busy_for, misdirect };
        let slot = match self.commands.iter().position(Option::is_none) {
            Some(slot) => slot,
            None => {
                self.commands.push(None);
                self.commands.len() - 1
            }
        };
        assert!(slot < self.model.depth as usize, "more commands than the drive takes");
        match &mut self.flash {
            Some(flash) => flash.submit(now, slot as u32, &working.request),
            None => self.draw_moments(now, slot as u32, writes_superblock(&working.request), moments),
        }
        self.commands[slot] = Some(working);
    }

    fn failure(&mut self, request: &Request<Bytes>) -> Option<Status> {
        let op = request.op;
        let may_refuse = self.model.busy > 0 && self.flash.is_none() && op == Op::Read && request.fail_fast;
        if may_refuse && self.random.chance_ppm(self.model.busy) {
            return Some(Status::Contended);
        }
        if self.health == Health::ReadOnly && matches!(op, Op::Write | Op::Trim) {
            self.has_refused = true;
            return Some(Status::WriteProtected);
        }
        if op == Op::Write && self.fail_writes > 0 {
            self.fail_writes -= 1;
            self.has_failed_write = true;
            return Some(Status::MediaError);
        }
        if op == Op::Write && self.no_room > 0 && self.random.below(4) > 0 {
            self.no_room -= 1;
            return Some(Status::NoSpace);
        }
        if op == Op::Flush && std::mem::take(&mut self.fail_flush) {
            return Some(Status::MediaError);
        }
        None
    }

    fn draw_moments(&mut self, now: Time, slot: u32, is_superblock: bool, moments: &mut Vec<Moment>) {
        let (least, most) = self.model.latency;
        let nanos = Nanos(least.0 + self.random.below(most.0.saturating_sub(least.0) + 1));
        let done = now + nanos + self.longer(nanos, is_superblock);
        let half = now + Nanos(self.random.below(done.since(now).0 + 1));
        moments.push(Moment { at: half, slot, is_done: false });
        moments.push(Moment { at: done, slot, is_done: true });
    }

    /// Some blocks of a command arrive.
    ///
    /// # Panics
    /// If no command is in `slot`.
    pub fn half(&mut self, slot: u32) {
        if !self.is_there() {
            return;
        }
        let count = self.commands[slot as usize].as_ref().expect("it is in flight").missing.len();
        let count = self.random.below(count as u64 + 1) as usize;
        self.work(slot, count);
    }

    /// The next `count` blocks of a command arrive or are looked up.
    pub(super) fn work(&mut self, slot: u32, count: usize) {
        let mut working = self.commands[slot as usize].take().expect("it is in flight");
        for _ in 0..count {
            let index = working.missing.pop().expect("as many as there are");
            let block = working.request.block + u64::from(index);
            match (working.request.op, working.fails) {
                (Op::Read, _) => working.found[index as usize] = self.content(block),
                (_, Some(Status::WriteProtected)) | (Op::Flush, _) => {}
                (Op::Write, Some(Status::NoSpace)) => {
                    if self.random.below(2) == 0 {
                        self.write(&working, index);
                    }
                }
                (Op::Write, Some(_)) => self.botch(block, &working.request.data[index as usize]),
                (Op::Write, None) => self.write(&working, index),
                (Op::Trim, _) => self.arrive(block, Bytes::default(), working.request.fua),
            }
        }
        self.commands[slot as usize] = Some(working);
    }

    /// A command is answered.
    ///
    /// # Panics
    /// If no command is in `slot`.
    pub fn complete(&mut self, now: Time, slot: u32) -> Response<Bytes> {
        if self.is_there() {
            let rest = self.commands[slot as usize].as_ref().expect("it is in flight").missing.len();
            self.work(slot, rest);
        }
        let Working { mut request, submitted, found, arrived, fails, busy_for, .. } =
            self.commands[slot as usize].take().expect("it is in flight");
        let mut status = fails.unwrap_or(Status::Success);
        let mut data = std::mem::take(&mut request.data);
        if !self.is_there() {
            status = Status::Gone;
        } else if status == Status::Contended {
            data.clear();
        } else if request.op == Op::Flush && status == Status::Success {
            self.flush(arrived);
        } else if request.op == Op::Flush {
            self.forget_cached();
        } else if request.op == Op::Read {
            data.clear();
            if found.iter().all(Option::is_some) {
                data.extend(found.into_iter().flatten());
                if !self.model.sealed {
                    data.iter_mut().for_each(|block| *block = Bytes::unsealed(block.as_slice()));
                }
            } else {
                status = Status::MediaError;
            }
        }
        let mut spans = Spans::new();
        spans.add(Cause::Cell, now.since(submitted));
        Response { id: request.id, status, data, busy_for, spans }
    }
}
