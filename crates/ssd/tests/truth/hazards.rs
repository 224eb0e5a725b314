//! The rules that keep reordered requests correct (Sprinkler, section 4.4): each check is shown to fail when
//! its rule is broken.

use crate::content::Swarm;
use crate::drives;
use crate::host::command;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use tailcut_base::random::Stream;
use tailcut_base::{Command, CommandId, Completion, Device, Op, Submit, Time};
use tailcut_ssd::config::CommitPolicy;
use tailcut_ssd::flash::geometry::ReadyBusy;
use tailcut_ssd::mutation::{Invariant, broken};
use tailcut_ssd::precondition::PreparedState;
use tailcut_ssd::probe::Member;
use tailcut_ssd::request::Kind;
use tailcut_ssd::{ChipRecord, Precondition, Probe, Ssd, SsdConfig};

/// The policies that reorder requests.
const POLICIES: [CommitPolicy; 4] =
    [CommitPolicy::Pas, CommitPolicy::Faro, CommitPolicy::Rios, CommitPolicy::Sprinkler];

/// Random loads on random drives detect an unguarded hazard, and report nothing otherwise.
fn swarm_notices(rule: Invariant) {
    let tune = |drive: &mut SsdConfig, seed: u64| {
        drive.schedule.commit = POLICIES[(seed % 4) as usize];
        drive.buffer.size = 0;
    };
    let swarm = Swarm { name: "hazards", cases: 300, length: 200, reads: false, controls: false };
    assert_eq!(swarm.fails(tune), None);
    let failure = broken(rule, || swarm.fails(tune));
    assert!(failure.is_some(), "no load noticed that {rule:?} does not hold");
}

#[test]
fn a_read_after_a_write_gets_what_was_written() {
    swarm_notices(Invariant::ReadAfterWrite);
}

#[test]
fn of_two_writes_the_later_one_stays() {
    swarm_notices(Invariant::WriteAfterWrite);
}

#[test]
fn a_write_after_a_read_does_not_take_its_page_away() {
    swarm_notices(Invariant::WriteAfterRead);
}

/// Everything that a drive did, in order.
#[derive(Debug, Default)]
struct Log {
    transactions: Vec<ChipRecord>,
    /// First logical page of each command, by its number.
    first_pages: Vec<u32>,
    /// Pages of commands that were read from flash.
    read: BTreeSet<(u32, u32)>,
    /// Pages sent to the host before they were read.
    early: usize,
    /// Pages of each command that were sent to the host.
    returned: BTreeMap<u32, u32>,
}

impl Probe for Log {
    const WATCHES: bool = true;

    fn transaction(&mut self, record: ChipRecord) {
        for &Member { command, logical, .. } in &record.members {
            if let Some(CommandId(id)) = command {
                self.read.insert((id, (logical.get() - u64::from(self.first_pages[id as usize])) as u32));
            }
        }
        self.transactions.push(record);
    }

    fn returned(&mut self, CommandId(id): CommandId, pages: Range<u32>) {
        assert_eq!(self.returned.insert(id, pages.end).unwrap_or(0), pages.start, "pages go out in order");
        self.early += pages.filter(|&page| !self.read.contains(&(id, page))).count();
    }
}

/// Serves `commands`, numbered in order, with `depth` in flight.
fn watch(config: &SsdConfig, depth: usize, commands: &[Command]) -> Log {
    config.check_space().expect("a drive with room to work");
    let page = |command: &Command| (command.sector / u64::from(config.geometry.page_sectors())) as u32;
    let log = Log { first_pages: commands.iter().map(page).collect(), ..Log::default() };
    let mut ssd = Ssd::watched(config, 1, true, log);
    ssd.precondition(&Precondition { state: PreparedState::Sequential, fill: 1_000_000 }, 1);
    let (mut now, mut sent) = (Time::ZERO, 0);
    let mut done: Vec<Completion> = Vec::new();
    while done.len() < commands.len() {
        while sent < commands.len() && sent - done.len() < depth {
            let id = CommandId(sent as u32);
            assert_eq!(ssd.submit(now, &Command { id, ..commands[sent] }), Submit::Accepted);
            sent += 1;
        }
        now = ssd.next_event();
        assert!(now != Time::NEVER, "{}", ssd.why_stuck());
        ssd.advance(now, &mut done);
        ssd.check_machines();
    }
    ssd.probe
}

