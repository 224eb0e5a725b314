//! Broken rules are noticed: a check that has never failed proves nothing.

use crate::crash::lives;
use crate::rig::{LAYOUTS, Rig, config};
use std::panic::{AssertUnwindSafe, catch_unwind};
use tailcut_host::planted::{Rule, broken};

/// True when some case fails while the rule is broken.
fn is_caught(rule: Rule, weights: [u64; 4], fills: bool) -> bool {
    (1..100).any(|seed| {
        let (layout, groups, width) = LAYOUTS[seed as usize % LAYOUTS.len()];
        let case = || {
            let mut config = config(layout, groups, width);
            config.log.checkpoint_every = 40_000;
            // Victims that take long leave more time for things to go wrong.
            config.log.collect_depth = 1 + (seed % 2) as u32 * 15;
            let mut rig = Rig::create(config, 500, seed);
            let region = rig.blocks();
            if fills {
                rig.run(2 * region, 16, region, [1, 0, 0, 0]);
            }
            lives(&mut rig, 6, 600, weights);
            assert_eq!(rig.failures, []);
        };
        catch_unwind(AssertUnwindSafe(|| broken(rule, case))).is_err()
    })
}

#[test]
fn trimming_before_what_replaces_it_is_durable() {
    assert!(is_caught(Rule::BarrierBeforeTrim, [60, 0, 0, 2], true));
}

#[test]
fn moved_blocks_that_count_whatever_the_map_says() {
    assert!(is_caught(Rule::MovesAreConditional, [60, 0, 10, 10], true));
}

#[test]
fn a_checkpoint_that_describes_what_is_not_durable() {
    assert!(is_caught(Rule::BarrierBeforeHeader, [60, 0, 5, 1], false));
}

#[test]
fn trims_that_are_not_logged() {
    assert!(is_caught(Rule::TrimsAreLogged, [60, 0, 30, 10], false));
}

#[test]
fn victims_that_no_checkpoint_covers() {
    assert!(is_caught(Rule::VictimsAreCovered, [60, 0, 5, 5], true));
}

#[test]
fn rows_that_are_trimmed_while_they_are_read() {
    assert!(is_caught(Rule::ReadersKeepRows, [60, 60, 0, 2], true));
}

#[test]
fn reads_of_what_is_not_on_the_drives_yet() {
    assert!(is_caught(Rule::ReadFromMemory, [60, 60, 0, 2], false));
}

#[test]
fn batches_of_which_something_is_missing() {
    assert!(is_caught(Rule::BatchesAreWhole, [60, 0, 5, 1], false));
}
