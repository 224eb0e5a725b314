//! A test harness: an array, its drives, the model, and their clock.

use crate::log::machine::{Machine, is_heavy};
use crate::log::model::Model;
use std::collections::BTreeMap;
use tailcut_base::control::ControlReply;
use tailcut_base::fdp::HandleId;
use tailcut_base::ids::Id;
use tailcut_base::random::Stream;
use tailcut_base::{Class, Op, Status, Time};
use tailcut_host::array::DriveId;
use tailcut_host::array::log::{LogFigures, ScrubReport};
use tailcut_host::array::{Array, ArrayConfig, Consent, LayoutKind, MemberId, Opening};
use tailcut_host::{Block, Bytes, Disk, Mirror, Request, Response};

/// Expected outcome of a request in flight.
struct Expected {
    op: Op,
    fua: bool,
    block: u64,
    /// Values of a read, or version numbers of a write.
    values: Vec<u64>,
    versions: Vec<usize>,
    /// Versions that a flush makes durable.
    covers: Vec<(u64, usize)>,
    since: Time,
}

pub(super) struct Harness {
    pub config: ArrayConfig,
    pub array: Array<Bytes>,
    pub machines: Vec<Machine>,
    pub model: Model,
    pub now: Time,
    pub random: Stream,
    events: BTreeMap<(Time, u64), (usize, u32)>,
    expected: BTreeMap<u32, Expected>,
    sequence: u64,
    next_id: u32,
    next_value: u64,
    /// Number of processed events.
    pub steps: u64,
    /// Completions with an error.
    pub failures: Vec<(Op, Status)>,
    pub answers: u64,
    /// The completion of [`Harness::read_copy`].
    copy: Option<Response<Bytes>>,
    /// Requests sent to the drives, if a test records them.
    pub log_sent: Option<Vec<Sent>>,
    /// Verifies that no drive gets a request that it may not serve now: see [`Harness::watch_token`].
    pub watches_tokens: bool,
}

/// Request ID of [`Harness::read_copy`].
const COPY: u32 = u32::MAX - 1;

/// A request to a drive, with the state of the array when it was sent.
pub(super) struct Sent {
    pub drive: usize,
    pub op: Op,
    pub class: u8,
    pub block: u64,
    pub front: u32,
    pub collecting: Option<u32>,
}

pub(super) fn config(layout: LayoutKind, groups: u32, width: u32) -> ArrayConfig {
    let mut config = ArrayConfig { drives: groups * width, layout, groups, depth: 64, ..Default::default() };
    config.log.segment = 65_536;
    config
}

/// A configuration with tokens.
pub(super) fn with_tokens(layout: LayoutKind, groups: u32, width: u32) -> ArrayConfig {
    let mut config = config(layout, groups, width);
    config.log.tokens = true;
    config
}

pub(super) fn disk(blocks: u64) -> Disk {
    Disk { blocks, depth: 16, most_blocks: 32, volatile_cache: true, copies: 1, handles: 1 }
}

impl Harness {
    /// An array with superblocks, on new drives.
    pub(super) fn create(config: ArrayConfig, blocks: u64, seed: u64) -> Harness {
        let disks = vec![disk(blocks); config.drives as usize];
        Harness::create_on(config, disks, seed)
    }

    pub(super) fn create_on(config: ArrayConfig, disks: Vec<Disk>, seed: u64) -> Harness {
        let array = Array::create(Time::ZERO, &config, &disks, 0x5EED + u128::from(seed));
        let mut harness = Harness::over(config, array, disks, seed);
        harness.pump();
        while !harness.array.is_ready() {
            assert!(harness.step(), "an array gets ready");
        }
        harness
    }

    /// An array without superblocks.
    pub(super) fn fresh(config: ArrayConfig, blocks: u64, seed: u64) -> Harness {
        let disks = vec![disk(blocks); config.drives as usize];
        let array = Array::fresh(&config, &disks);
        Harness::over(config, array, disks, seed)
    }

    fn over(config: ArrayConfig, array: Array<Bytes>, disks: Vec<Disk>, seed: u64) -> Harness {
        Harness {
            config,
            array,
            machines: disks.into_iter().map(Machine::new).collect(),
            model: Model::default(),
            now: Time::ZERO,
            random: Stream::new(seed, "rig"),
            events: BTreeMap::new(),
            expected: BTreeMap::new(),
            sequence: 0,
            next_id: 0,
            next_value: 1,
            steps: 0,
            failures: Vec::new(),
            answers: 0,
            copy: None,
            log_sent: None,
            watches_tokens: false,
        }
    }

