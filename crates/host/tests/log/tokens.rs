//! Logs whose drives share a token: which drives are written and read, what survives, and how long writes
//! wait.

use crate::crash::{cut_at_every_step, lives};
use crate::rig::{Rig, TOKENS, cases, with_tokens};
use std::panic::{AssertUnwindSafe, catch_unwind};
use tailcut_base::{Nanos, Op, Status, Time};
use tailcut_host::array::epoch::EpochMode;
use tailcut_host::array::token_scheduling::EpochFigures;
use tailcut_host::array::{ArrayConfig, Condition, LayoutKind, ReadPolicy};
use tailcut_host::planted::{Rule, broken};

const RAID5: (LayoutKind, u32, u32) = TOKENS[1];

fn tokens((layout, groups, width): (LayoutKind, u32, u32)) -> ArrayConfig {
    with_tokens(layout, groups, width)
}

fn figures(rig: &Rig) -> EpochFigures {
    rig.array.epoch_figures().expect("it has tokens")
}

fn is_idle(rig: &Rig) -> bool {
    rig.array.next_event() == Time::NEVER
}

#[test]
fn one_drive_of_a_group_is_written_and_the_others_are_read() {
    for shape in TOKENS {
        for seed in cases(2) {
            let mut rig = Rig::create(tokens(shape), 600, seed);
            let region = rig.blocks();
            rig.watches_tokens = true;
            rig.run(2 * region, 16, region, [1, 0, 0, 0]);
            rig.run(2000, 16, region, [60, 60, 5, 3]);
            rig.read_all();
            let EpochFigures { epochs, diverted, met, from_cache, written, .. } = figures(&rig);
            assert!(epochs > 100 && diverted > 100 && from_cache > 100, "{:?}", figures(&rig));
            assert_eq!(met, 0);
            assert!(rig.figures().rows_collected > 10 && written > rig.figures().moved_blocks);
            assert_eq!(rig.failures, []);
        }
    }
}

#[test]
fn writes_are_acknowledged_in_memory_and_durable_when_they_say_so() {
    let mut rig = Rig::create(tokens(RAID5), 600, 1);
    rig.rest();
    rig.write(7, 3);
    assert_eq!(rig.in_flight(), 0, "it is in memory");
    assert!(rig.submit(Op::Write, 9, 3, true));
    assert_eq!(rig.in_flight(), 1, "it waits for its drives");
    rig.settle();
    rig.cut_and_open();
}

#[test]
fn nothing_happens_in_an_idle_array() {
    let mut rig = Rig::create(tokens(RAID5), 600, 1);
    rig.write(7, 3);
    rig.rest();
    let epochs = figures(&rig).epochs;
    assert!(is_idle(&rig) && epochs > 0);
    rig.read_all();
    rig.rest();
    assert!(is_idle(&rig));
    assert_eq!(figures(&rig).epochs, epochs, "reads need no token");
}

#[test]
fn a_write_that_nobody_waits_for_rests_for_the_delay() {
    let mut config = tokens(RAID5);
    config.epoch.delay = Nanos::millis(7);
    let mut rig = Rig::create(config, 600, 1);
    rig.rest();
    rig.write(7, 1);
    assert_eq!(rig.array.next_event(), rig.now + Nanos::millis(7));
    assert!(rig.submit(Op::Flush, 0, 0, false));
    assert!(rig.machines.iter().any(|machine| machine.heavy() > 0), "somebody waits for it");
    rig.settle();
}

#[test]
fn a_flush_takes_one_round() {
    let mut rig = Rig::create(tokens(RAID5), 600, 1);
    rig.rest();
    // Too few blocks to fill a row: closing one would take more rounds.
    for block in 0..3 {
        rig.write(block * 5, 4);
        let epochs = figures(&rig).epochs;
        rig.flush();
        rig.rest();
        assert_eq!(figures(&rig).epochs - epochs, 3, "one of each drive");
    }
}

