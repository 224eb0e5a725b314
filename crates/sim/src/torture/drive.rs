//! A drive that may do to its owner everything that the fault model allows, and nothing else.
//!
//! # Fault model
//!
//! *What a drive guarantees.* A logical block of 4 KiB is written whole or not at all, whatever happens
//! (NVMe base specification, atomic write unit power fail, of a namespace formatted with 4 KiB).
//! Between the blocks of a command nothing is guaranteed: they arrive in any order, other commands
//! see some of them before the others, and a power cut leaves any of them out. Commands in flight overtake each other.
//! A write is durable when it has completed with force unit access, or when a flush has completed that was
//! submitted after its completion, or at its completion on a drive without a volatile cache. A
//! trimmed block reads as zeros. A read returns what the last completed command left.
//!
//! *Power cut*, at any event, all drives at once: of every block any version since the last durable one
//! may be left, whatever is left of other blocks; commands in flight have arrived in any part.
//!
//! *One drive of an R-group with parity*, until it has been replaced or everything has been read and
//! compared (scrubbed), together with power cuts at any moment:
//!
//! | fault | what happens | layouts |
//! | --- | --- | --- |
//! | `kill` | the drive answers "gone", what is in flight has arrived in any part | with parity; without, all may fail |
//! | `pull` | as `kill`, and with the next power it is back without the writes that it missed | with parity |
//! | `flip` | one bit of a stored block changes, its seal does not | with parity; RAID 0: that block may fail |
//! | `unreadable` | a stored block answers "media error" until it is written again | with parity; RAID 0: as `flip` |
//! | `fail-write` | writes answer "media error"; of their blocks each is old, new, or unreadable | with parity; without, writes may fail |
//! | `read-only` | writes answer "write protected" and change nothing | with parity; without, writes may fail |
//! | `misdirect` | a block of a write lands in the place of another | logs with parity, whose seals know the age of a block |
//!
//! *Any drive, at any time*: `slow`, 10 to 1000 times, for some commands. It loses nothing, so it needs no
//! limit: what is promised of the answers holds, only later.
//!
//! *One drive, where drives are SSDs* ([`flash`](super::flash)): its flash wears out, and from then on writes answer
//! "write protected", those in flight with any part arrived. Since that may happen at any moment, no other
//! drive of its group is struck until another has taken its place.
//!
//! An array that closes the write hole with a bitmap instead of a journal promises less: faults or power
//! cuts, not both.
//!
//! Not in the model: two faulty drives in a group, blocks that are torn inside, drives that lie about
//! flushes, bits that change together with their seal. Some of these serve as canaries
//! ([`Canary`](super::canary::Canary)): what the checkers must see.

use super::canary::Canary;
use super::fault::{Fault, FaultKind};
use super::flash::{Backend, Ended, Flash};
use super::tally::{Reached, Tally};
use std::collections::{BTreeMap, BTreeSet};
use tailcut_base::control::{Control, ControlReply};
use tailcut_base::random::Stream;
use tailcut_base::{Cause, Nanos, Op, Spans, Status, Time};
use tailcut_host::array::record::RECORD_BLOCKS;
use tailcut_host::{Bytes, Disk, Request, Response};

/// How a drive is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Model {
    /// Blocks.
    pub blocks: u64,
    /// Commands at a time.
    pub depth: u32,
    /// The most blocks of a command.
    pub most_blocks: u32,
    /// It acknowledges writes before they are durable.
    pub volatile_cache: bool,
    /// The shortest and the longest time of a command, where times are drawn.
    pub latency: (Nanos, Nanos),
    /// What times and failures come from.
    pub backend: Backend,
    /// It knows the calls of the control interface.
    pub has_control: bool,
}

impl Model {
    /// What it says of itself.
    pub fn disk(&self) -> Disk {
        Disk {
            blocks: self.blocks,
            depth: self.depth,
            most_blocks: self.most_blocks,
            volatile_cache: self.volatile_cache,
        }
    }
}

