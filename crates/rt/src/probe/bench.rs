//! Loads on a drive, and their results: reads and writes at a queue depth or rate, until a bound is reached.

use super::Watch;
use super::pace::Pace;
use super::tally::Tally;
use crate::drive::{Answers, Drive};
use std::collections::VecDeque;
use std::ops::Range;
use tailcut_base::fdp::HandleId;
use tailcut_base::ids::Slab;
use tailcut_base::random::Stream;
use tailcut_base::{Class, Nanos, Op, SECTOR_BYTES, Status, Time, id};
use tailcut_host::{BLOCK_BYTES, BLOCK_SECTORS, Bytes, Mirror, Request, Response};
use tailcut_pts::load::zoned;
pub use tailcut_pts::load::{Load, Order, Sizes};

/// Bounds of a run, which ends at the first one reached. The counters of the first load are compared with
/// them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bound {
    /// Maximum duration of the run.
    pub time: Nanos,
    /// Maximum number of I/Os of the first load.
    pub ios: u64,
    /// Maximum number of bytes of the first load.
    pub bytes: u64,
    /// End as soon as the bandwidth is steady, judged in rounds of a sixteenth of this many bytes, but not
    /// before that many have been transferred; 0 for never.
    pub settles: u64,
    /// Warm up: discard the first I/Os, twice the queue depth, because they find the drive emptier than it
    /// should be.
    pub warms: bool,
}

/// Why a run failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{op} at block {block} failed: {}", words(*status))]
pub struct Failed {
    /// Whether the request that failed was a read, write, trim or flush.
    pub op: Op,
    /// First block of the failed request, in blocks of 4 KiB.
    pub block: u64,
    /// The status with which the request completed.
    pub status: Status,
}

fn words(status: Status) -> &'static str {
    match status {
        Status::Success => "it did not",
        Status::InvalidField => "the drive refuses such a request",
        Status::WriteProtected => "the drive takes no writes",
        Status::NoSpace => "the drive is full: its file system has no room",
        Status::MediaError => "the data cannot be read, or the drive has become smaller",
        Status::Contended => "the drive was busy with itself",
        Status::Gone => "the drive does not answer any more",
    }
}

/// A benchmark: a drive under measurement, its clock and its observer.
pub struct Bench<'a, D, P> {
    drive: D,
    pace: P,
    watch: &'a dyn Watch,
    /// Range of blocks that loads may access; the whole drive at first.
    pub region: Range<u64>,
    /// Whether writes are durable when they complete.
    pub is_fua: bool,
    random: Stream,
    pages: Vec<Bytes>,
    /// I/Os in flight.
    ios: Slab<IoId, Io>,
    /// Requests in flight, at most as many as the queue depth of the drive.
    requests: Slab<RequestId, Part>,
    /// Parts of I/Os that wait for room in the queue of the drive.
    waiting: VecDeque<Part>,
    answers: Answers,
    heard: Time,
    /// The run is over: later completions do not count.
    is_closed: bool,
    /// The next of `pages` to be written.
    page: usize,
    /// Where `Onward` loads continue, in I/Os.
    onward: u64,
}

id! {
    /// An I/O in flight.
    struct IoId;
}

id! {
    /// A request to the drive.
    struct RequestId;
}

/// A part of an I/O, as large as a request may be.
#[derive(Clone, Copy, Debug)]
struct Part {
    io: IoId,
    block: u64,
    blocks: u32,
}

#[derive(Clone, Copy, Debug)]
struct Io {
    load: usize,
    op: Op,
    began: Time,
    sectors: u32,
    parts: u32,
    /// A write that does not fill its last block: the block is read first, then written.
    widens: bool,
}

/// Number of distinct blocks of random bytes to write: the drive cannot compress them, and a deduplicating
/// drive finds equal blocks this far apart.
const PAGES: usize = 1024;

