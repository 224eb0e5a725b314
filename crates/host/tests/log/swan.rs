//! SWAN's spatial separation: which groups are written and collected, and in which order.

use crate::log::harness::{Harness, config};
use tailcut_base::Op;
use tailcut_host::array::LayoutKind;

/// Lower blocks hold the superblock and checkpoints.
const SEGMENTS: u64 = 30;

#[test]
fn only_one_group_is_collected_and_never_the_one_that_is_written() {
    for (layout, groups, width) in [
        (LayoutKind::Swan0, 4, 2),
        (LayoutKind::Swan4, 3, 3),
        (LayoutKind::Swan5, 2, 4),
        (LayoutKind::Swan0, 3, 1),
    ] {
        let mut harness = Harness::fresh(config(layout, groups, width), 1000, 11);
        harness.log_sent = Some(Vec::new());
        let region = harness.blocks() * 7 / 10;
        let mut collected = vec![0; groups as usize];
        for _ in 0..3 * region {
            harness.run(1, 16, region, [30, 10, 0, 1]);
            let figures = harness.figures();
            for sent in harness.log_sent.as_mut().expect("it is kept").drain(..) {
                let group = sent.drive as u32 / width;
                if sent.class == 5 && sent.op == Op::Read && sent.block >= SEGMENTS {
                    assert_ne!(group, sent.front, "{layout}: the front-end is collected");
                    assert_eq!(Some(group), sent.collecting, "{layout}");
                    collected[group as usize] += 1;
                }
                if sent.op == Op::Trim {
                    assert_ne!(group, sent.front, "{layout}: the front-end is trimmed");
                }
                if sent.class == 4 && sent.op == Op::Write && figures.rotations == 0 {
                    assert_eq!(group, 0, "{layout}: the first front-end is written");
                }
            }
        }
        harness.settle();
        harness.read_all();
        let figures = harness.figures();
        assert!(figures.rotations > u64::from(groups) * 2, "{layout}: {}", figures.rotations);
        assert!(collected.iter().all(|&reads| reads > 0), "{layout}: {collected:?}");
        assert!(figures.victim_utilisation() > 0.0 && figures.victim_utilisation() < 0.9);
    }
}

#[test]
fn collection_is_put_off_until_the_last_group_is_written() {
    let mut harness = Harness::fresh(config(LayoutKind::Swan0, 4, 2), 1600, 3);
    let region = harness.blocks() / 2;
    while harness.figures().front < 3 {
        assert_eq!(harness.figures().rows_collected, 0);
        harness.run(1, 16, region, [1, 0, 0, 0]);
    }
    while harness.figures().rows_collected == 0 {
        harness.run(1, 16, region, [1, 0, 0, 0]);
    }
    assert_eq!((harness.figures().front, harness.figures().collecting), (3, Some(0)));
}

#[test]
fn writes_slow_down_smoothly_when_collection_cannot_keep_up() {
    for (layout, groups, width) in [(LayoutKind::LogRaid0, 1, 4), (LayoutKind::Swan0, 3, 2)] {
        let mut harness = Harness::fresh(config(layout, groups, width), 1600, 3);
        harness.machines.iter_mut().for_each(|machine| machine.has_hiccups = false);
        let region = harness.blocks();
        harness.run(2 * region, 64, region, [1, 0, 0, 0]);
        // From now on, no gap between completions may be long compared with a request's service time.
        let (mut longest, mut last) = (0, harness.now);
        for _ in 0..5_000 {
            let answers = harness.answers;
            harness.run(1, 64, region, [1, 0, 0, 0]);
            if harness.answers > answers {
                longest = longest.max(harness.now.since(last).0);
                last = harness.now;
            }
        }
        assert!(longest < 10_000_000, "{layout}: nothing was answered for {longest} ns");
    }
}
