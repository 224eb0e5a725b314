//! A test harness: a host, an array and its drives, in virtual time.

use crate::raid::drive::{Drive, response};
use crate::raid::model::{Model, same};
use std::collections::BTreeMap;
use tailcut_base::fdp::HandleId;
use tailcut_base::ids::Id;
use tailcut_base::random::Stream;
use tailcut_base::{Cause, Class, Nanos, Op, Spans, Status, Time};
use tailcut_host::array::DriveId;
use tailcut_host::array::{Array, ArrayConfig, Consent, LayoutKind, MemberId, Opening};
use tailcut_host::{Bytes, Disk, Mirror, Request, Response};

/// A request by the host.
struct Asked {
    op: Op,
    block: u64,
    fua: bool,
    since: Time,
    expected: Vec<Bytes>,
    marks: Vec<usize>,
}

/// A request on a drive: the drive, the start time, the value of [`Drive::begin`], and the request.
type UnderWay = (usize, Time, u64, Request<Bytes>);

pub(crate) struct Harness {
    pub array: Array<Bytes>,
    pub drives: Vec<Drive>,
    pub model: Model,
    pub now: Time,
    pub stream: Stream,
    pub config: ArrayConfig,
    /// Requests on drives, by completion time and arrival order.
    under_way: BTreeMap<(Time, u64), UnderWay>,
    order: u64,
    asked: BTreeMap<u32, Asked>,
    next: u32,
    /// Violations of the model.
    pub wrong: Vec<String>,
    /// Requests that failed.
    pub failed: Vec<(Op, Status)>,
    /// A failed request is allowed, and leaves the stored content undefined.
    pub may_fail: bool,
    pub steps: u64,
    /// The completion of [`Harness::read_copy`].
    copy: Option<Response<Bytes>>,
    /// Observer of all requests to drives; its messages are collected.
    pub watch: Option<Watch>,
    pub seen: Vec<String>,
}

/// Request ID of [`Harness::read_copy`].
const COPY: u32 = u32::MAX - 1;

/// Inspects a request to a drive.
pub(crate) type Watch = fn(&Array<Bytes>, DriveId, &Request<Bytes>) -> Option<String>;

pub(crate) fn config(layout: LayoutKind, drives: u32) -> ArrayConfig {
    let mut config = ArrayConfig { drives, layout, depth: 64, drive_depth: 8, ..ArrayConfig::default() };
    config.raid.chunk = 4 * 4096;
    config.raid.journal = 40 * 4096;
    assert!(config.problems().is_empty(), "{:?}", config.problems());
    config
}

pub(crate) fn disk() -> Disk {
    Disk { blocks: 2 + 40 + 6 * 4, depth: 8, most_blocks: 3, volatile_cache: true, copies: 1, handles: 1 }
}

/// The drives of an array: with checksums, they have an area for them behind the data.
fn disk_of(config: &ArrayConfig) -> Disk {
    let area = if config.has_checksums_in_place() { AREA } else { 0 };
    Disk { blocks: disk().blocks + area, ..disk() }
}

/// Number of checksum blocks on a drive with a single region.
const AREA: u64 = 2;

impl Harness {
    /// A new array that is ready for requests.
    pub(crate) fn new(config: &ArrayConfig, seed: u64) -> Harness {
        Harness::on(&disk_of(config), config, seed)
    }

    /// A new array on drives of this shape.
    pub(crate) fn on(disk: &Disk, config: &ArrayConfig, seed: u64) -> Harness {
        let disks = vec![disk.clone(); config.drives as usize];
        let mut drives: Vec<Drive> = disks.iter().map(Drive::new).collect();
        let mut stream = Stream::new(seed, "rig");
        // The drives' previous content must not matter.
        for drive in &mut drives {
            for block in 0..drive.disk.blocks {
                let noise = [stream.bits() as u8; 32];
                drive.plant(block, tailcut_host::Block::encode(&noise));
            }
        }
        let array = Array::create(Time::ZERO, config, &disks, 77);
        let model = Model::new(array.disk().blocks);
        let mut harness = Harness::around(array, drives, model, stream, config);
        harness.until_ready();
        harness
    }

    /// An array without superblocks on blank drives.
    pub(crate) fn fresh(config: &ArrayConfig, seed: u64) -> Harness {
        let disks = vec![disk_of(config); config.drives as usize];
        let drives = disks.iter().map(Drive::new).collect();
        let array = Array::fresh(config, &disks);
        let model = Model::new(array.disk().blocks);
        Harness::around(array, drives, model, Stream::new(seed, "rig"), config)
    }