#[test]
fn what_was_durable_survives_power_cuts() {
    for shape in TOKENS {
        for seed in cases(2) {
            let mut rig = Rig::create(tokens(shape), 600, seed);
            lives(&mut rig, 8, 2500, [60, 5, 10, 5]);
            let region = rig.blocks();
            rig.run(2 * region, 16, region, [1, 0, 0, 0]);
            lives(&mut rig, 6, 800, [60, 5, 0, 1]);
            assert_eq!(rig.failures, []);
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
            let mut rig = Rig::create(tokens(shape), 600, seed);
            let region = rig.blocks();
            rig.run(1500, 16, region, [60, 20, 5, 3]);
            let drive = rig.random.below(rig.machines.len() as u64) as usize;
            rig.machines[drive].is_gone = true;
            rig.run(1500, 16, region, [60, 60, 5, 3]);
            assert!(figures(&rig).met > 0, "there is no way around a second drive");
            if seed % 2 == 0 {
                rig.cut_and_open_without(drive);
            }
            rig.replace(drive);
            rig.run(600, 16, region, [60, 20, 5, 3]);
            rig.rest();
            assert_eq!(rig.array.condition(), Condition::Optimal);
            let met = figures(&rig).met;
            rig.watches_tokens = true;
            rig.run(600, 16, region, [60, 20, 5, 3]);
            rig.read_all();
            assert_eq!(figures(&rig).met, met);
            rig.watches_tokens = false;
            let report = rig.scrub();
            assert_eq!((report.repaired, report.parities, report.unreadable), (0, 0, 0), "{report:?}");
            assert_eq!(rig.failures, []);
        }
    }
}

#[test]
fn what_was_acknowledged_in_memory_and_can_be_written_nowhere_is_told_by_the_next_flush() {
    let mut rig = Rig::create(tokens(RAID5), 600, 1);
    rig.rest();
    rig.write(0, 40);
    assert_eq!(rig.in_flight(), 0);
    (0..2).for_each(|drive| rig.machines[drive].is_gone = true);
    rig.flush();
    assert_eq!(rig.failures, [(Op::Flush, Status::MediaError)]);
}

#[test]
fn no_block_waits_for_longer_than_the_deadline() {
    for shape in TOKENS {
        for (deadline, seed) in [(Nanos::millis(50), 1), (Nanos::millis(500), 2)] {
            let mut config = tokens(shape);
            config.epoch.deadline = deadline;
            let mut rig = Rig::create(config, 900, seed);
            rig.machines.iter_mut().for_each(|machine| machine.has_hiccups = false);
            let region = rig.blocks();
            rig.run(2 * region, 48, region, [1, 0, 0, 0]);
            rig.run(4000, 48, region, [60, 20, 5, 1]);
            let EpochFigures { late, longest_wait, longest_epoch, .. } = figures(&rig);
            assert_eq!(late, 0, "{shape:?} {:?}", figures(&rig));
            assert!(longest_wait <= deadline && longest_wait >= longest_epoch / 2);
        }
    }
}

#[test]
fn what_waits_for_longer_is_counted() {
    let mut config = tokens(RAID5);
    (config.epoch.delay, config.epoch.deadline) = (Nanos::ZERO, Nanos::micros(600));
    let mut rig = Rig::create(config, 600, 1);
    let region = rig.blocks();
    rig.run(600, 16, region, [1, 0, 0, 0]);
    rig.rest();
    let EpochFigures { late, longest_wait, .. } = figures(&rig);
    assert!(late > 0 && longest_wait > Nanos::micros(600), "a flush alone takes as long as an epoch may");
}

#[test]
fn drives_without_a_control_interface_are_treated_as_by_epochs() {
    let mut config = tokens(RAID5);
    config.epoch.mode = EpochMode::GcControl;
    let mut rig = Rig::create(config, 600, 1);
    let region = rig.blocks();
    rig.run(2000, 16, region, [60, 20, 5, 3]);
    rig.rest();
    assert_eq!(figures(&rig).without_control, 3);
    rig.read_all();
}

#[test]
fn drives_without_a_cache_need_no_flush() {
    let (layout, groups, width) = RAID5;
    let disks = vec![tailcut_host::Disk { volatile_cache: false, ..crate::rig::disk(600) }; 3];
    let mut rig = Rig::create_on(with_tokens(layout, groups, width), disks, 4);
    lives(&mut rig, 6, 1500, [60, 5, 10, 5]);
    assert_eq!(rig.failures, []);
}

#[test]
fn an_epoch_that_is_not_flushed_is_noticed() {
    let case = |seed: u64| {
        let mut rig = Rig::create(tokens(TOKENS[seed as usize % TOKENS.len()]), 500, seed);
        lives(&mut rig, 6, 600, [60, 0, 5, 5]);
    };
    let fails = |seed| catch_unwind(AssertUnwindSafe(|| case(seed))).is_err();
    assert!(!fails(1), "the rule holds");
    assert!(broken(Rule::EpochsAreFlushed, || (1..20).any(fails)));
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