/// A load with fewer than `LEAST_IOS` I/Os when its time is up continues for up to this many times as long.
const PATIENCE: u64 = 10;
const LEAST_IOS: u64 = 8;

/// Interval of checks for cancellation, in rounds of the loop.
const ASK_EVERY: u32 = 16;

impl<'a, D: Drive, P: Pace> Bench<'a, D, P> {
    /// A benchmark over the whole drive. Addresses and contents derive from `seed`.
    pub fn new(drive: D, pace: P, seed: u64, watch: &'a dyn Watch) -> Bench<'a, D, P> {
        let disk = drive.disk();
        let mut random = Stream::new(seed, "probe");
        let mut page =
            || -> Vec<u8> { (0..BLOCK_BYTES / 8).flat_map(|_| random.bits().to_le_bytes()).collect() };
        let pages = (0..PAGES).map(|_| tailcut_host::Block::encode(&page())).collect();
        Bench {
            region: 0..disk.blocks,
            drive,
            pace,
            watch,
            random,
            pages,
            ios: Slab::new(),
            requests: Slab::new(),
            waiting: VecDeque::new(),
            answers: Answers::default(),
            heard: Time::ZERO,
            is_closed: false,
            page: 0,
            is_fua: false,
            onward: 0,
        }
    }

    /// The drive that is measured.
    pub fn drive(&self) -> &D {
        &self.drive
    }

    /// The observer that is informed of progress and may cancel the run.
    pub fn watch(&self) -> &'a dyn Watch {
        self.watch
    }

    /// Runs loads on the drive. I/Os still in flight at the end are drained and do not count.
    ///
    /// # Errors
    /// The first request that fails.
    pub fn run(&mut self, loads: &[Load], bound: Bound) -> Result<Vec<Tally>, Failed> {
        let begun = self.pace.now();
        (self.heard, self.is_closed) = (begun, false);
        let mut tallies: Vec<Tally> =
            loads.iter().map(|&load| Tally::begin(load, bound, self.onward, begun)).collect();
        let mut rounds = 0u32;
        loop {
            let now = self.pace.now();
            rounds = rounds.wrapping_add(1);
            let stops = rounds.is_multiple_of(ASK_EVERY) && self.watch.is_stopped();
            if stops || self.is_finished(&tallies[0], bound, now.since(begun)) {
                break;
            }
            for (index, tally) in tallies.iter_mut().enumerate() {
                self.issue(index, tally, now);
            }
            self.receive(&mut tallies, begun, &bound)?;
        }
        let end = self.pace.now();
        for tally in &mut tallies {
            tally.took = end.since(tally.counted_from.min(end));
            let took = tally.took.as_secs_f64();
            tally.rate = if took > 0.0 { tally.latency.count() as f64 / took } else { 0.0 };
        }
        self.waiting.clear();
        self.is_closed = true;
        while !self.requests.is_empty() {
            self.receive(&mut tallies, begun, &bound)?;
        }
        self.ios = Slab::new();
        if let Some(tally) = tallies.iter().find(|tally| tally.load.order == Order::Onward) {
            self.onward = tally.next;
        }
        Ok(tallies)
    }

    fn is_finished(&self, tally: &Tally, bound: Bound, for_long: Nanos) -> bool {
        let (ios, bytes) = (tally.latency.count(), tally.profile.total());
        let settled = bound.settles > 0 && bytes >= bound.settles && tally.profile.is_steady(bound.settles);
        // A slow drive gets more time for its first I/Os, as long as it completes any.
        let patience = if ios < LEAST_IOS { bound.time * PATIENCE } else { bound.time };
        for_long >= patience || ios >= bound.ios || bytes >= bound.bytes || settled
    }

    /// Starts I/Os of a load up to its queue depth.
    fn issue(&mut self, index: usize, tally: &mut Tally, now: Time) {
        let load = tally.load;
        while tally.in_flight < load.depth && tally.due <= now {
            if load.gap > Nanos::ZERO {
                tally.due += load.gap;
            }
            tally.in_flight += 1;
            self.begin(index, tally, now);
        }
        self.submit_waiting(now);
    }

