//! Mutation tests: checks must detect broken rules, since a check that has never failed proves nothing.

use crate::log::crash::lives;
use crate::log::harness::{Harness, LAYOUTS, config};
use std::panic::{AssertUnwindSafe, catch_unwind};
use tailcut_host::array::LayoutKind;
use tailcut_host::mutation::{Invariant, broken};

/// True if some case fails while the rule is broken.
fn is_caught(rule: Invariant, weights: [u64; 4], fills: bool) -> bool {
    (1..100).any(|seed| {
        let (layout, groups, width) = LAYOUTS[seed as usize % LAYOUTS.len()];
        let case = || {
            let mut config = config(layout, groups, width);
            config.log.checkpoint_every = 40_000;
            // Victims that take long to collect leave more time for races.
            config.log.collect_depth = 1 + (seed % 2) as u32 * 15;
            let mut harness = Harness::create(config, 500, seed);
            let region = harness.blocks();
            if fills {
                harness.run(2 * region, 16, region, [1, 0, 0, 0]);
            }
            lives(&mut harness, 6, 600, weights);
            assert_eq!(harness.failures, []);
        };
        catch_unwind(AssertUnwindSafe(|| broken(rule, case))).is_err()
    })
}

#[test]
fn trimming_before_what_replaces_it_is_durable() {
    assert!(is_caught(Invariant::BarrierBeforeTrim, [60, 0, 0, 2], true));
}

/// Power is cut just as a checkpoint is written that began during a move: recovery rereads from the log the
/// moves of blocks that had already been overwritten, and nothing later hides them.
#[test]
fn moved_blocks_that_count_whatever_the_map_says() {
    let case = |seed: u64| {
        let mut config = config(LayoutKind::LogRaid0, 1, 2);
        config.log.checkpoint_every = 40_000;
        config.log.collect_depth = 1;
        config.log.segment = 131_072;
        let mut harness = Harness::create(config, 900, seed);
        let region = harness.blocks() * 9 / 10;
        harness.run(2 * region, 16, region, [1, 0, 0, 0]);
        for _ in 0..12 {
            harness.run(20, 16, region, [5, 0, 0, 1]);
            let checkpoints = harness.figures().checkpoints;
            while harness.figures().checkpoints == checkpoints {
                harness.run(1, 16, region, [5, 0, 0, 1]);
            }
            harness.cut_and_open();
        }
    };
    let fails = |seed| catch_unwind(AssertUnwindSafe(|| case(seed))).is_err();
    assert!(!fails(1), "the rule holds");
    assert!(broken(Invariant::MovesAreConditional, || (1..100).any(fails)));
}

#[test]
fn a_checkpoint_that_describes_what_is_not_durable() {
    assert!(is_caught(Invariant::BarrierBeforeHeader, [60, 0, 5, 1], false));
}

#[test]
fn trims_that_are_not_logged() {
    assert!(is_caught(Invariant::TrimsAreLogged, [60, 0, 30, 10], false));
}

#[test]
fn victims_that_no_checkpoint_covers() {
    assert!(is_caught(Invariant::VictimsAreCovered, [60, 0, 5, 5], true));
}

#[test]
fn rows_that_are_trimmed_while_they_are_read() {
    assert!(is_caught(Invariant::ReadersKeepRows, [60, 60, 0, 2], true));
}

#[test]
fn reads_of_what_is_not_on_the_drives_yet() {
    assert!(is_caught(Invariant::ReadFromMemory, [60, 60, 0, 2], false));
}

#[test]
fn batches_of_which_something_is_missing() {
    assert!(is_caught(Invariant::BatchesAreWhole, [60, 0, 5, 1], false));
}

#[test]
fn drives_that_are_rebuilt_without_their_copies_of_the_checkpoint() {
    let is_noticed = |seed| {
        let case = || crate::log::failures::others_may_go_after_a_rebuild(LayoutKind::LogRaid5, seed, 3, 3);
        let is_noticed =
            catch_unwind(AssertUnwindSafe(|| broken(Invariant::CopiesAreRebuilt, case))).is_err();
        if is_noticed {
            case();
        }
        is_noticed
    };
    assert!((1..40).any(is_noticed));
}
