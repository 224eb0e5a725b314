//! Logs whose drives share a token: which drives are written and read, what survives, and how long writes
//! wait.

use crate::log::crash::{cut_at_every_step, lives};
use crate::log::harness::{Harness, TOKENS, cases, with_tokens};
use std::panic::{AssertUnwindSafe, catch_unwind};
use tailcut_base::{Nanos, Op, Status, Time};
use tailcut_host::array::epoch::EpochMode;
use tailcut_host::array::token_scheduling::EpochFigures;
use tailcut_host::array::{ArrayConfig, Condition, LayoutKind, ReadPolicy};
use tailcut_host::mutation::{Invariant, broken};

const RAID5: (LayoutKind, u32, u32) = TOKENS[1];

fn tokens((layout, groups, width): (LayoutKind, u32, u32)) -> ArrayConfig {
    with_tokens(layout, groups, width)
}

fn figures(harness: &Harness) -> EpochFigures {
    harness.array.epoch_figures().expect("it has tokens")
}

fn is_idle(harness: &Harness) -> bool {
    harness.array.next_event() == Time::NEVER
}

#[test]
fn one_drive_of_a_group_is_written_and_the_others_are_read() {
    for shape in TOKENS {
        for seed in cases(2) {
            let mut harness = Harness::create(tokens(shape), 600, seed);
            let region = harness.blocks();
            harness.watches_tokens = true;
            harness.run(2 * region, 16, region, [1, 0, 0, 0]);
            harness.run(2000, 16, region, [60, 60, 5, 3]);
            harness.read_all();
            let EpochFigures { epochs, diverted, met, from_cache, written, .. } = figures(&harness);
            assert!(epochs > 100 && diverted > 100 && from_cache > 100, "{:?}", figures(&harness));
            assert_eq!(met, 0);
            assert!(harness.figures().rows_collected > 10 && written > harness.figures().moved_blocks);
            assert_eq!(harness.failures, []);
        }
    }
}

#[test]
fn writes_are_acknowledged_in_memory_and_durable_when_they_say_so() {
    let mut harness = Harness::create(tokens(RAID5), 600, 1);
    harness.rest();
    harness.write(7, 3);
    assert_eq!(harness.in_flight(), 0, "it is in memory");
    assert!(harness.submit(Op::Write, 9, 3, true));
    assert_eq!(harness.in_flight(), 1, "it waits for its drives");
    harness.settle();
    harness.cut_and_open();
}

#[test]
fn nothing_happens_in_an_idle_array() {
    let mut harness = Harness::create(tokens(RAID5), 600, 1);
    harness.write(7, 3);
    harness.rest();
    let epochs = figures(&harness).epochs;
    assert!(is_idle(&harness) && epochs > 0);
    harness.read_all();
    harness.rest();
    assert!(is_idle(&harness));
    assert_eq!(figures(&harness).epochs, epochs, "reads need no token");
}

#[test]
fn a_write_that_nobody_waits_for_rests_for_the_delay() {
    let mut config = tokens(RAID5);
    config.epoch.delay = Nanos::millis(7);
    let mut harness = Harness::create(config, 600, 1);
    harness.rest();
    harness.write(7, 1);
    assert_eq!(harness.array.next_event(), harness.now + Nanos::millis(7));
    assert!(harness.submit(Op::Flush, 0, 0, false));
    assert!(harness.machines.iter().any(|machine| machine.heavy() > 0), "somebody waits for it");
    harness.settle();
}

#[test]
fn a_flush_takes_one_round() {
    let mut harness = Harness::create(tokens(RAID5), 600, 1);
    harness.rest();
    // Too few blocks to fill a row: closing one would take more rounds.
    for block in 0..3 {
        harness.write(block * 5, 4);
        let epochs = figures(&harness).epochs;
        harness.flush();
        harness.rest();
        assert_eq!(figures(&harness).epochs - epochs, 3, "one of each drive");
    }
}

#[test]
fn what_was_durable_survives_power_cuts() {
    for shape in TOKENS {
        for seed in cases(2) {
            let mut harness = Harness::create(tokens(shape), 600, seed);
            lives(&mut harness, 8, 2500, [60, 5, 10, 5]);
            let region = harness.blocks();
            harness.run(2 * region, 16, region, [1, 0, 0, 0]);
            lives(&mut harness, 6, 800, [60, 5, 0, 1]);
            assert_eq!(harness.failures, []);
        }
    }
}

#[test]
fn a_small_script_survives_a_cut_at_every_step() {
    TOKENS.into_iter().for_each(|shape| cut_at_every_step(&tokens(shape)));
}