    /// The first block of the next I/O of a load, which has `blocks` blocks.
    fn place(&mut self, tally: &mut Tally, blocks: u64) -> u64 {
        let region = self.region.end - self.region.start;
        // I/Os of one size are aligned to it; others begin at any block.
        let each = if let Sizes::One(_) = tally.load.sizes { blocks } else { 1 };
        let places = ((region + each - blocks.min(region)) / each).max(1);
        let place = match tally.load.order {
            Order::Random => self.random.below(places) * each,
            Order::Sequential | Order::Onward => tally.next % places * each,
            Order::Zones(zones) => zoned(zones, region, &mut self.random).min(region.saturating_sub(blocks)),
        };
        tally.next += 1;
        self.region.start + place
    }

    fn begin(&mut self, load: usize, tally: &mut Tally, now: Time) {
        let sectors = tally.load.sizes.draw(&mut self.random);
        let op = tally.load.draw_op(&mut self.random);
        let blocks = u64::from(sectors).div_ceil(BLOCK_SECTORS);
        let first = self.place(tally, blocks);
        let most = self.drive.disk().most_blocks;
        let blocks = blocks.min(self.region.end - first) as u32;
        let widens = op == Op::Write && !u64::from(sectors).is_multiple_of(BLOCK_SECTORS);
        let op = if widens { Op::Read } else { op };
        let parts = blocks.div_ceil(most);
        let io = self.ios.insert(Io { load, op, began: now, sectors, parts, widens });
        if widens {
            assert_eq!(blocks, 1, "an I/O of more than a block has whole blocks");
        }
        for part in 0..parts {
            let block = first + u64::from(part * most);
            self.waiting.push_back(Part { io, block, blocks: most.min(blocks - part * most) });
        }
    }

    fn submit_waiting(&mut self, now: Time) {
        while self.requests.len() < self.drive.disk().depth as usize
            && let Some(part) = self.waiting.pop_front()
        {
            self.submit(now, part);
        }
    }

    fn submit(&mut self, now: Time, part: Part) {
        let Part { io, block, blocks } = part;
        let op = self.ios[io].op;
        let id = self.requests.insert(part).get();
        let data = if op == Op::Write { (0..blocks).map(|_| self.content()).collect() } else { Vec::new() };
        let (class, fua, fail_fast) = (Class::DEFAULT, self.is_fua && op == Op::Write, false);
        self.drive.submit(
            now,
            Request {
                id,
                op,
                fua,
                class,
                fail_fast,
                mirror: Mirror::Any,
                handle: HandleId::FIRST,
                block,
                blocks,
                data,
            },
        );
    }

    fn content(&mut self) -> Bytes {
        self.page = (self.page + 1) % PAGES;
        self.pages[self.page].clone()
    }

    /// Processes completions, or waits.
    fn receive(&mut self, tallies: &mut [Tally], begun: Time, bound: &Bound) -> Result<(), Failed> {
        let now = self.pace.now();
        let mut answers = std::mem::take(&mut self.answers);
        self.drive.poll(now, &mut answers);
        if answers.responses.is_empty() {
            let idle = tallies.iter().filter(|tally| tally.in_flight < tally.load.depth);
            let moments = idle.map(|tally| tally.due).chain([begun + bound.time]);
            // Once these times have passed, wait for the next completion.
            let until = moments.filter(|&moment| moment > now).min().unwrap_or(Time::NEVER);
            self.pace.wait(&mut self.drive, now.since(self.heard), until);
        } else {
            self.heard = now;
        }
        let seen = self.pace.now();
        let mut failed = Ok(());
        for response in answers.responses.drain(..) {
            failed = failed.and(self.heard(response, tallies, begun, seen));
        }
        self.answers = answers;
        failed
    }

