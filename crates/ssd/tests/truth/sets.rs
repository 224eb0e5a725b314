//! NVM sets: whatever happens in one set, its pages stay on its own chips, and the other sets are not
//! disturbed.

use crate::content::Swarm;
use crate::drives;
use crate::host::command;
use crate::script::Log;
use tailcut_base::control::{Control, ControlReply, GcThresholds};
use tailcut_base::plm::{Config, Window};
use tailcut_base::{Cause, Command, CommandId, Completion, Device, Nanos, Op, Status, Submit, Time};
use tailcut_ssd::config::{CommitPolicy, MappingLevel};
use tailcut_ssd::flash::LogicalPage;
use tailcut_ssd::mutation::{Invariant, broken};
use tailcut_ssd::precondition::PreparedState;
use tailcut_ssd::request::Kind;
use tailcut_ssd::{Precondition, SetId, SetsBy, SetsConfig, Ssd, SsdConfig};

/// Divides a random drive into two or four sets.
fn divide(drive: &mut SsdConfig, seed: u64) {
    let count = [2, 4][(seed % 2) as usize];
    drive.sets = SetsConfig { count, by: [SetsBy::Channels, SetsBy::Chips][(seed / 2 % 2) as usize] };
    let g = &mut drive.geometry;
    match drive.sets.by {
        SetsBy::Channels => g.channels *= count,
        SetsBy::Chips => g.chips *= count,
    }
    // Small, so that every set is overwritten many times.
    g.planes = 1;
    (drive.ftl.mapping, drive.ftl.stripe) = (MappingLevel::Page, 1);
    drive.queue.depth = drive.queue.depth.max(count);
    drive.buffer.size *= u64::from(count);
    let more = [0, 60_000, 200_000][(seed / 4 % 3) as usize];
    drive.ftl.spare = (drives::least_spare(drive) + more).min(900_000);
    // A drive without any logical page is rejected before it is built.
    while drive.check_space().is_err() {
        drive.geometry.blocks += 1;
    }
    drive.check_sets().expect("it can be divided");
}

fn swarm(name: &'static str, cases: u32, controls: bool) -> Swarm {
    Swarm { name, cases, length: 300, reads: false, controls }
}

#[test]
fn pages_stay_in_their_set_and_reads_return_what_was_written_last() {
    let counts = swarm("sets", 500, false).counts(divide);
    // Collection, wear levelling and the queue size leveler have all been active.
    assert!(counts.iter().any(|each| each.programmed_gc > 0 && each.levelled > 0));
    assert!(counts.iter().any(|each| each.levelled_queues > 0));
}

#[test]
fn pages_stay_in_their_set_when_blocks_go_bad() {
    let counts = swarm("sets-faults", 400, false).counts(|drive, seed| {
        divide(drive, seed);
        drive.faults.program_fail = 0.05;
        drive.faults.erase_fail = 0.05;
    });
    assert!(counts.iter().any(|each| each.bad_blocks > 0 && each.programmed_gc > 0));
}

#[test]
fn each_set_is_steered_on_its_own() {
    swarm("sets-steered", 500, true).run(divide);
}

#[test]
fn a_page_in_another_set_is_noticed() {
    let failure = broken(Invariant::StayInSet, || swarm("sets-bug", 100, false).fails(divide));
    assert!(failure.expect("pages of all sets are in set 0").contains("worked for another"));
}

/// Four channels of two one-plane chips, divided equally among the sets; 20 µs reads and 100 µs programs; for
/// two sets, a buffer of 16 pages each; every request enters its chip's queue at once.
fn divided(count: u32, by: SetsBy) -> SsdConfig {
    let mut config = drives::plane(24, 8);
    (config.geometry.channels, config.geometry.chips) = (4, 2);
    config.sets = SetsConfig { count, by };
    config.schedule.commit = CommitPolicy::Sos;
    config.buffer.size = 32 * 512;
    (config.buffer.flush_above, config.buffer.capacitor) = (0, false);
    config.ftl.spare = 400_000;
    config.queue.depth = 256;
    config.check_sets().expect("it can be divided");
    config
}

