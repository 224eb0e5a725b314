//! Reads and writes without faults.

use crate::log::harness::{Harness, LAYOUTS, cases, config};
use tailcut_base::Op;
use tailcut_base::config::Choice;
use tailcut_host::array::LayoutKind;
use tailcut_host::array::log::VictimChoice;

#[test]
fn a_write_at_low_load_goes_out_at_once_and_alone() {
    for (layout, groups, width) in LAYOUTS {
        let mut harness = Harness::fresh(config(layout, groups, width), 1000, 1);
        harness.write(5, 1);
        let writes: u64 = harness.machines.iter().map(|machine| machine.writes).sum();
        // With two or more data drives, the stripe is incomplete and its parity waits.
        assert_eq!(writes, 1, "{layout}");
        harness.settle();
        assert!(harness.submit(Op::Read, 4, 3, false));
        harness.settle();
    }
}

#[test]
fn every_read_returns_the_last_write_under_random_load() {
    for (layout, groups, width) in LAYOUTS {
        for seed in cases(2) {
            let mut harness = Harness::fresh(config(layout, groups, width), 900, seed);
            let region = harness.blocks();
            harness.run(6000, 24, region, [60, 30, 5, 5]);
            harness.settle();
            harness.read_all();
            let figures = harness.figures();
            assert!(figures.rows_collected > 20, "{layout}: {figures:?}");
        }
    }
}

#[test]
fn the_blocks_of_a_victim_are_those_of_its_summaries() {
    for (layout, groups, width) in LAYOUTS {
        let mut harness = Harness::create(config(layout, groups, width), 900, 1);
        let region = harness.blocks();
        harness.run(4000, 24, region, [90, 5, 5, 0]);
        harness.settle();
        let figures = harness.figures();
        assert!(figures.rows_collected > 0, "{layout}: {figures:?}");
        assert_eq!(figures.rows_without_summary, 0, "{layout}: {figures:?}");
    }
}

#[test]
fn a_full_array_is_overwritten_at_random_for_ever() {
    for (layout, groups, width) in LAYOUTS {
        for seed in cases(2) {
            let mut harness = Harness::fresh(config(layout, groups, width), 600, seed);
            let region = harness.blocks();
            for block in 0..region {
                while !harness.submit(Op::Write, block, 1, false) {
                    assert!(harness.step());
                }
            }
            harness.run(2 * region, 32, region, [100, 0, 0, 1]);
            harness.settle();
            harness.read_all();
        }
    }
}

#[test]
fn every_choice_of_victims_keeps_a_full_array_going() {
    let mut moved = Vec::new();
    for &choice in VictimChoice::all() {
        let mut config = config(LayoutKind::LogRaid5, 1, 3);
        config.log.victim = choice;
        config.log.victim_slack = 0;
        let mut harness = Harness::fresh(config, 800, 2);
        let region = harness.blocks();
        harness.run(4 * region, 32, region, [1, 0, 0, 0]);
        harness.settle();
        harness.read_all();
        moved.push((harness.figures().moved_blocks, choice));
    }
    moved.sort_unstable();
    // With rows as small as these, few victims gain in any case, and every policy chooses among them, so the
    // policies differ little.
    let greedy = moved.iter().find(|&&(_, choice)| choice == VictimChoice::Greedy).expect("it is one").0;
    assert!(greedy * 10 <= moved[0].0 * 11, "overwritten evenly: {moved:?}");
    assert!(moved[4].0 * 10 <= moved[0].0 * 11, "{moved:?}");
}
