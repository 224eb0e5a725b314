//! The control interface: state queries, thresholds, and host-initiated collection.

use crate::content::Swarm;
use crate::drives;
use crate::script::Log;
use tailcut_base::config::Choice;
use tailcut_base::control::{Control, ControlReply, GcThresholds, Windows};
use tailcut_base::plm::{Config, Window};
use tailcut_base::{Command, CommandId, Completion, Device, Nanos, Op, Status, Submit, Time};
use tailcut_ssd::config::MappingLevel;
use tailcut_ssd::mutation::{Invariant, broken};
use tailcut_ssd::precondition::PreparedState;
use tailcut_ssd::request::Kind;
use tailcut_ssd::{ChipRecord, Precondition, Preset, Ssd, SsdConfig};

/// A host that sends single-page commands to a full drive and calls its control interface.
pub(crate) struct Host {
    pub ssd: Ssd<Log>,
    now: Time,
    sent: u32,
    done: Vec<Completion>,
}

impl Host {
    pub(crate) fn new(config: &SsdConfig) -> Host {
        config.check_space().expect("a drive with room to work");
        let mut ssd = Ssd::watched(config, 1, true, Log::default());
        ssd.precondition(&Precondition { state: PreparedState::Sequential, fill: 1_000_000 }, 1);
        Host { ssd, now: Time::ZERO, sent: 0, done: Vec::new() }
    }

    /// Overwrites three pages of each of the first four blocks.
    pub(crate) fn with_garbage(config: &SsdConfig) -> Host {
        let mut host = Host::new(config);
        for page in (0..4).flat_map(|block| (0..3).map(move |page| block * 8 + page)) {
            host.run(Op::Write, page);
        }
        host
    }

    /// A drive with a lot of spare space, all of whose pages have been written twice: many blocks hold no
    /// valid data.
    pub(crate) fn overwritten() -> Host {
        let mut config = drives::with_high(6);
        config.ftl.spare = 600_000;
        let mut host = Host::new(&config);
        (0..51).for_each(|page| _ = host.run(Op::Write, page));
        host
    }

    pub(crate) fn now(&self) -> Time {
        self.now
    }

    pub(crate) fn send(&mut self, op: Op, page: u64) {
        self.sent += 1;
        let command = Command {
            id: CommandId(self.sent),
            op,
            fua: false,
            class: Default::default(),
            fail_fast: false,
            stream: 0,
            queue: 0,
            sector: page,
            sectors: u32::from(op != Op::Flush),
            content: self.sent,
        };
        assert_eq!(self.ssd.submit(self.now, &command), Submit::Accepted);
    }

    /// Sends a command and waits for its completion; returns its latency.
    pub(crate) fn run(&mut self, op: Op, page: u64) -> Nanos {
        self.send(op, page);
        let begun = self.now;
        while self.done.last().is_none_or(|done| done.id.0 != self.sent) {
            let next = self.ssd.next_event();
            assert!(next != Time::NEVER, "{}", self.ssd.why_stuck());
            self.ssd.advance(next, &mut self.done);
            self.ssd.check_machines();
            self.now = next;
        }
        assert_eq!(self.done.last().map(|done| done.status), Some(Status::Success));
        self.now.since(begun)
    }

    pub(crate) fn pass(&mut self, time: Nanos) {
        self.now += time;
        while !self.ssd.advance(self.now, &mut self.done) {}
    }

    pub(crate) fn ask(&mut self, call: Control) -> ControlReply {
        self.ssd.control(self.now, call)
    }

    /// Polls whether the drive is ready for reads; returns the time at which it is.
    pub(crate) fn wait_until_ready(&mut self, every: Nanos) -> Time {
        for _ in 0..100_000 {
            match self.ask(Control::IsReadyForRead) {
                ControlReply::Answer(true) => return self.now,
                reply => assert_eq!(reply, ControlReply::Answer(false)),
            }
            self.pass(every);
        }
        panic!("the drive does not become ready")
    }

    pub(crate) fn answers(&self) -> usize {
        self.done.len()
    }

    /// Chip records of one kind.
    pub(crate) fn records(&self, kind: Kind) -> Vec<&ChipRecord> {
        self.ssd.probe.0.iter().filter(|r| r.kind == kind).collect()
    }

    pub(crate) fn free_blocks(&mut self) -> u64 {
        match self.ask(Control::FreeBlocks) {
            ControlReply::Blocks(blocks) => blocks,
            reply => panic!("{reply:?}"),
        }
    }

    fn starts(&self, kind: Kind) -> Vec<u64> {
        self.records(kind).iter().map(|r| r.start.0).collect()
    }
}