/// Two channels of two chips, each with two dies of two planes; write-through, with ample spare space.
fn drive(policy: CommitPolicy) -> SsdConfig {
    let mut config = drives::plane(32, 8);
    let g = &mut config.geometry;
    (g.channels, g.chips, g.dies, g.planes) = (2, 2, 2, 2);
    g.ready_busy = ReadyBusy::Chip;
    config.ftl.spare = 500_000;
    config.schedule.commit = policy;
    config
}

fn random_commands(seed: u64, config: &SsdConfig, count: usize, fua_in_100: u64) -> Vec<Command> {
    let mut r = Stream::new(seed, "test.commands");
    let pages = config.ftl.logical_pages(&config.geometry);
    let draw = |_| {
        let op = if r.below(3) == 0 { Op::Write } else { Op::Read };
        let length = 1 + r.below(12);
        let fua = r.below(100) < fua_in_100;
        Command { fua, ..command(op, r.below(pages - length), length as u32) }
    };
    (0..count).map(draw).collect()
}

/// Times at which the first and the last memory request of each command started.
fn starts(log: &Log) -> BTreeMap<u32, (Time, Time)> {
    let mut starts: BTreeMap<u32, (Time, Time)> = BTreeMap::new();
    for record in &log.transactions {
        for id in record.members.iter().filter_map(|member| member.command) {
            let (first, last) = starts.entry(id.0).or_insert((record.start, record.start));
            (*first, *last) = ((*first).min(record.start), (*last).max(record.start));
        }
    }
    starts
}

/// Number of command pairs that were reordered although one of them has FUA set.
fn reordered(log: &Log, commands: &[Command]) -> usize {
    let mut starts: Vec<(u32, (Time, Time))> = starts(log).into_iter().collect();
    starts.sort_unstable();
    let mut wrong = 0;
    for (at, &(id, (_, last))) in starts.iter().enumerate() {
        for &(later, (first, _)) in &starts[at + 1..] {
            let matters = commands[id as usize].fua || commands[later as usize].fua;
            wrong += usize::from(matters && first < last);
        }
    }
    wrong
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn force_unit_access_keeps_its_place(seed in any::<u64>(), policy in 0usize..4, hit_manager in any::<bool>()) {
        let mut config = drive(POLICIES[policy]);
        config.schedule.hit_manager = hit_manager;
        let commands = random_commands(seed, &config, 150, 10);
        prop_assert_eq!(reordered(&watch(&config, 32, &commands), &commands), 0);
        let careless = broken(Invariant::FuaInPlace, || watch(&config, 32, &commands));
        prop_assert!(reordered(&careless, &commands) > 0);
    }

    #[test]
    fn data_of_reads_goes_out_in_order(seed in any::<u64>(), policy in 0usize..4) {
        let config = drive(POLICIES[policy]);
        let commands: Vec<Command> =
            random_commands(seed, &config, 100, 0).into_iter().map(|c| Command { op: Op::Read, ..c }).collect();
        prop_assert_eq!(watch(&config, 32, &commands).early, 0);
        let careless = broken(Invariant::InOrderReturn, || watch(&config, 32, &commands));
        prop_assert!(careless.early > 0);
    }
}

/// Number of transactions on its chip that overtake a read without overlap, while sets of four fully
/// overlapping requests keep arriving.
fn passed_over(passes: u32) -> usize {
    let mut config = drives::plane(16, 64);
    let g = &mut config.geometry;
    (g.channels, g.chips, g.dies, g.planes) = (1, 1, 2, 2);
    g.ready_busy = ReadyBusy::Chip;
    config.schedule.commit = CommitPolicy::Sprinkler;
    config.schedule.passes = passes;
    config.ftl.spare = 500_000;
    // Written in order, page n is in die/plane slot n % 4, at page offset n / 4 of its block.
    let full = |n: u64| command(Op::Read, 4 * (n % 60), 4);
    let mut commands: Vec<Command> = (0..400).map(full).collect();
    // The first set starts at once. This request is the oldest in the queue behind it.
    commands.insert(1, command(Op::Read, 4 * 61, 1));
    let log = watch(&config, 16, &commands);
    let is_lone = |record: &ChipRecord| record.members.iter().any(|m| m.command == Some(CommandId(1)));
    log.transactions.iter().filter(|r| r.kind == Kind::UserRead).position(is_lone).expect("it was served")
}

#[test]
fn no_request_is_passed_over_for_ever() {
    for passes in [0, 1, 5, 16] {
        // The transaction in progress when it arrived also counts.
        assert_eq!(passed_over(passes), passes.max(1) as usize);
    }
    let starved = broken(Invariant::BoundedWait, || passed_over(5));
    assert!(starved > 100, "without the bound it went after {starved} transactions");
}
