//! Drives without room for writes, as sparse files on a full file system: the array reports that, fails no
//! drive, and resumes writes when there is room.

use std::collections::{BTreeMap, VecDeque};
use tailcut_base::control::ControlReply;
use tailcut_base::fdp::HandleId;
use tailcut_base::ids::Id;
use tailcut_base::{Class, Nanos, Op, Spans, Status, Time};
use tailcut_host::array::drives::RETRY_AFTER;
use tailcut_host::array::raid::WriteHole;
use tailcut_host::array::{Array, ArrayConfig, Condition, Consent, DriveId, LayoutKind, Opening, ReadPolicy};
use tailcut_host::mutation::{Invariant, broken};
use tailcut_host::{Block, Bytes, Disk, Mirror, Request, Response};

/// A drive whose writes are durable.
#[derive(Clone, Default)]
struct Drive {
    content: BTreeMap<u64, Bytes>,
    /// Blocks that were never written find no room.
    is_full: bool,
    /// No write finds any.
    is_frozen: bool,
    is_gone: bool,
}

impl Drive {
    fn carry_out(&mut self, request: Request<Bytes>) -> Response<Bytes> {
        let Request { id, op, block, blocks, mut data, .. } = request;
        let range = block..block + u64::from(blocks);
        let has_room = !self.is_full || range.clone().all(|block| self.content.contains_key(&block));
        let mut status = Status::Success;
        match op {
            _ if self.is_gone => status = Status::Gone,
            Op::Write if self.is_frozen || !has_room => status = Status::NoSpace,
            Op::Write => self.content.extend(range.zip(data.iter().cloned())),
            Op::Trim => range.for_each(|block| drop(self.content.remove(&block))),
            Op::Read => data = range.map(|at| self.content.get(&at).cloned().unwrap_or_default()).collect(),
            Op::Flush => {}
        }
        Response { id, status, data, busy_for: Nanos::ZERO, spans: Spans::new() }
    }
}

struct Harness {
    array: Array<Bytes>,
    drives: Vec<Drive>,
    config: ArrayConfig,
    now: Time,
    answers: VecDeque<Response<Bytes>>,
    next: u32,
}

const LATENCY: Nanos = Nanos::micros(50);

fn disks(config: &ArrayConfig) -> Vec<Disk> {
    let disk = Disk { blocks: 480, depth: 8, most_blocks: 16, volatile_cache: true, copies: 1, handles: 1 };
    vec![disk; config.drives as usize]
}

/// Every kind of layout, and its configuration.
fn configs() -> Vec<ArrayConfig> {
    let kinds = [
        (LayoutKind::Raid0, 2, 1),
        (LayoutKind::Raid4, 3, 1),
        (LayoutKind::Raid5, 4, 1),
        (LayoutKind::LogRaid0, 2, 1),
        (LayoutKind::LogRaid5, 4, 1),
        (LayoutKind::Swan5, 6, 2),
        (LayoutKind::Epochs, 4, 2),
    ];
    let mut all: Vec<ArrayConfig> = kinds.into_iter().map(config).collect();
    let mut resync = config((LayoutKind::Raid5, 3, 1));
    resync.raid.write_hole = WriteHole::Resync;
    let mut fail_fast = config((LayoutKind::Raid5, 3, 1));
    fail_fast.reads = ReadPolicy::FailFast;
    let mut tokens = config((LayoutKind::LogRaid5, 4, 1));
    tokens.log.tokens = true;
    (tokens.epoch.cache, tokens.epoch.delay) = (64 * 4096, Nanos::millis(1));
    all.extend([resync, fail_fast, tokens]);
    all
}

fn config((layout, drives, groups): (LayoutKind, u32, u32)) -> ArrayConfig {
    let mut config =
        ArrayConfig { layout, drives, groups, depth: 16, drive_depth: 4, ..ArrayConfig::default() };
    config.raid.chunk = 4 * 4096;
    config.raid.journal = 40 * 4096;
    config.log.segment = 16 * 4096;
    (config.epoch.chunk, config.epoch.cache) = (4 * 4096, 64 * 4096);
    config.epoch.delay = Nanos::millis(1);
    config
}

fn content(block: u64, version: u64) -> Bytes {
    Bytes::encode(&[block.to_le_bytes(), version.to_le_bytes()].concat())
}