/// Transfer time of a 512-byte page at 333 MB/s, rounded up.
const TRANSFER: u64 = 1538;
/// From the first cycle of a copy's read to the end of its program: twice 7 cycles of 25 ns and a bus
/// transfer, plus the cell read and the program.
const COPY: u64 = 2 * (7 * 25 + TRANSFER) + 20_000 + 100_000;
const ERASE: u64 = 5 * 25 + 300_000;

#[test]
fn a_drive_tells_its_sizes() {
    let config = drives::with_high(6);
    let mut host = Host::new(&config);
    let sectors = host.ssd.identify().sectors;
    assert_eq!(host.ask(Control::UserCapacity), ControlReply::Bytes(sectors * 512));
    assert_eq!(host.ask(Control::DeviceCapacity), ControlReply::Bytes(16 * 8 * 512));
    assert_eq!(host.ask(Control::EraseBlockSize), ControlReply::Bytes(8 * 512));
    let data_blocks = sectors.div_ceil(8);
    assert_eq!(host.ask(Control::FreeBlocks), ControlReply::Blocks(16 - data_blocks));
    let thresholds = GcThresholds { low: 2, high: 6 };
    assert_eq!(host.ask(Control::GetThresholds), ControlReply::Thresholds(thresholds));
}

fn every_call() -> Vec<Control> {
    let windows = Windows { from: Time::ZERO, period: Nanos(10), length: Nanos(1) };
    vec![
        Control::UserCapacity,
        Control::DeviceCapacity,
        Control::EraseBlockSize,
        Control::FreeBlocks,
        Control::GetThresholds,
        Control::SetThresholds(GcThresholds { low: 2, high: 3 }),
        Control::IsGcRunning,
        Control::RunGc { until: Time::NEVER },
        Control::IsReadyForRead,
        Control::SetWindows(windows),
        Control::ClearWindows,
        Control::SetPredictableLatency { is_enabled: true, config: Config::default() },
        Control::GetPredictableLatency,
        Control::SelectWindow(Window::Deterministic),
        Control::SelectedWindow,
        Control::PredictableLatencyLog,
    ]
}

#[test]
fn a_drive_without_the_interface_says_so_and_one_with_it_knows_every_call() {
    let mut config = drives::with_high(6);
    config.control_api = false;
    let mut without = Host::with_garbage(&config);
    for call in every_call() {
        assert_eq!(without.ask(call), ControlReply::Unsupported, "{call:?}");
    }
    without.pass(Nanos::secs(1));
    assert_eq!(without.records(Kind::GcRead).len(), 0, "nothing has come of it");
    for call in every_call() {
        let reply = Host::new(&drives::with_high(6)).ask(call);
        assert_ne!(reply, ControlReply::Unsupported, "{call:?}");
    }
}

#[test]
fn drives_without_collection_of_their_own_say_so() {
    let mut by_block = drives::with_high(6);
    by_block.ftl.mapping = MappingLevel::Block;
    let reply = |config: &SsdConfig, call| Host::new(config).ask(call);
    for call in
        [Control::RunGc { until: Time::NEVER }, Control::IsReadyForRead, Control::PredictableLatencyLog]
    {
        assert_eq!(reply(&by_block, call), ControlReply::Unsupported, "{call:?}");
    }
    let mut ideal = drives::with_high(6);
    ideal.gc.ideal = true;
    let mut host = Host::with_garbage(&ideal);
    assert_eq!(host.ask(Control::RunGc { until: Time(1 << 40) }), ControlReply::Done);
    assert_eq!(host.free_blocks(), 6, "in no time");
    assert_eq!(host.ask(Control::IsReadyForRead), ControlReply::Answer(true));
}

#[test]
fn thresholds_that_leave_no_room_are_refused() {
    // 76 pages of data need 10 blocks, and two blocks are open: 4 can be free.
    let mut host = Host::new(&drives::with_high(4));
    let mut set = |low, high| host.ask(Control::SetThresholds(GcThresholds { low, high }));
    for (low, high) in [(1, 3), (3, 2), (2, 5), (5, 5), (0, 0), (2, u32::MAX)] {
        assert_eq!(set(low, high), ControlReply::Invalid, "{low}, {high}");
    }
    for (low, high) in [(2, 2), (2, 4), (3, 4)] {
        assert_eq!(set(low, high), ControlReply::Done, "{low}, {high}");
    }
    let thresholds = GcThresholds { low: 3, high: 4 };
    assert_eq!(host.ask(Control::GetThresholds), ControlReply::Thresholds(thresholds));
}

#[test]
fn every_preset_accepts_the_thresholds_that_it_has() {
    for &preset in Preset::all() {
        let config = preset.config();
        let thresholds = GcThresholds { low: config.gc.low, high: config.gc.high };
        assert!(config.has_room_for(thresholds), "{preset}");
    }
}