/// A host that sends single-page commands to the sets of a full drive.
struct Host {
    ssd: Ssd<Log>,
    now: Time,
    sent: Vec<Command>,
    done: Vec<Completion>,
}

impl Host {
    fn new(config: &SsdConfig) -> Host {
        config.check_space().expect("a drive with room to work");
        let mut ssd = Ssd::watched(config, 1, true, Log::default());
        ssd.precondition(&Precondition { state: PreparedState::Steady, fill: 1_000_000 }, 1);
        Host { ssd, now: Time::ZERO, sent: Vec::new(), done: Vec::new() }
    }

    fn pages(&self) -> u64 {
        self.ssd.sets().logical_pages()
    }

    fn send(&mut self, set: u64, op: Op, page: u64) -> usize {
        let id = CommandId(self.sent.len() as u32);
        let sector = set * self.pages() + page % self.pages();
        let command = Command { id, ..command(op, sector, u32::from(op != Op::Flush)) };
        assert_eq!(self.ssd.submit(self.now, &command), Submit::Accepted);
        self.sent.push(command);
        id.0 as usize
    }

    fn pass(&mut self, time: Nanos) {
        self.now += time;
        while !self.ssd.advance(self.now, &mut self.done) {}
    }

    fn is_done(&self, id: usize) -> bool {
        self.done.iter().any(|done| done.id.0 as usize == id)
    }

    fn ask(&mut self, set: u32, call: Control) -> ControlReply {
        self.ssd.control_set(self.now, SetId::new(set), call)
    }

    /// Runs writes and flushes on set 0 and reads on set 1; returns the waits of the reads by cause.
    fn reads_beside_writes(config: &SsdConfig) -> Vec<(Cause, Nanos)> {
        let mut host = Host::new(config);
        let mut reads = Vec::new();
        for step in 0..600 {
            host.send(0, Op::Write, step * 37);
            if step % 50 == 0 {
                host.send(0, Op::Flush, 0);
            }
            // One read at a time, so that reads do not wait for each other.
            if reads.last().is_none_or(|&read| host.is_done(read)) {
                reads.push(host.send(1, Op::Read, step * 13));
            }
            host.pass(Nanos::micros(40));
        }
        host.pass(Nanos::secs(1));
        assert!(reads.len() > 100 && host.done.len() == host.sent.len());
        let kinds = |kind| host.ssd.probe.0.iter().filter(|record| record.kind == kind).count();
        assert!(kinds(Kind::Erase) > 10 && kinds(Kind::GcWrite) > 10, "set 0 has collected");
        let of_reads = host.done.iter().filter(|done| reads.contains(&(done.id.0 as usize)));
        let causes = of_reads.flat_map(|done| Cause::ALL.map(|cause| (cause, done.spans.of(cause))));
        causes.filter(|&(_, time)| time > Nanos::ZERO).collect()
    }
}

#[test]
fn reads_of_a_set_by_channels_share_nothing_with_another_but_controller_and_link() {
    let alone =
        [Cause::Controller, Cause::LinkWait, Cause::Link, Cause::BusCommand, Cause::Cell, Cause::BusTransfer];
    for (cause, time) in Host::reads_beside_writes(&divided(2, SetsBy::Channels)) {
        assert!(alone.contains(&cause), "{time} of {cause:?}");
    }
}

#[test]
fn reads_of_a_set_by_chips_wait_for_buses_too_and_for_nothing_else() {
    let waited = Host::reads_beside_writes(&divided(2, SetsBy::Chips));
    let is_wait = |cause: Cause| {
        !matches!(
            cause,
            Cause::Controller
                | Cause::LinkWait
                | Cause::Link
                | Cause::BusCommand
                | Cause::Cell
                | Cause::BusTransfer
        )
    };
    let waits: Vec<Cause> = waited.iter().map(|&(cause, _)| cause).filter(|&cause| is_wait(cause)).collect();
    assert!(!waits.is_empty(), "buses are shared");
    assert!(waits.iter().all(|&cause| cause == Cause::BusWait), "{waits:?}");
}