impl Harness {
    fn new(config: &ArrayConfig) -> Harness {
        let array = Array::create(Time::ZERO, config, &disks(config), 77);
        Harness::over(array, vec![Drive::default(); config.drives as usize], config)
    }

    fn over(array: Array<Bytes>, drives: Vec<Drive>, config: &ArrayConfig) -> Harness {
        let (config, answers) = (config.clone(), VecDeque::new());
        let mut harness = Harness { array, drives, config, now: Time::ZERO, answers, next: 0 };
        harness.run();
        assert!(harness.array.is_ready(), "{}", harness.name());
        harness
    }

    /// The array is opened again from its drives, without these.
    fn reopened(mut self, without: &[usize]) -> Harness {
        let there: Vec<usize> = (0..self.drives.len()).filter(|drive| !without.contains(drive)).collect();
        let all = disks(&self.config);
        let given: Vec<Disk> = there.iter().map(|&drive| all[drive].clone()).collect();
        let mut opening: Opening<Bytes> = Opening::new(Time::ZERO, &given, Consent::Degraded);
        for (drive, request) in std::mem::take(opening.sent()) {
            let response = self.drives[there[drive.index()]].carry_out(request);
            opening.answered(Time::ZERO, drive, response);
        }
        let found = opening.found().expect("all have answered").expect("it is an array");
        let array = Array::open(Time::ZERO, &self.config, &all, &found);
        Harness::over(array, self.drives, &self.config)
    }

    fn name(&self) -> String {
        let (layout, hole) = (self.config.layout, self.config.raid.write_hole);
        format!("{layout} {hole:?} {:?} tokens {}", self.config.reads, self.config.log.tokens)
    }

    /// Everything that happens before the next attempt to write.
    fn run(&mut self) {
        self.run_until(self.now + RETRY_AFTER / 2);
    }

    fn run_until(&mut self, end: Time) {
        loop {
            let sent = std::mem::take(self.array.sent());
            for (drive, call) in std::mem::take(self.array.controls()) {
                self.array.control_answered(self.now, drive, call, ControlReply::Unsupported);
            }
            self.answers.extend(self.array.answers().drain(..));
            if !sent.is_empty() {
                self.now += LATENCY;
                for (drive, request) in sent {
                    let response = self.drives[drive.index()].carry_out(request);
                    self.array.answered(self.now, drive, response);
                }
            } else if self.array.next_event() <= end {
                self.now = self.now.max(self.array.next_event());
                self.array.advance(self.now);
            } else {
                return;
            }
        }
    }

    fn submit(&mut self, op: Op, block: u64, data: Vec<Bytes>, blocks: u32) -> u32 {
        let (id, class) = (self.next, Class::DEFAULT);
        self.next += 1;
        let mirror = Mirror::Any;
        let request = Request {
            id,
            op,
            fua: false,
            class,
            fail_fast: false,
            mirror,
            handle: HandleId::FIRST,
            block,
            blocks,
            data,
        };
        self.array.submit(self.now, request).expect("there is a slot");
        id
    }

    /// The answer to a request, which comes at the latest with the second attempt to write.
    fn ask(&mut self, op: Op, block: u64, data: Vec<Bytes>, blocks: u32) -> Response<Bytes> {
        let id = self.submit(op, block, data, blocks);
        let last = self.now + RETRY_AFTER * 3;
        while self.answers.iter().all(|answer| answer.id != id) {
            assert!(self.now < last, "{op} at {block} is not answered: {}", self.name());
            let next = self.array.next_event();
            self.run_until(self.now.max(if next == Time::NEVER { self.now } else { next }));
        }
        let at = self.answers.iter().position(|answer| answer.id == id).expect("it is there");
        self.answers.remove(at).expect("it is there")
    }

    fn write(&mut self, block: u64, version: u64) -> Status {
        self.ask(Op::Write, block, vec![content(block, version)], 1).status
    }

    fn flush(&mut self) -> Status {
        self.ask(Op::Flush, 0, Vec::new(), 0).status
    }

    fn read(&mut self, block: u64) -> Bytes {
        let answer = self.ask(Op::Read, block, Vec::new(), 1);
        assert_eq!(answer.status, Status::Success, "block {block}: {}", self.name());
        answer.data[0].clone()
    }

