//! Quiet periods: once the drive has reported that it is ready for reads, its chips only serve host reads,
//! until a write or a trigger of collection arrives.

use crate::content::Swarm;
use crate::control::Host;
use crate::drives;
use tailcut_base::control::{Control, ControlReply, GcThresholds};
use tailcut_base::ids::Id;
use tailcut_base::{Nanos, Op, Time};
use tailcut_ssd::mutation::{Invariant, broken};
use tailcut_ssd::probe::Member;
use tailcut_ssd::request::Kind;
use tailcut_ssd::{ChipRecord, Probe, Sets, SsdConfig};

/// Verifies that chips are quiet when required, and that they work only for their own set.
#[derive(Debug)]
pub(crate) struct Watch {
    sets: Sets,
    /// The quiet periods of each set.
    periods: Vec<Period>,
}

#[derive(Clone, Debug, Default)]
struct Period {
    since: Option<Time>,
    /// The last quiet period that has ended.
    last: Option<(Time, Time)>,
}

impl Watch {
    /// An observer for a drive with this configuration.
    pub(crate) fn new(config: &SsdConfig) -> Watch {
        let sets = Sets::new(&config.sets, &config.ftl, &config.geometry);
        Watch { sets, periods: vec![Period::default(); sets.count() as usize] }
    }

    /// A set reports that it is ready for reads.
    pub(crate) fn begin_quiet(&mut self, now: Time, set: u32) {
        self.periods[set as usize].since.get_or_insert(now);
    }

    /// A request ends the set's quiet period.
    pub(crate) fn end_quiet(&mut self, now: Time, set: u32) {
        let period = &mut self.periods[set as usize];
        if let Some(since) = period.since.take() {
            period.last = Some((since, now));
        }
    }

    /// True during a quiet period of a set.
    pub(crate) fn is_quiet(&self, set: u32) -> bool {
        self.periods[set as usize].since.is_some()
    }
}

impl Probe for Watch {
    const WATCHES: bool = true;

    fn transaction(&mut self, record: ChipRecord) {
        let set = self.sets.of_lun(record.lun);
        let is_own = |member: &Member| self.sets.of_logical(member.logical) == set;
        let stays = record.kind == Kind::Erase || record.members.iter().all(is_own);
        assert!(stays, "a chip of set {set} has worked for another: {record:?}");
        if record.kind == Kind::UserRead && record.members.iter().all(|member| member.command.is_some()) {
            return;
        }
        let period = &self.periods[set.index()];
        let begins = period.since.unwrap_or(Time::NEVER);
        assert!(record.end <= begins, "a quiet period that began at {begins:?} has seen {record:?}");
        if let Some((since, until)) = period.last {
            let is_outside = record.end <= since || record.start >= until;
            assert!(is_outside, "the quiet period {since:?} to {until:?} has seen {record:?}");
        }
    }
}

/// One plane with a buffer of 16 pages that is flushed immediately.
fn buffered() -> SsdConfig {
    let mut config = drives::plane(16, 8);
    config.ftl.spare = 400_000;
    (config.gc.low, config.gc.high) = (2, 6);
    config.buffer.size = 16 * 512;
    (config.buffer.flush_above, config.buffer.capacitor) = (0, true);
    config
}

/// With eight pages in the buffer, one of them being programmed, the host polls every 10 µs. Returns the host
/// and the time at which the drive is ready.
fn asked() -> (Host, Time) {
    let mut host = Host::new(&buffered());
    for page in 0..8 {
        host.send(Op::Write, page);
    }
    host.pass(Nanos::micros(60));
    let at = host.wait_until_ready(Nanos::micros(10));
    (host, at)
}

#[test]
fn what_is_under_way_ends_and_what_is_buffered_waits() {
    let (mut host, at) = asked();
    host.pass(Nanos::secs(1));
    let programs = host.records(Kind::UserWrite);
    assert_eq!(programs.len(), 1, "the others wait in the buffer");
    assert!(programs[0].end <= at && at.since(programs[0].end) <= Nanos::micros(10));
    // All of them are read from their current place; a page on flash takes one chip read.
    for page in [0, 3, 7, 40] {
        let latency = host.run(Op::Read, page);
        assert!(latency < Nanos::micros(30), "page {page} took {latency}");
    }
    assert_eq!(host.records(Kind::UserWrite).len(), 1);
    host.run(Op::Write, 9);
    host.pass(Nanos::secs(1));
    assert_eq!(host.records(Kind::UserWrite).len(), 9, "a write has ended the period");
    host.ssd.check();
}