    pub(super) fn figures(&self) -> LogFigures {
        self.array.log_figures().expect("it writes a log")
    }

    pub(super) fn blocks(&self) -> u64 {
        self.array.disk().blocks
    }

    pub(super) fn in_flight(&self) -> usize {
        self.expected.len()
    }

    /// Submits a request; the data of a write is new.
    pub(super) fn submit(&mut self, op: Op, block: u64, blocks: u32, fua: bool) -> bool {
        let id = self.next_id;
        let mut data = Vec::new();
        let first_value = self.next_value;
        if op == Op::Write {
            for _ in 0..blocks {
                data.push(Bytes::encode(&self.next_value.to_le_bytes()));
                self.next_value += 1;
            }
        }
        let class = Class::DEFAULT;
        let request = Request {
            id,
            op,
            fua,
            class,
            fail_fast: false,
            mirror: Mirror::Any,
            handle: HandleId::FIRST,
            block,
            blocks,
            data,
        };
        if self.array.submit(self.now, request).is_err() {
            return false;
        }
        self.next_id += 1;
        let range = block..block + u64::from(blocks);
        let (mut values, mut versions, mut covers) = (Vec::new(), Vec::new(), Vec::new());
        match op {
            Op::Read => values.extend(range.map(|at| self.model.current(at))),
            Op::Write => versions.extend(range.zip(first_value..).map(|(at, v)| self.model.submitted(at, v))),
            Op::Trim => versions.extend(range.map(|at| self.model.submitted(at, 0))),
            Op::Flush => covers = self.model.answered_now(),
        }
        let expected = Expected { op, fua, block, values, versions, covers, since: self.now };
        self.expected.insert(id, expected);
        self.pump();
        true
    }

    /// Reads a copy of a block.
    pub(super) fn read_copy(&mut self, mirror: Mirror, block: u64, right: Vec<Bytes>) -> Response<Bytes> {
        let (id, op, class, fail_fast) = (COPY, Op::Read, Class::DEFAULT, false);
        let request = Request {
            id,
            op,
            fua: false,
            class,
            fail_fast,
            mirror,
            handle: HandleId::FIRST,
            block,
            blocks: 1,
            data: right,
        };
        self.array.submit(self.now, request).expect("the array takes it");
        self.pump();
        while self.copy.is_none() {
            assert!(self.step(), "a read ends");
        }
        self.copy.take().expect("it has ended")
    }

    /// Passes on everything that the array has produced.
    pub(super) fn pump(&mut self) {
        for (drive, request) in std::mem::take(self.array.sent()) {
            self.note(drive.index(), &request);
            let id = request.id;
            if self.watches_tokens {
                self.watch_token(drive.index(), &request);
            }
            let at = self.machines[drive.index()].take(self.now, request, &mut self.random);
            self.sequence += 1;
            self.events.insert((at, self.sequence), (drive.index(), id));
        }
        for answer in std::mem::take(self.array.answers()) {
            self.answered(answer);
        }
        for (drive, call) in std::mem::take(self.array.controls()) {
            self.array.control_answered(self.now, drive, call, ControlReply::Unsupported);
            self.pump();
        }
    }

    /// In a group of healthy drives, only one at a time may write or collect, and it gets no other reads
    /// meanwhile.
    fn watch_token(&self, drive: usize, request: &Request<Bytes>) {
        let width = self.config.width();
        if is_heavy(request) {
            assert_eq!(self.machines[drive].reading(), 0, "drive {drive} works while it is read");
            let first = drive / width * width;
            let others = (first..first + width).filter(|&other| other != drive);
            let writing: Vec<usize> = others.filter(|&other| self.machines[other].heavy() > 0).collect();
            assert_eq!(writing, [], "drive {drive} works, too");
        } else if request.op == Op::Read {
            assert_eq!(self.machines[drive].heavy(), 0, "drive {drive} is read while it works");
        }
    }

    fn note(&mut self, drive: usize, request: &Request<Bytes>) {
        let LogFigures { front, collecting, .. } = self.figures();
        if let Some(log) = &mut self.log_sent {
            let (op, class, block) = (request.op, request.class.number(), request.block);
            log.push(Sent { drive, op, class, block, front, collecting });
        }
    }

