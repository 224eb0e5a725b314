//! Bounds on how long writes wait, and on how much waits.

use crate::epoch::bench::{FOUR, check_copies, config, harness, seeds, wrong};
use tailcut_base::{Nanos, Op};

#[test]
fn writes_are_slowed_down_and_wait_for_no_longer_than_the_deadline() {
    for seed in seeds(4) {
        let mut config = config(FOUR);
        config.epoch.deadline = Nanos::millis(8);
        let mut harness = harness(&config, seed);
        let all = harness.array.disk().blocks;
        let mut most = 0;
        for _ in 0..2000 {
            while harness.in_flight() >= 16 {
                assert!(harness.step());
            }
            let block = harness.stream.below(all);
            harness.submit(Op::Write, block, 1, false);
            most = most.max(harness.array.epochs().expect("it has epochs").dirty());
        }
        harness.rest();
        let figures = harness.array.epoch_figures().expect("it has epochs");
        assert!(most <= 24, "{most} blocks are dirty");
        assert!(figures.throttled > 500, "{figures:?}");
        assert_eq!(figures.late, 0, "{figures:?}");
        assert!(figures.longest_wait <= config.epoch.deadline);
        check_copies(&mut harness, 2);
        assert!(wrong(harness).is_empty());
    }
}

#[test]
fn a_full_ring_of_descriptors_is_merged() {
    // Each flush writes a descriptor; a block that stays dirty keeps its descriptor in use.
    let mut config = config(FOUR);
    config.epoch.delay = Nanos::ZERO;
    let mut harness = harness(&config, 3);
    for round in 0..400u64 {
        harness.submit(Op::Write, round * 13 % 64, 1, false);
        (0..3).for_each(|_| _ = harness.step());
    }
    harness.rest();
    check_copies(&mut harness, 2);
    assert!(wrong(harness).is_empty());
}