#[test]
fn planes_below_a_threshold_that_is_raised_collect_at_once() {
    let mut host = Host::overwritten();
    assert!(host.free_blocks() < 5);
    assert_eq!(host.ask(Control::SetThresholds(GcThresholds { low: 5, high: 6 })), ControlReply::Done);
    host.pass(Nanos::secs(1));
    assert_eq!(host.free_blocks(), 5);
}

/// Expected start times of the copies and erases of three blocks with five valid pages, and the number of
/// runs of `length`; each run begins 10 ms after the start of the previous one, which has finished by then.
fn expected(first: Time, length: u64) -> (Vec<u64>, Vec<u64>, u64) {
    let (mut copies, mut erases, mut runs) = (Vec::new(), Vec::new(), 1);
    let (mut from, mut at) = (first.0, first.0);
    let mut begin = |takes: u64| {
        if at >= from + length {
            from += 10_000_000;
            at = from;
            runs += 1;
        }
        at += takes;
        at - takes
    };
    for _ in 0..3 {
        copies.extend((0..5).map(|_| begin(COPY)));
        erases.push(begin(ERASE));
    }
    (copies, erases, runs)
}

#[test]
fn a_run_ends_by_its_time_within_one_operation_and_another_one_goes_on() {
    for length in [1, 200_000, 2 * COPY, 5 * COPY, 5 * COPY + 1, 3_000_000] {
        let mut host = Host::with_garbage(&drives::with_high(6));
        let (copies, erases, runs) = expected(host.now(), length);
        for _ in 0..runs {
            let until = host.now() + Nanos(length);
            assert_eq!(host.ask(Control::RunGc { until }), ControlReply::Done);
            assert_eq!(host.ask(Control::IsGcRunning), ControlReply::Answer(true));
            host.pass(Nanos(10_000_000));
            assert_eq!(host.ask(Control::IsGcRunning), ControlReply::Answer(false));
        }
        assert_eq!(host.starts(Kind::GcRead), copies, "runs of {length} ns");
        assert_eq!(host.starts(Kind::Erase), erases, "runs of {length} ns");
        assert_eq!(host.free_blocks(), 6);
    }
}

#[test]
fn a_run_ends_at_the_high_threshold_and_is_ignored_above_it() {
    let mut host = Host::with_garbage(&drives::with_high(6));
    assert_eq!(host.ask(Control::RunGc { until: Time::NEVER }), ControlReply::Done);
    assert_eq!(host.ask(Control::IsGcRunning), ControlReply::Answer(true));
    host.pass(Nanos::secs(1));
    assert_eq!(host.ask(Control::IsGcRunning), ControlReply::Answer(false));
    assert_eq!(host.free_blocks(), 6);
    let erases = host.records(Kind::Erase).len();
    host.wait_until_ready(Nanos(1));
    assert_eq!(host.ask(Control::RunGc { until: Time::NEVER }), ControlReply::Done);
    assert_eq!(
        host.ask(Control::IsReadyForRead),
        ControlReply::Answer(true),
        "an ignored call triggers nothing"
    );
    host.pass(Nanos::secs(1));
    assert_eq!(host.records(Kind::Erase).len(), erases);
}

#[test]
fn a_time_that_has_passed_is_no_run() {
    let mut host = Host::with_garbage(&drives::with_high(6));
    let now = host.now();
    assert_eq!(host.ask(Control::RunGc { until: now }), ControlReply::Done);
    assert_eq!(host.ask(Control::IsGcRunning), ControlReply::Answer(false));
}

/// Number of copies that start after the end of a run.
fn late_copies() -> usize {
    let mut host = Host::with_garbage(&drives::with_high(6));
    let until = host.now() + Nanos(2 * COPY);
    host.ask(Control::RunGc { until });
    host.pass(Nanos::secs(1));
    host.records(Kind::GcRead).iter().filter(|r| r.start >= until).count()
}

#[test]
fn a_run_that_does_not_end_is_noticed() {
    assert_eq!(late_copies(), 0);
    assert!(broken(Invariant::EndRun, late_copies) > 0);
}

#[test]
fn random_drives_that_are_steered_meet_every_state() {
    let swarm = Swarm { name: "meets", cases: 300, length: 300, reads: false, controls: true };
    let counts = swarm.counts(|drive, _| {
        drive.gc.ideal = false;
        drive.ftl.mapping = MappingLevel::Page;
    });
    let met = |count: &dyn Fn(&tailcut_ssd::Counters) -> u64| counts.iter().filter(|c| count(c) > 0).count();
    for (name, met) in [
        ("forced", met(&|c| c.forced_collections)),
        ("put off", met(&|c| c.collections - c.forced_collections)),
        ("levelled", met(&|c| c.levelled)),
        ("reset", met(&|c| c.program_resets)),
        ("suspended", met(&|c| c.erase_suspends)),
    ] {
        assert!(met > 0, "no drive has met this: {name}");
    }
}