#[test]
fn a_drive_may_die_and_be_replaced() {
    for shape in TOKENS {
        for seed in cases(2) {
            let mut harness = Harness::create(tokens(shape), 600, seed);
            let region = harness.blocks();
            harness.run(1500, 16, region, [60, 20, 5, 3]);
            let drive = harness.random.below(harness.machines.len() as u64) as usize;
            harness.machines[drive].is_gone = true;
            harness.run(1500, 16, region, [60, 60, 5, 3]);
            assert!(figures(&harness).met > 0, "there is no way around a second drive");
            if seed % 2 == 0 {
                harness.cut_and_open_without(drive);
            }
            harness.replace(drive);
            harness.run(600, 16, region, [60, 20, 5, 3]);
            harness.rest();
            assert_eq!(harness.array.condition(), Condition::Optimal);
            let met = figures(&harness).met;
            harness.watches_tokens = true;
            harness.run(600, 16, region, [60, 20, 5, 3]);
            harness.read_all();
            assert_eq!(figures(&harness).met, met);
            harness.watches_tokens = false;
            let report = harness.scrub();
            assert_eq!((report.repaired, report.parities, report.unreadable), (0, 0, 0), "{report:?}");
            assert_eq!(harness.failures, []);
        }
    }
}

#[test]
fn what_was_acknowledged_in_memory_and_can_be_written_nowhere_is_told_by_the_next_flush() {
    let mut harness = Harness::create(tokens(RAID5), 600, 1);
    harness.rest();
    harness.write(0, 40);
    assert_eq!(harness.in_flight(), 0);
    (0..2).for_each(|drive| harness.machines[drive].is_gone = true);
    harness.flush();
    assert_eq!(harness.failures, [(Op::Flush, Status::MediaError)]);
}

#[test]
fn no_block_waits_for_longer_than_the_deadline() {
    for shape in TOKENS {
        for (deadline, seed) in [(Nanos::millis(50), 1), (Nanos::millis(500), 2)] {
            let mut config = tokens(shape);
            config.epoch.deadline = deadline;
            let mut harness = Harness::create(config, 900, seed);
            harness.machines.iter_mut().for_each(|machine| machine.has_hiccups = false);
            let region = harness.blocks();
            harness.run(2 * region, 48, region, [1, 0, 0, 0]);
            harness.run(4000, 48, region, [60, 20, 5, 1]);
            let EpochFigures { late, longest_wait, longest_epoch, .. } = figures(&harness);
            assert_eq!(late, 0, "{shape:?} {:?}", figures(&harness));
            assert!(longest_wait <= deadline && longest_wait >= longest_epoch / 2);
        }
    }
}

#[test]
fn what_waits_for_longer_is_counted() {
    let mut config = tokens(RAID5);
    (config.epoch.delay, config.epoch.deadline) = (Nanos::ZERO, Nanos::micros(600));
    let mut harness = Harness::create(config, 600, 1);
    let region = harness.blocks();
    harness.run(600, 16, region, [1, 0, 0, 0]);
    harness.rest();
    let EpochFigures { late, longest_wait, .. } = figures(&harness);
    assert!(late > 0 && longest_wait > Nanos::micros(600), "a flush alone takes as long as an epoch may");
}

#[test]
fn drives_without_a_control_interface_are_treated_as_by_epochs() {
    let mut config = tokens(RAID5);
    config.epoch.mode = EpochMode::GcControl;
    let mut harness = Harness::create(config, 600, 1);
    let region = harness.blocks();
    harness.run(2000, 16, region, [60, 20, 5, 3]);
    harness.rest();
    assert_eq!(figures(&harness).without_control, 3);
    harness.read_all();
}

#[test]
fn drives_without_a_cache_need_no_flush() {
    let (layout, groups, width) = RAID5;
    let disks = vec![tailcut_host::Disk { volatile_cache: false, ..crate::log::harness::disk(600) }; 3];
    let mut harness = Harness::create_on(with_tokens(layout, groups, width), disks, 4);
    lives(&mut harness, 6, 1500, [60, 5, 10, 5]);
    assert_eq!(harness.failures, []);
}

#[test]
fn an_epoch_that_is_not_flushed_is_noticed() {
    let case = |seed: u64| {
        let mut harness = Harness::create(tokens(TOKENS[seed as usize % TOKENS.len()]), 500, seed);
        lives(&mut harness, 6, 600, [60, 0, 5, 5]);
    };
    let fails = |seed| catch_unwind(AssertUnwindSafe(|| case(seed))).is_err();
    assert!(!fails(1), "the rule holds");
    assert!(broken(Invariant::EpochsAreFlushed, || (1..20).any(fails)));
}

#[test]
fn wrong_combinations_are_refused_with_the_names_of_the_keys() {
    let problem = |change: &dyn Fn(&mut ArrayConfig)| {
        let mut config = tokens(RAID5);
        change(&mut config);
        let keys: Vec<&str> = config.problems().into_iter().map(|(key, _)| key).collect();
        keys
    };
    assert_eq!(problem(&|_| {}), Vec::<&str>::new());
    assert_eq!(problem(&|config| config.layout = LayoutKind::LogRaid0), ["log.tokens"]);
    assert_eq!(problem(&|config| config.layout = LayoutKind::Raid5), ["log.tokens"]);
    assert_eq!(problem(&|config| config.turns = Nanos::millis(10)), ["turns"]);
    assert_eq!(problem(&|config| config.reads = ReadPolicy::AroundCollection), ["reads"]);
    assert_eq!(problem(&|config| config.epoch.deadline = Nanos::micros(100)), ["epoch"]);
}