/// A drive.
#[derive(Debug)]
pub struct Drive {
    model: Model,
    flash: Option<Box<Flash>>,
    /// Its flash may fail.
    is_weak: bool,
    canary: Option<Canary>,
    random: Stream,
    durable: Vec<Bytes>,
    /// Versions of a block that are not durable, oldest first, each with the moment of its arrival.
    cached: BTreeMap<u64, Vec<(u64, Bytes)>>,
    /// Counts what arrives.
    arrivals: u64,
    unreadable: BTreeSet<u64>,
    commands: Vec<Option<Working>>,
    health: Health,
    slow: (u32, u32),
    fail_writes: u32,
    misdirect: Option<u32>,
    /// Writes that have begun; for canaries.
    writes: u64,
}

/// Whether it answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Health {
    /// It does.
    Well,
    /// It reads and does not write.
    ReadOnly,
    /// It does not, until the power comes back.
    Away,
    /// It never will.
    Dead,
}

/// A command in flight.
#[derive(Clone, Debug)]
struct Working {
    request: Request<Bytes>,
    submitted: Time,
    /// Blocks that have not arrived yet, in the order in which they will.
    missing: Vec<u32>,
    /// Content of a read, as far as it has been looked up.
    found: Vec<Option<Bytes>>,
    /// What had arrived when a flush was submitted.
    arrived: u64,
    fails: Option<Status>,
    busy_for: Nanos,
    misdirect: Option<(u32, u32)>,
}

/// When something is done for a command.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    /// When.
    pub at: Time,
    /// The name of the command for [`Drive::half`] and [`Drive::complete`].
    pub slot: u32,
    /// It is answered; else some of its blocks have arrived.
    pub is_done: bool,
}

impl Drive {
    /// A blank drive; `random` decides what the model leaves open. Programs and erases of its flash fail with the
    /// chance `fail`, in parts per million.
    pub fn new(model: &Model, canary: Option<Canary>, fail: u32, mut random: Stream) -> Drive {
        let flash = (model.backend == Backend::Ssd).then(|| Box::new(Flash::new(model, fail, random.bits())));
        Drive {
            model: model.clone(),
            flash,
            is_weak: fail > 0,
            canary,
            random,
            durable: vec![Bytes::default(); model.blocks as usize],
            cached: BTreeMap::new(),
            arrivals: 0,
            unreadable: BTreeSet::new(),
            commands: Vec::new(),
            health: Health::Well,
            slow: (0, 1),
            fail_writes: 0,
            misdirect: None,
            writes: 0,
        }
    }

    /// Blocks of its flash that have gone bad, and blocks that it has emptied to erase them.
    pub fn flash_counts(&self) -> (u64, u64) {
        self.flash.as_ref().map_or((0, 0), |flash| flash.counts())
    }

    /// Whether it answers.
    pub fn health(&self) -> Health {
        self.health
    }

    /// True when it answers commands, with an error or without.
    pub fn is_there(&self) -> bool {
        matches!(self.health, Health::Well | Health::ReadOnly)
    }

    /// True while commands are in flight.
    pub fn is_busy(&self) -> bool {
        self.commands.iter().any(Option::is_some)
    }

    /// Its flash may fail.
    pub fn is_weak(&self) -> bool {
        self.is_weak
    }

    /// When something happens in its flash.
    pub fn next_event(&self) -> Time {
        self.flash.as_ref().map_or(Time::NEVER, |flash| flash.next_event())
    }