    fn around(
        array: Array<Bytes>,
        drives: Vec<Drive>,
        model: Model,
        stream: Stream,
        config: &ArrayConfig,
    ) -> Harness {
        Harness {
            array,
            drives,
            model,
            now: Time::ZERO,
            stream,
            config: config.clone(),
            under_way: BTreeMap::new(),
            order: 0,
            asked: BTreeMap::new(),
            next: 0,
            wrong: Vec::new(),
            failed: Vec::new(),
            may_fail: false,
            steps: 0,
            copy: None,
            watch: None,
            seen: Vec::new(),
        }
    }

    pub(crate) fn until_ready(&mut self) {
        self.pump();
        while !self.array.is_ready() {
            assert!(self.step(), "an array becomes ready");
        }
    }

    /// Passes on requests and completions.
    fn pump(&mut self) {
        loop {
            for (drive, request) in std::mem::take(self.array.sent()) {
                let latency = Nanos(1_000 + self.stream.below(100_000));
                self.order += 1;
                let place = drive.index();
                let begun = self.drives[place].begin();
                assert!(request.op == Op::Trim || request.blocks <= self.drives[place].disk.most_blocks);
                self.seen.extend(self.watch.and_then(|watch| watch(&self.array, drive, &request)));
                self.under_way.insert((self.now + latency, self.order), (place, self.now, begun, request));
            }
            let calls = std::mem::take(self.array.controls());
            if calls.is_empty() {
                break;
            }
            for (drive, call) in calls {
                let reply = self.drives[drive.index()].control(self.now, call);
                self.array.control_answered(self.now, drive, call, reply);
            }
        }
        for answer in std::mem::take(self.array.answers()) {
            self.check(answer);
        }
    }

    fn check(&mut self, answer: Response<Bytes>) {
        if answer.id == COPY {
            self.copy = Some(answer);
            return;
        }
        let asked = self.asked.remove(&answer.id).expect("each request is answered once");
        assert_eq!(answer.spans.total(), self.now.since(asked.since), "spans of {:?}", asked.op);
        if answer.status != Status::Success {
            self.failed.push((asked.op, answer.status));
            assert!(self.may_fail, "{:?} of {} failed with {:?}", asked.op, asked.block, answer.status);
            return;
        }
        match asked.op {
            Op::Read => {
                for (at, (found, expected)) in answer.data.iter().zip(&asked.expected).enumerate() {
                    if !same(found, expected) {
                        let block = asked.block + at as u64;
                        let (found, expected) = (&found.as_slice()[..16], &expected.as_slice()[..16]);
                        self.wrong.push(format!("read of {block}: {found:?} instead of {expected:?}"));
                    }
                }
            }
            Op::Write | Op::Trim => {
                for (block, &mark) in (asked.block..).zip(&asked.marks) {
                    self.model.acknowledge(block, mark, asked.fua);
                }
            }
            Op::Flush => self.model.flushed(&asked.marks),
        }
    }

    /// Processes one event; false if there is none.
    pub(crate) fn step(&mut self) -> bool {
        let drive = self.under_way.keys().next().copied();
        let own = self.array.next_event();
        let next = drive.map_or(Time::NEVER, |(at, _)| at);
        if own == Time::NEVER && next == Time::NEVER {
            return false;
        }
        self.steps += 1;
        assert!(self.steps < 4_000_000, "it comes to rest");
        if own <= next {
            self.now = self.now.max(own);
            self.array.advance(self.now);
        } else {
            let (key, (drive, since, begun, mut request)) = self.under_way.pop_first().unwrap();
            self.now = key.0;
            let status = self.drives[drive].end(begun, &mut request);
            let mut spans = Spans::new();
            spans.add(Cause::Cell, self.now.since(since));
            self.array.answered(self.now, DriveId::at(drive), response(request, status, spans));
        }
        self.pump();
        if self.steps.is_multiple_of(16) {
            self.array.check().expect("the array keeps its invariants");
        }
        true
    }

    /// Runs until everything is idle.
    pub(crate) fn rest(&mut self) {
        self.pump();
        while self.step() {}
        assert!(self.asked.is_empty(), "everything is answered");
        self.array.check_at_rest().expect("nothing is held at rest");
    }

    pub(crate) fn in_flight(&self) -> usize {
        self.asked.len()
    }

    /// True if a drive has a request of this kind in flight.
    #[allow(dead_code)] // Not every layout's tests ask.
    pub(crate) fn has(&self, drive: usize, op: Op) -> bool {
        self.under_way.values().any(|(at, _, _, request)| *at == drive && request.op == op)
    }

