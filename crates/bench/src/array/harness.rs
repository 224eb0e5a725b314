//! An array over drives without computational cost, to measure the cost of the array itself.

use std::collections::VecDeque;
use tailcut_base::cast::low_u32;
use tailcut_base::control::ControlReply;
use tailcut_base::fdp::HandleId;
use tailcut_base::random::Stream;
use tailcut_base::{Class, Nanos, Op, Spans, Status, Time};
use tailcut_host::array::{Array, ArrayConfig, DriveId, LayoutKind};
use tailcut_host::{Disk, Fingerprint, Mirror, Request, Response};

/// The array under measurement, and the load on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Load {
    /// Layout of the data on the drives.
    pub layout: LayoutKind,
    /// R-groups of SWAN; 1 for others.
    pub groups: u32,
    /// Number of drives of the array.
    pub drives: u32,
    /// Number of blocks of 4 KiB on each drive.
    pub blocks: u64,
    /// Whether requests are random reads instead of random writes; both of one block of 4 KiB.
    pub reads: bool,
}

/// Latency of every drive request.
const LATENCY: Nanos = Nanos::micros(100);

/// Concurrent requests of the host.
const DEPTH: u32 = 64;

/// An array with its drives and host.
#[derive(Debug)]
pub struct Harness {
    array: Array<Fingerprint>,
    /// Drive requests in the order of completion.
    asked: VecDeque<(Time, DriveId, Request<Fingerprint>)>,
    random: Stream,
    load: Load,
    now: Time,
    /// Unused request identifiers.
    ids: Vec<u32>,
    done: u64,
    spare: Vec<Vec<Fingerprint>>,
}

impl Harness {
    /// An array without content, on which `load` is applied.
    pub fn new(load: Load) -> Harness {
        let Load { layout, groups, drives, blocks, .. } = load;
        let config = ArrayConfig { layout, groups, drives, depth: DEPTH, ..ArrayConfig::default() };
        let disk = Disk { blocks, depth: 32, most_blocks: 256, volatile_cache: false, copies: 1, handles: 1 };
        let disks = vec![disk; drives as usize];
        Harness {
            array: Array::fresh(&config, &disks),
            asked: VecDeque::new(),
            random: Stream::new(1, "array rig"),
            load,
            now: Time::ZERO,
            ids: (0..DEPTH).collect(),
            done: 0,
            spare: Vec::new(),
        }
    }

    /// Blocks that the host uses: four fifths of the capacity.
    fn blocks(&self) -> u64 {
        self.array.disk().blocks / 5 * 4
    }

    /// Writes every block once in order, then as many at random: from then on a log collects garbage.
    pub fn settle(&mut self) {
        let blocks = self.blocks();
        for block in 0..blocks {
            self.ask(Op::Write, block);
        }
        for _ in 0..blocks {
            let block = self.random.below(blocks);
            self.ask(Op::Write, block);
        }
    }

    /// Executes `count` requests of the load.
    pub fn serve(&mut self, count: u64) {
        let (end, blocks) = (self.done + count, self.blocks());
        let op = if self.load.reads { Op::Read } else { Op::Write };
        while self.done < end {
            let block = self.random.below(blocks);
            self.ask(op, block);
        }
    }

    /// Number of requests that have completed.
    pub fn done(&self) -> u64 {
        self.done
    }

    fn ask(&mut self, op: Op, block: u64) {
        let id = loop {
            if let Some(id) = self.ids.pop() {
                break id;
            }
            self.step();
        };
        let mut data = self.spare.pop().unwrap_or_default();
        data.clear();
        if op == Op::Write {
            data.push(Fingerprint(low_u32(block)));
        }
        let class = Class::DEFAULT;
        let mut request = Request {
            id,
            op,
            fua: false,
            class,
            fail_fast: false,
            mirror: Mirror::Any,
            handle: HandleId::FIRST,
            block,
            blocks: 1,
            data,
        };
        while let Err(back) = self.array.submit(self.now, request) {
            request = back;
            self.step();
        }
        self.pass_on();
    }

    /// Advances time to the next drive completion or timer of the array.
    fn step(&mut self) {
        let due = self.asked.front().map_or(Time::NEVER, |&(due, ..)| due);
        let next = self.array.next_event().max(self.now);
        if due <= next {
            let (due, drive, request) = self.asked.pop_front().expect("requests are under way");
            self.now = due;
            let Request { id, op, blocks, mut data, .. } = request;
            if op == Op::Read {
                data.clear();
                data.resize(blocks as usize, Fingerprint(0));
            }
            let spans = Spans::new();
            let response = Response { id, status: Status::Success, data, busy_for: Nanos::ZERO, spans };
            self.array.answered(due, drive, response);
        } else {
            self.now = next;
            self.array.advance(next);
        }
        self.pass_on();
    }

    fn pass_on(&mut self) {
        let due = self.now + LATENCY;
        self.asked.extend(self.array.sent().drain(..).map(|(drive, request)| (due, drive, request)));
        while let Some((drive, call)) = self.array.controls().pop() {
            self.array.control_answered(self.now, drive, call, ControlReply::Unsupported);
        }
        for answer in self.array.answers().drain(..) {
            self.ids.push(answer.id);
            self.done += 1;
            self.spare.push(answer.data);
        }
    }
}
