//! Bounds on how long writes wait, and on how much waits.

use crate::bench::{FOUR, check_copies, config, rig, seeds, wrong};
use tailcut_base::{Nanos, Op};

#[test]
fn writes_are_slowed_down_and_wait_for_no_longer_than_the_deadline() {
    for seed in seeds(4) {
        let mut config = config(FOUR);
        config.epoch.deadline = Nanos::millis(8);
        let mut rig = rig(&config, seed);
        let all = rig.array.disk().blocks;
        let mut most = 0;
        for _ in 0..2000 {
            while rig.in_flight() >= 16 {
                assert!(rig.step());
            }
            let block = rig.stream.below(all);
            rig.submit(Op::Write, block, 1, false);
            most = most.max(rig.array.epochs().expect("it has epochs").dirty());
        }
        rig.rest();
        let figures = rig.array.epoch_figures().expect("it has epochs");
        assert!(most <= 24, "{most} blocks are dirty");
        assert!(figures.throttled > 500, "{figures:?}");
        assert_eq!(figures.late, 0, "{figures:?}");
        assert!(figures.longest_wait <= config.epoch.deadline);
        check_copies(&mut rig, 2);
        assert!(wrong(rig).is_empty());
    }
}

#[test]
fn a_full_ring_of_descriptors_is_merged() {
    // Each flush writes a descriptor; a block that stays dirty keeps its descriptor in use.
    let mut config = config(FOUR);
    config.epoch.delay = Nanos::ZERO;
    let mut rig = rig(&config, 3);
    for round in 0..400u64 {
        rig.submit(Op::Write, round * 13 % 64, 1, false);
        (0..3).for_each(|_| _ = rig.step());
    }
    rig.rest();
    check_copies(&mut rig, 2);
    assert!(wrong(rig).is_empty());
}