/// While twelve pages of set 0 and one of set 1 are being written to flash, set 1 gets a flush. Returns its
/// latency.
fn flush_beside_writes() -> Nanos {
    let mut config = divided(2, SetsBy::Channels);
    config.geometry.channels = 2;
    config.geometry.chips = 1;
    let mut host = Host::new(&config);
    (0..12).for_each(|page| _ = host.send(0, Op::Write, page));
    host.send(1, Op::Write, 0);
    host.pass(Nanos::micros(10));
    let flush = host.send(1, Op::Flush, 0);
    let begun = host.now;
    while !host.is_done(flush) {
        host.pass(Nanos::micros(1));
    }
    let programmed = host.ssd.probe.0.iter().filter(|record| record.kind == Kind::UserWrite);
    let own = programmed.filter(|record| record.channel.get() == 1).count();
    assert!(own == 1 || host.now.since(begun) < Nanos::micros(1), "its own page is on flash");
    host.now.since(begun)
}

#[test]
fn a_flush_waits_for_its_set_only() {
    let time = flush_beside_writes();
    assert!(time > Nanos::micros(80) && time < Nanos::micros(120), "one program of 100 µs: {time}");
    let wrong = broken(Invariant::FlushOfSet, flush_beside_writes);
    assert!(wrong > Nanos::millis(1), "the other set's flush took {wrong}");
}

#[test]
fn a_full_share_of_the_buffer_holds_up_its_own_set_only() {
    let mut config = divided(2, SetsBy::Channels);
    (config.geometry.channels, config.geometry.chips) = (2, 1);
    let mut host = Host::new(&config);
    let many: Vec<usize> = (0..64).map(|page| host.send(0, Op::Write, page)).collect();
    let one = host.send(1, Op::Write, 0);
    host.pass(Nanos::micros(60));
    assert!(host.is_done(one));
    assert!(!many.iter().all(|&id| host.is_done(id)), "16 pages have room");
}

#[test]
fn calls_concern_the_set_that_they_name() {
    let mut config = divided(2, SetsBy::Channels);
    config.gc.high = 6;
    let mut host = Host::new(&config);
    let before = GcThresholds { low: config.gc.low, high: config.gc.high };
    let after = GcThresholds { low: 3, high: 5 };
    assert_eq!(host.ask(1, Control::SetThresholds(after)), ControlReply::Done);
    assert_eq!(host.ask(0, Control::GetThresholds), ControlReply::Thresholds(before));
    assert_eq!(host.ask(1, Control::GetThresholds), ControlReply::Thresholds(after));
    let ControlReply::Bytes(bytes) = host.ask(0, Control::UserCapacity) else { panic!("bytes") };
    assert_eq!(bytes, host.pages() * 512);
    // A run collects on the chips of its own set, and continues while the other set is asked to be quiet.
    host.pass(Nanos::secs(1));
    let erased = host.ssd.probe.0.iter().filter(|record| record.kind == Kind::Erase).count();
    assert_eq!(host.ask(0, Control::RunGc { until: Time::NEVER }), ControlReply::Done);
    assert_eq!(host.ask(0, Control::IsGcRunning), ControlReply::Answer(true));
    assert_eq!(host.ask(1, Control::IsGcRunning), ControlReply::Answer(false));
    assert_eq!(host.ask(1, Control::IsReadyForRead), ControlReply::Answer(true));
    host.pass(Nanos::secs(1));
    let erases = host.ssd.probe.0.iter().filter(|record| record.kind == Kind::Erase).skip(erased);
    let channels: Vec<u32> = erases.map(|record| record.channel.get()).collect();
    assert!(!channels.is_empty() && channels.iter().all(|&channel| channel < 2), "{channels:?}");
}