    fn answered(&mut self, answer: Response<Bytes>) {
        if answer.id == COPY {
            self.copy = Some(answer);
            return;
        }
        self.answers += 1;
        let expected = self.expected.remove(&answer.id).expect("it is in flight");
        assert_eq!(answer.spans.total(), self.now.since(expected.since), "time is accounted for");
        if answer.status != Status::Success {
            self.failures.push((expected.op, answer.status));
            if expected.op == Op::Write {
                (expected.block..).zip(&expected.versions).for_each(|(at, _)| self.model.refused(at));
            }
            return;
        }
        match expected.op {
            Op::Read => {
                for ((at, block), value) in (expected.block..).zip(&answer.data).zip(expected.values) {
                    let is_right = value_of(block) == value || !self.model.is_known(at);
                    assert!(is_right, "block {at} at {}: {}, not {value}", self.now, value_of(block));
                }
            }
            Op::Write | Op::Trim => {
                for (at, version) in (expected.block..).zip(expected.versions) {
                    self.model.answered(at, version);
                    if expected.fua && expected.op == Op::Write {
                        self.model.durable(at, version);
                    }
                }
            }
            Op::Flush => {
                for (at, version) in expected.covers {
                    self.model.durable(at, version);
                }
            }
        }
    }

    /// Processes the next event; false if there is none.
    pub(super) fn step(&mut self) -> bool {
        let own = self.array.next_event();
        let next = self.events.first_key_value().map(|(&(at, _), _)| at);
        if next.is_none_or(|at| own < at) {
            if own == Time::NEVER {
                return false;
            }
            self.now = own.max(self.now);
            self.array.advance(self.now);
        } else {
            let ((at, _), (drive, id)) = self.events.pop_first().expect("there is one");
            self.now = at;
            let response = self.machines[drive].end(at, id);
            self.array.answered(at, DriveId::at(drive), response);
        }
        self.steps += 1;
        self.pump();
        if self.steps.is_multiple_of(512) {
            self.array.check().expect("the array keeps its invariants");
        }
        true
    }

    /// Processes events until no request is in flight.
    pub(super) fn settle(&mut self) {
        while !self.expected.is_empty() {
            assert!(self.step(), "{} requests wait for ever", self.expected.len());
        }
    }

    /// Processes events until none is left.
    pub(super) fn rest(&mut self) {
        while self.step() {}
        assert!(self.expected.is_empty(), "{} requests wait for ever", self.expected.len());
        self.array.check_at_rest().expect("nothing is held at rest");
    }

    /// Submits a request as soon as the array accepts it.
    pub(super) fn must_submit(&mut self, op: Op, block: u64, blocks: u32) {
        while !self.submit(op, block, blocks, false) {
            assert!(self.step(), "a request is taken at last");
        }
    }

    pub(super) fn write(&mut self, block: u64, blocks: u32) {
        assert!(self.submit(Op::Write, block, blocks, false));
    }

    pub(super) fn flush(&mut self) {
        assert!(self.submit(Op::Flush, 0, 0, false));
        self.settle();
    }

    /// Submits a random request within the first `region` blocks; `weights` are those of writes, reads, trims
    /// and flushes.
    pub(super) fn random_request(&mut self, region: u64, weights: [u64; 4]) {
        let all: u64 = weights.iter().sum();
        let mut draw = self.random.below(all);
        let ops = [Op::Write, Op::Read, Op::Trim, Op::Flush];
        let mut chosen = 0;
        while draw >= weights[chosen] {
            draw -= weights[chosen];
            chosen += 1;
        }
        let blocks = 1 + if self.random.chance_ppm(200_000) { self.random.below(20) } else { 0 };
        let blocks = blocks.min(region);
        let block = self.random.below(region - blocks + 1);
        let fua = self.random.chance_ppm(50_000);
        while !self.array.is_ready() {
            assert!(self.step(), "the array gets ready");
        }
        match ops[chosen] {
            Op::Flush => self.submit(Op::Flush, 0, 0, false),
            op => self.submit(op, block, blocks as u32, fua && op == Op::Write),
        };
    }

    /// Submits `requests` random requests, with up to `depth` in flight.
    pub(super) fn run(&mut self, requests: u64, depth: usize, region: u64, weights: [u64; 4]) {
        for _ in 0..requests {
            self.random_request(region, weights);
            while self.in_flight() >= depth {
                assert!(self.step(), "requests wait for ever: {:?}", self.figures());
            }
        }
    }

    /// Replaces a missing drive.
    pub(super) fn replace(&mut self, drive: usize) {
        self.machines[drive].replace();
        let disk = self.machines[drive].disk.clone();
        self.array
            .replace(self.now, DriveId::at(drive), disk, MemberId::new(self.now.0.into()))
            .expect("it is large enough");
        self.pump();
    }

    /// Scrubs the array; returns the report.
    pub(super) fn scrub(&mut self) -> ScrubReport {
        self.array.scrub(self.now);
        self.pump();
        self.rest();
        let report = self.array.log_scrub().expect("it writes a log");
        assert!(report.is_done, "{report:?}");
        report
    }