    fn heard(
        &mut self,
        response: Response<Bytes>,
        tallies: &mut [Tally],
        begun: Time,
        now: Time,
    ) -> Result<(), Failed> {
        let part @ Part { io: id, block, .. } = self.requests.remove(RequestId::new(response.id));
        let io = &mut self.ios[id];
        let tally = &mut tallies[io.load];
        if response.status != Status::Success {
            return Err(Failed { op: io.op, block, status: response.status });
        }
        io.parts -= 1;
        if io.parts == 0 && io.widens && !self.is_closed {
            (io.op, io.parts, io.widens) = (Op::Write, 1, false);
            // Ahead of others: it has already waited its turn.
            self.waiting.push_front(Part { blocks: 1, ..part });
            self.submit_waiting(now);
        } else if io.parts == 0 {
            tally.in_flight -= 1;
            if !self.is_closed {
                let bytes = u64::from(io.sectors) * SECTOR_BYTES;
                tally.ended(bytes, io.began, begun, now);
            }
            self.ios.remove(id);
        }
        Ok(())
    }

    /// Executes a single request, and returns its latency.
    ///
    /// # Errors
    /// The drive answers with another status than success.
    pub fn one(&mut self, op: Op, block: u64, blocks: u32) -> Result<Nanos, Failed> {
        let began = self.pace.now();
        let io = self.ios.insert(Io { load: 0, op, began, sectors: 0, parts: 1, widens: false });
        self.submit(began, Part { io, block, blocks });
        let mut answers = Answers::default();
        self.heard = began;
        loop {
            let now = self.pace.now();
            self.drive.poll(now, &mut answers);
            if let Some(response) = answers.responses.pop() {
                self.requests.remove(RequestId::new(response.id));
                self.ios.remove(io);
                let Status::Success = response.status else {
                    return Err(Failed { op, block, status: response.status });
                };
                return Ok(self.pace.now().since(began));
            }
            self.pace.wait(&mut self.drive, now.since(self.heard), Time::NEVER);
        }
    }

    /// Trims the region from its start, for at most `most`; returns the share that was trimmed.
    pub fn trim(&mut self, most: Nanos) -> f64 {
        let (first, blocks) = (self.region.start, self.region.end - self.region.start);
        let (mut spent, mut next) = (Nanos::ZERO, 0);
        while next < blocks && spent < most && !self.watch.is_stopped() {
            let count = (TRIM / BLOCK_BYTES).min(blocks - next);
            // Support for trim is not required here.
            let Ok(took) = self.one(Op::Trim, first + next, count as u32) else { break };
            spent += took;
            next += count;
        }
        next as f64 / blocks as f64
    }

    /// Replaces the drive, which has nothing in flight, by another of the same size and kind.
    ///
    /// # Panics
    /// If requests are in flight, or the new drive differs in size, depth or cache from the one before.
    pub fn replace(&mut self, drive: D) {
        assert!(self.requests.is_empty(), "nothing is in flight");
        assert_eq!(drive.disk(), self.drive.disk(), "it is like the one before");
        self.drive = drive;
    }

    /// Leaves the drive idle for `long`, or until the run is cancelled.
    pub fn rest(&mut self, long: Nanos) {
        let until = self.pace.now() + long;
        let mut answers = Answers::default();
        loop {
            let now = self.pace.now();
            if now >= until || self.watch.is_stopped() {
                return;
            }
            self.drive.poll(now, &mut answers);
            self.pace.wait(&mut self.drive, Nanos(u64::MAX), until);
        }
    }

    /// A random block of the region with room for `blocks` blocks.
    pub fn somewhere(&mut self, blocks: u32) -> u64 {
        let room = (self.region.end - self.region.start).saturating_sub(u64::from(blocks)) + 1;
        self.region.start + self.random.below(room)
    }
}

/// Bytes per trim request.
const TRIM: u64 = 1 << 30;