    /// What is in these blocks, as versions.
    fn versions(&mut self) -> Vec<u64> {
        let version = |harness: &mut Harness, block| {
            let found = harness.read(block);
            let versions = 0..5;
            let mut versions = versions.filter(|&version| found.is_same(&content(block, version)));
            versions.next().unwrap_or_else(|| panic!("block {block} is wrong: {}", harness.name()))
        };
        (0..BLOCKS).map(|block| version(self, block)).collect()
    }
}

const BLOCKS: u64 = 40;

/// Blocks of the array that are written while there is no room.
const REFUSED: std::ops::Range<u64> = 10..22;

/// An array with content, whose drives have no room, and with writes that it has refused.
fn without_room(config: &ArrayConfig, full: &[usize]) -> Harness {
    let mut harness = Harness::new(config);
    (0..BLOCKS).for_each(|block| assert_eq!(harness.write(block, 1), Status::Success));
    assert_eq!(harness.flush(), Status::Success);
    full.iter().for_each(|&drive| harness.drives[drive].is_frozen = true);
    // Together, so that they meet in one stripe.
    let ids: Vec<u32> =
        REFUSED.map(|block| harness.submit(Op::Write, block, vec![content(block, 2)], 1)).collect();
    harness.run();
    // Writes acknowledged in memory are refused as a flush.
    if ids.iter().all(|&id| harness.answers.iter().any(|a| a.id == id && a.status == Status::Success)) {
        assert_eq!(harness.flush(), Status::NoSpace, "{}", harness.name());
    }
    assert!(harness.array.is_full(), "{}", harness.name());
    let answered = |id: &u32| harness.answers.iter().any(|answer| answer.id == *id);
    assert!(ids.iter().all(answered), "no write waits for room: {}", harness.name());
    harness
}

/// Reads go on and show one state, which stays when there is room; then everything is as before, and of what
/// was flushed nothing is lost with any drive.
fn is_kept(config: &ArrayConfig, full: &[usize]) {
    let mut harness = without_room(config, full);
    let name = harness.name();
    assert_eq!(harness.array.condition(), Condition::Optimal, "{name}");
    assert!(harness.array.core().drives.full().all(|drive| full.contains(&drive.index())), "{name}");
    assert_eq!(harness.write(30, 3), Status::NoSpace, "{name}");
    let found = harness.versions();
    assert!((0..BLOCKS).all(|block| found[block as usize] == 1 || REFUSED.contains(&block)), "{found:?}");
    harness.run_until(harness.now + RETRY_AFTER * 2);
    assert_eq!(harness.versions(), found, "{name}");
    assert_eq!(harness.array.condition(), Condition::Optimal, "{name}");
    // There is room.
    harness.drives.iter_mut().for_each(|drive| drive.is_frozen = false);
    harness.run_until(harness.now + RETRY_AFTER * 2);
    assert!(!harness.array.is_full() && harness.array.core().drives.full().next().is_none(), "{name}");
    assert_eq!(harness.versions(), found, "{name}");
    assert_eq!((harness.write(30, 3), harness.flush()), (Status::Success, Status::Success), "{name}");
    let mut now = found;
    now[30] = 3;
    assert_eq!(harness.array.condition(), Condition::Optimal, "{name}");
    let mut harness = harness.reopened(&[]);
    assert_eq!(harness.versions(), now, "{name}");
    if config.layout.is_redundant() {
        let lost = full[0];
        let mut harness = harness.reopened(&[lost]);
        assert_eq!(harness.versions(), now, "{name} without drive {lost}");
    }
}

#[test]
fn drives_on_a_full_file_system_have_not_failed() {
    for config in configs() {
        let all: Vec<usize> = (0..config.drives as usize).collect();
        is_kept(&config, &all);
        for drive in all {
            // A log that writes to other drives for a while is not full.
            if config.layout.is_in_place() {
                is_kept(&config, &[drive]);
            }
        }
    }
}

/// The planted bug that fails drives for lack of room is seen.
#[test]
fn that_no_drive_is_failed_is_checked() {
    let failed = |config: &ArrayConfig| {
        let mut harness = Harness::new(config);
        (0..BLOCKS).for_each(|block| assert_eq!(harness.write(block, 1), Status::Success));
        harness.drives.iter_mut().for_each(|drive| drive.is_frozen = true);
        harness.write(10, 2);
        harness.flush();
        harness.array.condition() != Condition::Optimal || !harness.array.is_full()
    };
    for config in configs() {
        let name = config.layout;
        assert!(!failed(&config), "{name}");
        assert!(broken(Invariant::FullIsNoFailure, || failed(&config)), "{name}");
    }
}