    /// Reads all blocks and compares them with the model.
    pub(super) fn read_all(&mut self) {
        for block in 0..self.blocks() {
            while !self.submit(Op::Read, block, 1, false) {
                assert!(self.step());
            }
        }
        self.settle();
        assert_eq!(self.failures, []);
    }

    /// Cuts power and reopens the array; then every block must hold one of its possible contents.
    pub(super) fn cut_and_open(&mut self) {
        self.cut();
        self.open();
        self.check_survivors();
    }

    /// As [`Harness::cut_and_open`], with one drive gone.
    pub(super) fn cut_and_open_without(&mut self, drive: usize) {
        self.machines[drive].is_gone = true;
        self.cut();
        self.open();
        self.check_survivors();
    }

    pub(super) fn cut(&mut self) {
        self.events.clear();
        self.expected.clear();
        for machine in &mut self.machines {
            machine.cut(&mut self.random);
        }
    }

    /// Begins to open the array. A drive that is gone counts as damaged.
    pub(super) fn begin_open(&mut self) {
        let disks: Vec<Disk> = self.machines.iter().map(|machine| machine.disk.clone()).collect();
        let mut opening = Opening::new(self.now, &disks, Consent::Refuse);
        loop {
            for (drive, request) in std::mem::take(opening.sent()) {
                let id = request.id;
                let _ = self.machines[drive.index()].take(self.now, request, &mut self.random);
                let response = self.machines[drive.index()].end(self.now, id);
                opening.answered(self.now, drive, response);
            }
            if let Some(found) = opening.found() {
                let found = found.expect("an array");
                assert!(found.order.iter().enumerate().all(|(at, from)| from.is_none_or(|from| from == at)));
                self.array = Array::open(self.now, &self.config, &disks, &found);
                break;
            }
        }
        self.pump();
    }

    pub(super) fn open(&mut self) {
        self.begin_open();
        while !self.array.is_ready() {
            assert!(self.step(), "recovery ends");
        }
    }

    /// Verifies that every block holds one of its possible contents.
    pub(super) fn check_survivors(&mut self) {
        for block in 0..self.blocks() {
            while !self.array.is_ready() {
                assert!(self.step(), "a record is written");
            }
            let id = self.next_id;
            self.next_id += 1;
            let (op, class, data) = (Op::Read, Class::DEFAULT, Vec::new());
            let request = Request {
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
            assert!(self.array.submit(self.now, request).is_ok());
            let answer = loop {
                let answers = std::mem::take(self.array.answers());
                if let Some(answer) = answers.into_iter().next() {
                    break answer;
                }
                for (drive, request) in std::mem::take(self.array.sent()) {
                    let id = request.id;
                    let at = self.machines[drive.index()].take(self.now, request, &mut self.random);
                    self.sequence += 1;
                    self.events.insert((at, self.sequence), (drive.index(), id));
                }
                let ((at, _), (drive, id)) = self.events.pop_first().expect("a read is answered");
                self.now = at;
                let response = self.machines[drive].end(at, id);
                self.array.answered(at, DriveId::at(drive), response);
            };
            assert_eq!(answer.status, Status::Success, "block {block}");
            self.model.survived(block, value_of(&answer.data[0]));
        }
    }
}

/// The value in a block.
fn value_of(block: &Bytes) -> u64 {
    u64::from_le_bytes(block.as_slice()[..8].try_into().expect("8 bytes"))
}

/// Seeds of test cases: `count`, or as many as the environment requests.
pub(super) fn cases(count: u64) -> impl Iterator<Item = u64> {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let first = number("TAILCUT_SEED").unwrap_or(1);
    first..first + number("TAILCUT_CASES").unwrap_or(count)
}

pub(super) const LAYOUTS: [(LayoutKind, u32, u32); 7] = [
    (LayoutKind::LogRaid0, 1, 2),
    (LayoutKind::LogRaid4, 1, 4),
    (LayoutKind::LogRaid5, 1, 3),
    (LayoutKind::Swan0, 3, 1),
    (LayoutKind::Swan0, 4, 2),
    (LayoutKind::Swan4, 3, 3),
    (LayoutKind::Swan5, 2, 4),
];

/// Layouts that support tokens.
pub(super) const TOKENS: [(LayoutKind, u32, u32); 3] =
    [(LayoutKind::LogRaid4, 1, 4), (LayoutKind::LogRaid5, 1, 3), (LayoutKind::Swan5, 2, 3)];
