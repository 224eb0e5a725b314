//! Power cuts: durable data survives, other data may or may not, and a read never returns anything else.

use crate::log::harness::{Harness, LAYOUTS, cases, config};
use tailcut_base::Op;
use tailcut_host::array::ArrayConfig;

/// Repeatedly runs random requests, cuts power at a random event, reopens and compares; sometimes also cuts
/// power during recovery.
pub(super) fn lives(harness: &mut Harness, lives: u64, requests: u64, weights: [u64; 4]) {
    for _ in 0..lives {
        let region = harness.blocks();
        let requests = harness.random.below(requests);
        harness.run(requests, 16, region, weights);
        for _ in 0..harness.random.below(30) {
            harness.step();
        }
        harness.cut();
        while harness.random.chance_ppm(300_000) {
            harness.begin_open();
            for _ in 0..harness.random.below(1500) {
                if !harness.array.is_ready() {
                    harness.step();
                }
            }
            harness.cut();
        }
        harness.open();
        harness.check_survivors();
    }
}

#[test]
fn what_was_durable_survives_power_cuts() {
    for (layout, groups, width) in LAYOUTS {
        for seed in cases(3) {
            let mut harness = Harness::create(config(layout, groups, width), 600, seed);
            lives(&mut harness, 8, 2500, [60, 5, 10, 5]);
            assert_eq!(harness.failures, []);
        }
    }
}

#[test]
fn a_full_array_survives_power_cuts_while_it_collects() {
    for (layout, groups, width) in LAYOUTS {
        for seed in cases(2) {
            let mut harness = Harness::create(config(layout, groups, width), 600, seed);
            let region = harness.blocks();
            harness.run(2 * region, 16, region, [1, 0, 0, 0]);
            lives(&mut harness, 8, 800, [60, 5, 0, 1]);
            assert_eq!(harness.failures, []);
        }
    }
}

#[test]
fn a_small_script_survives_a_cut_at_every_step() {
    for (layout, groups, width) in LAYOUTS {
        cut_at_every_step(&config(layout, groups, width));
    }
}

/// Runs a small script once per event of its execution, cutting power at that event.
pub(super) fn cut_at_every_step(config: &ArrayConfig) {
    let script = |harness: &mut Harness, stop: u64| {
        let steps = harness.steps;
        let done = |harness: &Harness| harness.steps - steps >= stop;
        for (op, block, blocks, fua) in [
            (Op::Write, 0, 9, false),
            (Op::Write, 3, 1, true),
            (Op::Trim, 0, 2, false),
            (Op::Write, 1, 1, false),
            (Op::Flush, 0, 0, false),
            (Op::Write, 0, 30, false),
            (Op::Trim, 5, 4, false),
            (Op::Flush, 0, 0, false),
            (Op::Write, 8, 2, false),
        ] {
            harness.submit(op, block, blocks, fua);
            for _ in 0..6 {
                if done(harness) || !harness.step() {
                    break;
                }
            }
        }
        while !done(harness) && harness.in_flight() > 0 && harness.step() {}
        done(harness)
    };
    for stop in 0.. {
        let mut harness = Harness::create(config.clone(), 500, stop);
        let stopped = script(&mut harness, stop);
        harness.cut_and_open();
        if !stopped {
            break;
        }
    }
}

#[test]
fn recovery_reads_no_more_than_was_written_since_the_checkpoint() {
    for (layout, groups, width) in LAYOUTS {
        let mut config = config(layout, groups, width);
        config.log.checkpoint_every = 100_000;
        let mut harness = Harness::create(config, 2000, 5);
        let region = harness.blocks() / 2;
        harness.run(region, 16, region, [20, 0, 1, 1]);
        harness.settle();
        harness.cut_and_open();
        let report = harness.array.recovery_report().expect("it was opened");
        let rows = 2000 / 16 * u64::from(groups);
        // Writes wait for a checkpoint before it is four intervals old; rows being collected and open rows
        // come on top.
        assert!(report.rows_scanned <= rows * 4 / 10 + 12, "{layout}: {report:?} of {rows} rows");
        assert!(report.batches > 0);
    }
}