#[test]
fn writes_and_flushes_end_a_quiet_period_and_nothing_else_does() {
    for (op, ends) in [(Op::Read, false), (Op::Trim, false), (Op::Flush, true), (Op::Write, true)] {
        let (mut host, _) = asked();
        host.run(op, 50);
        host.pass(Nanos::secs(1));
        assert_eq!(host.records(Kind::UserWrite).len() > 1, ends, "{op}");
    }
}

#[test]
fn a_read_that_would_wait_for_its_program_is_answered_in_a_quiet_period() {
    let mut config = buffered();
    config.schedule.hit_manager = false;
    let mut host = Host::new(&config);
    for page in 0..8 {
        host.send(Op::Write, page);
    }
    host.pass(Nanos::micros(60));
    // This read arrived earlier, so its program continues.
    host.send(Op::Read, 5);
    host.wait_until_ready(Nanos::micros(10));
    assert_eq!(host.records(Kind::UserWrite).len(), 6);
    assert!(host.run(Op::Read, 7) < Nanos::micros(30));
}

#[test]
fn commands_that_write_are_answered_before_the_period_begins() {
    let mut config = buffered();
    (config.buffer.size, config.buffer.flush_above) = (2 * 512, 500_000);
    let mut host = Host::new(&config);
    for page in 0..8 {
        host.send(Op::Write, page);
    }
    host.pass(Nanos::micros(60));
    assert_eq!(host.ask(Control::IsReadyForRead), ControlReply::Answer(false));
    host.wait_until_ready(Nanos::micros(10));
    assert_eq!(host.answers(), 8, "writes that wait for room cannot rest");
    assert!(host.records(Kind::UserWrite).len() < 8, "what they leave in the buffer can");
}

#[test]
fn a_drive_at_rest_is_ready_at_once() {
    let mut host = Host::new(&buffered());
    assert_eq!(host.ask(Control::IsReadyForRead), ControlReply::Answer(true));
}

#[test]
fn a_run_of_collection_stops_between_two_copies_for_a_quiet_period() {
    let mut host = Host::with_garbage(&drives::with_high(6));
    host.ask(Control::RunGc { until: Time::NEVER });
    host.pass(Nanos::micros(150));
    assert_eq!(host.ask(Control::IsReadyForRead), ControlReply::Answer(false));
    host.wait_until_ready(Nanos::micros(10));
    assert_eq!(host.ask(Control::IsGcRunning), ControlReply::Answer(false));
    host.pass(Nanos::secs(1));
    let copies = host.records(Kind::GcRead).len();
    assert_eq!((copies, host.records(Kind::Erase).len()), (2, 0));
    // A write alone does not resume a run that the host has cancelled; another call does.
    host.run(Op::Write, 3);
    host.pass(Nanos::secs(1));
    assert_eq!(host.records(Kind::GcRead).len(), copies);
    host.ask(Control::RunGc { until: Time::NEVER });
    host.pass(Nanos::secs(1));
    assert!(host.records(Kind::GcRead).len() > copies);
}

#[test]
fn a_threshold_that_is_raised_ends_a_quiet_period() {
    let mut host = Host::overwritten();
    host.wait_until_ready(Nanos::micros(10));
    assert_eq!(host.ask(Control::SetThresholds(GcThresholds { low: 2, high: 5 })), ControlReply::Done);
    assert_eq!(host.ask(Control::IsReadyForRead), ControlReply::Answer(true));
    assert_eq!(host.ask(Control::SetThresholds(GcThresholds { low: 5, high: 6 })), ControlReply::Done);
    assert_eq!(host.ask(Control::IsGcRunning), ControlReply::Answer(true));
    host.pass(Nanos::secs(1));
    assert_eq!(host.free_blocks(), 5);
}

const STEERED: Swarm = Swarm { name: "quiet", cases: 400, length: 300, reads: false, controls: true };

#[test]
fn what_does_not_rest_is_noticed() {
    for rule in [Invariant::RestPrograms, Invariant::RestCollection, Invariant::AwaitRest] {
        assert!(broken(rule, || STEERED.fails(|_, _| {})).is_some(), "{rule:?}");
    }
}

#[test]
fn the_same_calls_bring_the_same_results() {
    let counts = || STEERED.counts(|_, _| {}).iter().map(|c| format!("{c:?}")).collect::<Vec<_>>();
    assert_eq!(counts(), counts());
}