/// The power goes while there is no room: what was flushed is there, each refused block is old or new, and
/// stripes fit their parities without any one drive.
#[test]
fn a_power_cut_without_room_loses_nothing() {
    for config in configs() {
        let all: Vec<usize> = (0..config.drives as usize).collect();
        for full in std::iter::once(all.clone()).chain(all.iter().map(|&drive| vec![drive])) {
            if full.len() == 1 && !config.layout.is_in_place() {
                continue;
            }
            let mut harness = without_room(&config, &full);
            harness.drives.iter_mut().for_each(|drive| drive.is_frozen = false);
            let mut harness = harness.reopened(&[]);
            let found = harness.versions();
            let is_fine = |block: u64| found[block as usize] == 1 || REFUSED.contains(&block);
            assert!((0..BLOCKS).all(is_fine), "{found:?}");
            if config.layout.is_redundant() {
                let mut harness = harness.reopened(&full[..1]);
                assert_eq!(harness.versions(), found, "{}", harness.name());
            }
        }
    }
}

/// Requests that are not reads are answered within two attempts however many there are, and take no slots
/// from reads.
#[test]
fn trims_without_room_end_and_do_not_pile_up() {
    for config in configs() {
        let all: Vec<usize> = (0..config.drives as usize).collect();
        let mut harness = without_room(&config, &all);
        for round in 0..4 * u64::from(config.depth) {
            let status = harness.ask(Op::Trim, round % BLOCKS, Vec::new(), 1).status;
            assert!(matches!(status, Status::Success | Status::NoSpace), "{status:?}");
        }
        assert!(harness.array.core().requests.refused() <= 2 * config.depth, "{}", harness.name());
        (0..BLOCKS).for_each(|block| drop(harness.read(block)));
        harness.drives.iter_mut().for_each(|drive| drive.is_frozen = false);
        harness.run_until(harness.now + RETRY_AFTER * 2);
        assert_eq!(harness.array.core().requests.refused(), 0, "{}", harness.name());
        (0..BLOCKS).for_each(|block| assert_eq!(harness.write(block, 4), Status::Success));
        assert_eq!(harness.versions(), vec![4; BLOCKS as usize]);
    }
}

/// A drive that dies while its writes wait for room has failed like any other.
#[test]
fn a_full_drive_may_still_die() {
    for config in configs().into_iter().filter(|config| config.layout.is_redundant()) {
        let all: Vec<usize> = (0..config.drives as usize).collect();
        let mut harness = without_room(&config, &all);
        harness.drives.iter_mut().for_each(|drive| drive.is_frozen = false);
        harness.drives[1].is_gone = true;
        harness.run_until(harness.now + RETRY_AFTER * 2);
        assert_eq!(harness.write(0, 3), Status::Success, "{}", harness.name());
        (1..BLOCKS).for_each(|block| assert_eq!(harness.write(block, 3), Status::Success));
        assert_eq!(harness.flush(), Status::Success, "{}", harness.name());
        assert!(!harness.array.is_full(), "{}", harness.name());
        assert_eq!(harness.versions(), vec![3; BLOCKS as usize], "{}", harness.name());
        assert!(!harness.array.core().drives.is_present(DriveId::new(1)), "{}", harness.name());
    }
}

/// Blocks that were written before are overwritten in place on a full file system; others find no room.
#[test]
fn new_blocks_alone_find_no_room() {
    for config in configs() {
        let mut harness = Harness::new(&config);
        harness.drives.iter_mut().for_each(|drive| drive.is_full = true);
        let refused = (0..BLOCKS).filter(|&block| harness.write(block, 1) == Status::NoSpace).count();
        let has_flushed = harness.flush() == Status::Success;
        assert!(refused > 0 || !has_flushed, "{}", harness.name());
        assert_eq!(harness.array.condition(), Condition::Optimal, "{}", harness.name());
        harness.drives.iter_mut().for_each(|drive| drive.is_full = false);
        harness.run_until(harness.now + RETRY_AFTER * 2);
        (0..BLOCKS).for_each(|block| assert_eq!(harness.write(block, 2), Status::Success));
        assert_eq!(harness.flush(), Status::Success);
        assert_eq!(harness.versions(), vec![2; BLOCKS as usize]);
    }
}