#[test]
fn a_quiet_period_outlasts_writes_to_another_set() {
    let mut host = Host::new(&divided(2, SetsBy::Channels));
    host.pass(Nanos::secs(1));
    assert_eq!(host.ask(1, Control::IsReadyForRead), ControlReply::Answer(true));
    let from = host.now;
    for page in 0..200 {
        host.send(0, Op::Write, page);
        host.send(1, Op::Read, page);
        host.pass(Nanos::micros(100));
    }
    assert_eq!(host.ask(1, Control::IsReadyForRead), ControlReply::Answer(true));
    let records = host.ssd.probe.0.iter().filter(|record| record.end > from);
    for record in records {
        assert!(record.channel.get() < 2 || record.kind == Kind::UserRead, "{record:?}");
    }
    let programs = host.ssd.probe.0.iter().filter(|record| record.kind == Kind::UserWrite);
    assert!(programs.count() > 100);
}

#[test]
fn predictable_latency_mode_is_defined_for_each_set() {
    let mut host = Host::new(&divided(2, SetsBy::Chips));
    let on = Control::SetPredictableLatency { is_enabled: true, config: Config::default() };
    assert_eq!(host.ask(0, on), ControlReply::Done);
    assert_eq!(host.ask(1, Control::SelectedWindow), ControlReply::Invalid);
    assert_eq!(host.ask(0, Control::SelectWindow(Window::Deterministic)), ControlReply::Done);
    assert_eq!(host.ask(1, on), ControlReply::Done);
    assert_eq!(host.ask(0, Control::SelectedWindow), ControlReply::Window(Window::Deterministic));
    assert_eq!(host.ask(1, Control::SelectedWindow), ControlReply::Window(Window::NonDeterministic));
}

#[test]
fn no_command_is_for_two_sets_and_a_call_names_one() {
    let config = divided(2, SetsBy::Channels);
    let mut host = Host::new(&config);
    let pages = host.pages();
    let refused = Submit::Refused(Status::InvalidField);
    for op in [Op::Read, Op::Write, Op::Trim] {
        assert_eq!(host.ssd.submit(host.now, &command(op, pages - 1, 2)), refused);
    }
    assert_eq!(host.ssd.submit(host.now, &command(Op::Flush, 2 * pages, 0)), refused);
    assert_eq!(host.ssd.control(host.now, Control::FreeBlocks), ControlReply::Unsupported);
    let (whole, set) = (host.ssd.identify(), host.ssd.identify_set(SetId::new(1)));
    assert_eq!((whole.sectors, whole.queue_depth), (2 * set.sectors, 2 * set.queue_depth));
}

#[test]
fn a_set_that_runs_out_of_good_blocks_leaves_the_other_writable() {
    let mut config = divided(2, SetsBy::Channels);
    (config.geometry.channels, config.geometry.chips) = (2, 1);
    config.faults.program_fail = 0.02;
    let mut host = Host::new(&config);
    for page in 0..40_000u64 {
        if host.ssd.read_only().is_some() {
            break;
        }
        host.send(0, Op::Write, page * 7919);
        host.pass(Nanos::micros(200));
    }
    assert!(host.ssd.read_only().is_some(), "blocks go bad until there are too few");
    let (refused, taken) = (host.send(0, Op::Write, 0), host.send(1, Op::Write, 0));
    let flushed = host.send(1, Op::Flush, 0);
    host.pass(Nanos::secs(1));
    let status = |id: usize| host.done.iter().find(|done| done.id.0 as usize == id).map(|done| done.status);
    assert_eq!(status(refused), Some(Status::WriteProtected));
    assert_eq!([status(taken), status(flushed)], [Some(Status::Success); 2]);
}

#[test]
fn every_set_is_prepared_like_a_drive_of_its_own() {
    for by in [SetsBy::Channels, SetsBy::Chips] {
        let config = divided(2, by);
        for state in [PreparedState::Sequential, PreparedState::Steady] {
            let mut ssd: Ssd = Ssd::new(&config, 1, true);
            ssd.precondition(&Precondition { state, fill: 500_000 }, 1);
            ssd.check();
            let sets = ssd.sets();
            for set in 0..2 {
                let first = set * sets.logical_pages();
                let written =
                    (0..sets.logical_pages()).filter(|&page| ssd.peek(LogicalPage::new(first + page)) != 0);
                let half = sets.logical_pages() / 2;
                let most = written.max().expect("some");
                assert!(most < half && most + 2 * u64::from(sets.planes_each()) >= half, "{most} of {half}");
            }
        }
    }
}
