//! However many reads arrive, the operations that they preempt complete: after a bounded number of
//! suspensions and resets, and within a bounded time.

use crate::preemption::{READ_ON_CHIP, costs, drive};
use crate::script::{Mix, Played};
use std::collections::BTreeMap;
use tailcut_base::{Nanos, Time};
use tailcut_ssd::config::{Classes, Handling};
use tailcut_ssd::probe::Outcome;
use tailcut_ssd::request::Kind;
use tailcut_ssd::{ChipRecord, SsdConfig};

const HANDLINGS: [Handling; 3] = [Handling::None, Handling::Suspend, Handling::Reset];
const LIMITS: [u32; 4] = [0, 1, 16, 255];

/// A load of endless preempting reads, with as many writes as there is time for. With `never_idle`, a read is
/// always waiting at the chip, so a write is served only when its patience runs out; otherwise, a write
/// starts between two reads and collides with the next.
fn flood(config: &SsdConfig, writes: u32, never_idle: bool) -> Played {
    let class = if config.schedule.classes == Classes::Equal { 3 } else { 1 };
    let reads_in_flight = if never_idle { 4 } else { 1 };
    Mix { reads_in_flight, writes_in_flight: 2, class, writes }.play(config)
}

fn flooded(program: Handling, erase: Handling, limit: u32, classes: Classes) -> (SsdConfig, [Played; 2]) {
    let mut config = drive(Handling::None);
    (config.preempt.program, config.preempt.erase) = (program, erase);
    (config.preempt.suspensions, config.preempt.resets) = (limit, limit);
    config.schedule.classes = classes;
    config.schedule.write_patience = Nanos::millis(1);
    let played = [true, false].map(|never_idle| flood(&config, 60, never_idle));
    (config, played)
}

/// The longest time during which reads had priority, between the ends of two other operations.
fn longest_gap(records: &[ChipRecord]) -> Nanos {
    let is_other = |r: &&ChipRecord| r.kind != Kind::UserRead && r.outcome == Outcome::Done;
    let ends: Vec<Time> = records.iter().filter(is_other).map(|r| r.end).collect();
    ends.windows(2).map(|pair| pair[1].since(pair[0])).max().expect("there was other work")
}

/// The largest number of resets of one operation.
fn most_resets(records: &[ChipRecord]) -> u32 {
    let (mut resets, mut most) = (BTreeMap::new(), 0);
    for record in records.iter().filter(|r| !r.kind.is_read()) {
        for member in &record.members {
            let what = if record.kind == Kind::Erase { member.physical.get() } else { member.logical.get() };
            let count: &mut u32 = resets.entry((record.kind as u8, what)).or_default();
            *count = if record.outcome == Outcome::Reset { *count + 1 } else { 0 };
            most = most.max(*count);
        }
    }
    most
}

fn check(config: &SsdConfig, played: &Played, limit: u32) {
    let records = played.records();
    assert!(records.iter().all(|r| r.suspensions <= limit));
    assert!(most_resets(records) <= limit);
    // An operation waits up to three times for its turn: to start, to restart after its first reset, and
    // while suspended. Each wait ends with a read that had already started; then the operation itself runs.
    let t = &config.timing;
    let operation = t.erase.max(t.program[0]) + Nanos(2_000);
    let handover = t.erase_suspend + t.erase_resume;
    let bound = (config.schedule.write_patience + READ_ON_CHIP) * 3 + operation + handover;
    assert!(longest_gap(records) <= bound, "{} > {bound}", longest_gap(records));
}

#[test]
fn what_reads_preempt_ends_however_many_come() {
    for (program, erase) in HANDLINGS.into_iter().flat_map(|p| HANDLINGS.map(|e| (p, e))) {
        for limit in LIMITS {
            for classes in [Classes::Told, Classes::Equal] {
                let (config, [never_idle, played]) = flooded(program, erase, limit, classes);
                check(&config, &never_idle, limit);
                check(&config, &played, limit);
                let counts = played.counts();
                assert_eq!(counts.program_resets > 0, program == Handling::Reset && limit > 0);
                assert_eq!(counts.erase_resets > 0, erase == Handling::Reset && limit > 0);
                let can_suspend = |handling| handling == Handling::Suspend && limit > 0;
                assert!(counts.program_suspends > 0 || !can_suspend(program), "{counts:?}");
                assert!(counts.erase_suspends > 0 || !can_suspend(erase), "{counts:?}");
            }
        }
    }
}

/// A chip that was preempted serves the read for which it was preempted.
fn check_use(config: &SsdConfig, records: &[ChipRecord]) {
    for (at, record) in records.iter().enumerate() {
        if record.outcome == Outcome::Reset {
            assert_eq!(records[at + 1].kind, Kind::UserRead, "after {record:?}");
        }
        let (takes, resume) = costs(record.kind, Handling::Suspend);
        let least = (takes + READ_ON_CHIP + resume) * u64::from(record.suspensions);
        assert!(record.suspended >= least, "{record:?} under {:?}", config.preempt);
    }
}

#[test]
fn no_chip_is_taken_in_vain() {
    for (program, erase) in HANDLINGS.into_iter().flat_map(|p| HANDLINGS.map(|e| (p, e))) {
        for patience in [0, 70, 250, 1000, 20_000] {
            for limit in LIMITS {
                let mut config = drive(Handling::None);
                (config.preempt.program, config.preempt.erase) = (program, erase);
                (config.preempt.suspensions, config.preempt.resets) = (limit, limit);
                config.preempt.when_quicker = limit != 16;
                config.schedule.write_patience = Nanos::micros(patience);
                let load = Mix { reads_in_flight: 1 + limit % 2, writes_in_flight: 2, class: 1, writes: 30 };
                check_use(&config, load.play(&config).records());
            }
        }
    }
}