    /// Something happens in its flash: a command has ended, or some has come a little further. Pushes the
    /// moments at which commands are answered.
    pub fn advance(&mut self, now: Time, moments: &mut Vec<Moment>) {
        let flash = self.flash.as_mut().expect("a drive without flash has no events");
        let ended = flash.advance(now);
        if flash.is_read_only() && self.health == Health::Well {
            self.health = Health::ReadOnly;
        }
        if ended.is_empty() {
            return self.some_arrive();
        }
        for Ended { slot, status, busy_for } in ended {
            let working = self.commands[slot as usize].as_mut().expect("it is in flight");
            if status != Status::Success && working.fails.is_none() {
                (working.fails, working.busy_for) = (Some(status), busy_for);
            }
            let took = now.since(working.submitted);
            moments.push(Moment { at: now + self.longer(took), slot, is_done: true });
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
    fn longer(&mut self, took: Nanos) -> Nanos {
        if self.slow.0 == 0 {
            return Nanos::ZERO;
        }
        self.slow.0 -= 1;
        Nanos(took.0 * u64::from(self.slow.1 - 1))
    }

    /// A call of its control interface: anything that a drive may reply.
    pub fn control(&mut self, call: Control) -> ControlReply {
        if !self.model.has_control || !self.is_there() {
            return ControlReply::Unsupported;
        }
        match call {
            Control::EraseBlockSize => ControlReply::Bytes(16 << 10),
            Control::FreeBlocks => ControlReply::Blocks(self.random.below(40)),
            Control::IsGcRunning | Control::IsReadyForRead => ControlReply::Answer(self.random.below(3) > 0),
            Control::RunGc { .. } | Control::SetWindows(_) => ControlReply::Done,
            _ => ControlReply::Unsupported,
        }
    }

    /// A command has come. Pushes the moments at which something is done for it, as far as they are known.
    pub fn submit(&mut self, now: Time, request: Request<Bytes>, moments: &mut Vec<Moment>) {
        let end = request.block + u64::from(request.blocks);
        assert!(request.op == Op::Flush || request.blocks > 0, "a command for no blocks: {request:?}");
        assert!(end <= self.model.blocks, "a command beyond the end of the drive: {request:?}");
        assert!(request.op == Op::Trim || request.blocks <= self.model.most_blocks, "too long: {request:?}");
        let mut missing: Vec<u32> = (0..request.blocks).collect();
        for index in (1..missing.len()).rev() {
            missing.swap(index, self.random.below(index as u64 + 1) as usize);
        }
        let found = if request.op == Op::Read { vec![None; missing.len()] } else { Vec::new() };
        let fails = self.failure(request.op);
        let misdirect = match (request.op, self.misdirect) {
            (Op::Write, Some(pick)) if fails.is_none() => {
                self.misdirect = None;
                Some((self.random.below(u64::from(request.blocks)) as u32, pick))
            }
            _ => None,
        };
        let arrived = self.arrivals;
        let working = Working {
            request,
            submitted: now,
            missing,
            found,
            arrived,
            fails,
            busy_for: Nanos::ZERO,
            misdirect,
        };
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
            None => self.draw_moments(now, slot as u32, moments),
        }
        self.commands[slot] = Some(working);
    }

    fn failure(&mut self, op: Op) -> Option<Status> {
        if self.health == Health::ReadOnly && matches!(op, Op::Write | Op::Trim) {
            return Some(Status::WriteProtected);
        }
        if op == Op::Write && self.fail_writes > 0 {
            self.fail_writes -= 1;
            return Some(Status::MediaError);
        }
        None
    }

    fn draw_moments(&mut self, now: Time, slot: u32, moments: &mut Vec<Moment>) {
        let (least, most) = self.model.latency;
        let nanos = Nanos(least.0 + self.random.below(most.0.saturating_sub(least.0) + 1));
        let done = now + nanos + self.longer(nanos);
        let half = now + Nanos(self.random.below(done.since(now).0 + 1));
        moments.push(Moment { at: half, slot, is_done: false });
        moments.push(Moment { at: done, slot, is_done: true });
    }

    /// Some blocks of a command arrive.
    pub fn half(&mut self, slot: u32) {
        if !self.is_there() {
            return;
        }
        let count = self.commands[slot as usize].as_ref().expect("it is in flight").missing.len();
        let count = self.random.below(count as u64 + 1) as usize;
        self.work(slot, count);
    }

    /// The next `count` blocks of a command arrive or are looked up.
    fn work(&mut self, slot: u32, count: usize) {
        let mut working = self.commands[slot as usize].take().expect("it is in flight");
        for _ in 0..count {
            let index = working.missing.pop().expect("as many as there are");
            let block = working.request.block + u64::from(index);
            match (working.request.op, working.fails) {
                (Op::Read, _) => working.found[index as usize] = self.content(block),
                (_, Some(Status::WriteProtected)) | (Op::Flush, _) => {}
                (Op::Write, Some(_)) => self.botch(block, &working.request.data[index as usize]),
                (Op::Write, None) => self.write(&working, index),
                (Op::Trim, _) => self.arrive(block, Bytes::default(), working.request.fua),
            }
        }
        self.commands[slot as usize] = Some(working);
    }

    fn write(&mut self, working: &Working, index: u32) {
        let mut block = working.request.block + u64::from(index);
        if let Some((victim, pick)) = working.misdirect
            && victim == index
        {
            block = RECORD_BLOCKS + u64::from(pick) % (self.model.blocks - RECORD_BLOCKS);
        }
        self.writes += 1;
        if self.canary == Some(Canary::DropsWrites) && self.writes.is_multiple_of(17) {
            return;
        }
        self.arrive(block, working.request.data[index as usize].clone(), working.request.fua);
    }

    /// A failed write leaves the old content, the new one or none.
    fn botch(&mut self, block: u64, content: &Bytes) {
        match self.random.below(3) {
            0 => {}
            1 => self.arrive(block, content.clone(), false),
            _ => {
                self.cached.remove(&block);
                self.unreadable.insert(block);
            }
        }
    }

    fn arrive(&mut self, block: u64, content: Bytes, fua: bool) {
        self.arrivals += 1;
        let lies = self.canary == Some(Canary::LiesAboutFlush);
        if self.model.volatile_cache && (!fua || lies) {
            self.cached.entry(block).or_default().push((self.arrivals, content));
        } else {
            self.cached.remove(&block);
            self.settle(block, content);
        }
    }

    fn settle(&mut self, block: u64, content: Bytes) {
        self.durable[block as usize] = content;
        self.unreadable.remove(&block);
    }

    /// What a read finds; nothing where it cannot be read.
    fn content(&self, block: u64) -> Option<Bytes> {
        match self.cached.get(&block).and_then(|versions| versions.last()) {
            Some((_, content)) => Some(content.clone()),
            None if self.unreadable.contains(&block) => None,
            None => Some(self.durable[block as usize].clone()),
        }
    }

    /// A command is answered.
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
        } else if request.op == Op::Read {
            data.clear();
            if found.iter().all(Option::is_some) {
                data.extend(found.into_iter().flatten());
            } else {
                status = Status::MediaError;
            }
        }
        let mut spans = Spans::new();
        spans.add(Cause::Cell, now.since(submitted));
        Response { id: request.id, status, data, busy_for, spans }
    }

    /// What had arrived by then is durable.
    fn flush(&mut self, arrived: u64) {
        if self.canary == Some(Canary::LiesAboutFlush) {
            return;
        }
        for (block, mut versions) in std::mem::take(&mut self.cached) {
            let later = versions.partition_point(|&(at, _)| at <= arrived);
            let rest = versions.split_off(later);
            if let Some((_, content)) = versions.pop() {
                self.settle(block, content);
            }
            if !rest.is_empty() {
                self.cached.insert(block, rest);
            }
        }
    }

    /// The power goes, here or everywhere. Commands in flight are never answered.
    pub fn power_off(&mut self, tally: &mut Tally) {
        self.cut_off(tally);
        let keep = match self.random.below(4) {
            0 => 0,
            1 => 1_000_000,
            _ => self.random.below(1_000_000) as u32,
        };
        let (mut lost, mut kept) = (u64::MAX, 0);
        for (block, mut versions) in std::mem::take(&mut self.cached) {
            let newest = versions.last().map_or(0, |&(at, _)| at);
            if self.random.chance_ppm(keep) {
                kept = kept.max(newest);
            } else {
                lost = lost.min(newest);
                tally.reach(Reached::LostCached, 1);
                versions.truncate(self.random.below(versions.len() as u64) as usize);
            }
            if let Some((_, content)) = versions.pop() {
                self.settle(block, content);
            }
        }
        tally.reach(Reached::Reordered, u64::from(lost < kept));
        (self.slow, self.fail_writes, self.misdirect) = ((0, 1), 0, None);
    }

    /// Commands in flight arrive in any part.
    fn cut_off(&mut self, tally: &mut Tally) {
        for slot in 0..self.commands.len() as u32 {
            let Some(working) = &self.commands[slot as usize] else { continue };
            let (op, blocks, missing) = (working.request.op, working.request.blocks, working.missing.len());
            if self.is_there() && op != Op::Read {
                let count = self.random.below(missing as u64 + 1) as usize;
                let arrives = blocks as usize - missing + count;
                tally.reach(
                    Reached::TornWrite,
                    u64::from(op == Op::Write && arrives > 0 && arrives < blocks as usize),
                );
                self.work(slot, count);
                self.tear(slot);
            }
            self.commands[slot as usize] = None;
        }
    }

    /// Half a block arrives, on a drive that breaks its promise.
    fn tear(&mut self, slot: u32) {
        let working = self.commands[slot as usize].as_ref().expect("it is in flight");
        let (Some(Canary::TearsBlocks), Op::Write, Some(&index)) =
            (self.canary, working.request.op, working.missing.last())
        else {
            return;
        };
        let block = working.request.block + u64::from(index);
        let mut torn = working.request.data[index as usize].clone();
        let Some(old) = self.content(block) else { return };
        torn.as_mut_slice()[512..].copy_from_slice(&old.as_slice()[512..]);
        self.arrive(block, torn, true);
    }

    /// The power comes back, at this moment.
    pub fn power_on(&mut self, now: Time) {
        if let Some(flash) = &mut self.flash {
            flash.power_cycle(now);
        }
        if self.health == Health::Away {
            self.health = Health::Well;
        }
    }

    /// Something goes wrong. False when there is nothing that it could strike.
    pub fn fault(&mut self, fault: &Fault, tally: &mut Tally) -> bool {
        match fault.kind {
            FaultKind::Kill => {
                self.leave(tally);
                self.health = Health::Dead;
            }
            FaultKind::Pull => {
                self.leave(tally);
                self.health = Health::Away;
            }
            FaultKind::Slow => self.slow = (fault.pick, fault.factor.max(1)),
            FaultKind::ReadOnly => self.health = Health::ReadOnly,
            FaultKind::FailWrite => self.fail_writes = fault.pick.max(1),
            FaultKind::Misdirect => self.misdirect = Some(fault.pick),
            FaultKind::Flip | FaultKind::Unreadable => return self.damage(fault),
        }
        true
    }

    /// Faults that wait for a write to strike do so no more.
    pub fn disarm(&mut self) {
        (self.fail_writes, self.misdirect) = (0, None);
    }

    /// It loses its power while the others keep theirs; what is in flight is answered with "gone".
    fn leave(&mut self, tally: &mut Tally) {
        let commands = self.commands.clone();
        self.power_off(tally);
        self.commands = commands;
    }

    fn damage(&mut self, fault: &Fault) -> bool {
        let stored: Vec<u64> =
            (RECORD_BLOCKS..self.model.blocks).filter(|&block| self.is_stored(block)).collect();
        if stored.is_empty() {
            return false;
        }
        let block = stored[fault.pick as usize % stored.len()];
        let content = self.content(block).expect("it is stored");
        self.cached.remove(&block);
        self.settle(block, content);
        if fault.kind == FaultKind::Unreadable {
            self.unreadable.insert(block);
        } else {
            let bit = self.random.below(4096 * 8) as usize;
            self.durable[block as usize].as_mut_slice()[bit / 8] ^= 1 << (bit % 8);
        }
        true
    }

    fn is_stored(&self, block: u64) -> bool {
        self.content(block).is_some_and(|content| content != Bytes::default())
    }
}