    pub(crate) fn submit(&mut self, op: Op, block: u64, blocks: u32, fua: bool) {
        let id = self.next;
        self.next += 1;
        let range = block..block + u64::from(blocks);
        let (mut data, mut expected, mut marks) = (Vec::new(), Vec::new(), Vec::new());
        match op {
            Op::Read => expected = range.map(|block| self.model.expected(block)).collect(),
            Op::Write => data = range.clone().map(|block| self.model.write(block)).collect(),
            Op::Trim => range.clone().for_each(|block| self.model.trim(block)),
            Op::Flush => marks = self.model.acknowledged(),
        }
        if matches!(op, Op::Write | Op::Trim) {
            marks = (block..block + u64::from(blocks)).map(|block| self.model.mark(block)).collect();
        }
        let class = Class::DEFAULT;
        let since = self.now;
        // A trim becomes durable only with a flush.
        let asked_fua = fua && op == Op::Write;
        self.asked.insert(id, Asked { op, block, fua: asked_fua, since, expected, marks });
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
        self.array.submit(self.now, request).expect("the array takes it");
        self.pump();
    }

    /// Reads one copy of some blocks.
    pub(crate) fn read_copy(
        &mut self,
        mirror: Mirror,
        block: u64,
        blocks: u32,
        right: Vec<Bytes>,
    ) -> Response<Bytes> {
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
            blocks,
            data: right,
        };
        self.array.submit(self.now, request).expect("the array takes it");
        self.pump();
        while self.copy.is_none() {
            assert!(self.step(), "a read ends");
        }
        self.copy.take().expect("it has ended")
    }

    /// Acts as a reader with its own checksums: reads some blocks, tries the other copies of the corrupt
    /// ones, and has those rewritten. Returns the number of corrupt blocks, and of blocks corrupt in all
    /// copies.
    pub(crate) fn read_as_a_file_system(&mut self, blocks: std::ops::Range<u64>) -> (u64, u64) {
        let (mut wrong, mut lost) = (0, 0);
        for block in blocks {
            let right = self.model.expected(block);
            let is_right =
                |answer: &Response<Bytes>| answer.status == Status::Success && same(&answer.data[0], &right);
            if is_right(&self.read_copy(Mirror::Any, block, 1, Vec::new())) {
                continue;
            }
            wrong += 1;
            let copies = 0..self.array.disk().copies;
            let good =
                copies.clone().find(|&n| is_right(&self.read_copy(Mirror::Only(n), block, 1, Vec::new())));
            match good {
                Some(good) => {
                    let answer = self.read_copy(Mirror::Repair(good), block, 1, vec![right.clone()]);
                    assert!(is_right(&answer));
                }
                None => lost += 1,
            }
        }
        (wrong, lost)
    }

    /// Submits a random request.
    pub(crate) fn submit_random(&mut self) {
        let all = self.array.disk().blocks;
        let block = self.stream.below(all);
        let most = if self.stream.below(8) == 0 { 24 } else { 4 };
        let blocks = (1 + self.stream.below(most)).min(all - block) as u32;
        match self.stream.below(20) {
            0 => self.submit(Op::Flush, 0, 0, false),
            1 => self.submit(Op::Trim, block, blocks, false),
            2..=11 => {
                let fua = self.stream.below(10) == 0;
                self.submit(Op::Write, block, blocks, fua);
            }
            _ => self.submit(Op::Read, block, blocks, false),
        }
    }

    /// Submits `requests` random requests, with up to `depth` in flight.
    pub(crate) fn work(&mut self, requests: usize, depth: usize) {
        for _ in 0..requests {
            while self.in_flight() >= depth {
                assert!(self.step(), "requests in flight end");
            }
            self.submit_random();
        }
    }

    /// Cuts power, then opens the array without the drives `lost`.
    pub(crate) fn cut(mut self, lost: &[usize]) -> Harness {
        let mut on: Vec<Vec<Request<Bytes>>> = vec![Vec::new(); self.drives.len()];
        for (drive, _, _, request) in std::mem::take(&mut self.under_way).into_values() {
            on[drive].push(request);
        }
        for (drive, under_way) in self.drives.iter_mut().zip(&on) {
            drive.cut(&mut self.stream, under_way);
        }
        let there: Vec<usize> =
            (0..self.drives.len()).filter(|d| !lost.contains(d) && !self.drives[*d].is_gone).collect();
        let disks: Vec<Disk> = there.iter().map(|&drive| self.drives[drive].disk.clone()).collect();
        let mut opening = Opening::new(Time::ZERO, &disks, Consent::Degraded);
        while !opening.sent().is_empty() {
            for (drive, mut request) in std::mem::take(opening.sent()) {
                let status = self.drives[there[drive.index()]].end(0, &mut request);
                opening.answered(Time::ZERO, drive, response(request, status, Spans::new()));
            }
        }
        let found = opening.found().expect("all have answered").expect("it can be opened");
        for (member, drive) in self.drives.iter_mut().enumerate() {
            drive.is_gone |= found.order[DriveId::at(member)].is_none();
        }
        let disks: Vec<Disk> = self.drives.iter().map(|drive| drive.disk.clone()).collect();
        let array = Array::open(Time::ZERO, &self.config, &disks, &found);
        let mut harness = Harness::around(array, self.drives, self.model, self.stream, &self.config);
        (harness.wrong, harness.watch, harness.seen) = (self.wrong, self.watch, self.seen);
        harness.pump();
        harness
    }

    /// Reads every block and compares it with its possible contents after a power cut.
    pub(crate) fn settle(&mut self) {
        let was_asked = self.array.disk().blocks;
        let mut found = Vec::new();
        for block in 0..was_asked {
            let (id, class, since) = (u32::MAX, Class::DEFAULT, self.now);
            let (op, data) = (Op::Read, Vec::new());
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
            self.array.submit(self.now, request).expect("the array takes it");
            let answer = loop {
                for (drive, request) in std::mem::take(self.array.sent()) {
                    self.order += 1;
                    self.under_way.insert((self.now, self.order), (drive.index(), self.now, 0, request));
                }
                if let Some(answer) = self.array.answers().pop() {
                    break answer;
                }
                let (_, (drive, _, begun, mut request)) = self.under_way.pop_first().expect("it ends");
                let status = self.drives[drive].end(begun, &mut request);
                self.array.answered(self.now, DriveId::at(drive), response(request, status, Spans::new()));
            };
            assert_eq!(answer.spans.total(), self.now.since(since));
            if answer.status == Status::Success {
                found.push((block, answer.data[0].clone()));
            } else {
                self.wrong.push(format!("read of {block} after a power cut: {:?}", answer.status));
            }
        }
        for (block, content) in found {
            self.wrong.extend(self.model.settle(block, &content).err());
        }
    }

    /// The first data block of each drive.
    pub(crate) fn data_start(&self) -> u64 {
        use tailcut_host::array::raid::WriteHole;
        match self.config.raid.write_hole {
            _ if !self.config.layout.is_redundant() => 2,
            WriteHole::Journal => 2 + self.config.raid.journal_blocks(),
            WriteHole::Resync => 4,
        }
    }

    /// The first block behind the data on each drive.
    pub(crate) fn data_end(&self) -> u64 {
        self.array.core().usable().end
    }

    /// Once the array is idle, the blocks of every row XOR to zero.
    pub(crate) fn check_parity(&mut self) {
        if !self.config.layout.is_redundant() {
            return;
        }
        for block in self.data_start()..self.data_end() {
            let mut sum = Bytes::default();
            for drive in &self.drives {
                tailcut_host::Block::xor(&mut sum, &drive.get(block));
            }
            if !same(&sum, &Bytes::default()) {
                self.wrong.push(format!("row {block} does not add up to zero"));
            }
        }
    }

    /// Replaces a drive by a blank one.
    pub(crate) fn replace(&mut self, drive: usize) {
        let disk = self.drives[drive].disk.clone();
        let mut blank = Drive::new(&disk);
        // Not quite blank: it has been used before, and only its superblock was erased.
        for block in 2..blank.disk.blocks {
            blank.plant(block, self.drives[drive].get(block / 2));
        }
        blank.is_unsealed = self.drives[drive].is_unsealed;
        self.drives[drive] = blank;
        self.array
            .replace(self.now, DriveId::at(drive), disk, MemberId::new(self.now.0.into()))
            .expect("it is large enough");
        self.pump();
    }

    /// Starts a scrub.
    #[allow(dead_code, reason = "arrays with epochs are tested with this harness, too")]
    pub(crate) fn scrub(&mut self) {
        self.array.scrub(self.now);
        self.pump();
    }

    pub(crate) fn is_right(&self) {
        assert!(self.wrong.is_empty(), "{:#?}", &self.wrong[..self.wrong.len().min(5)]);
    }
}
