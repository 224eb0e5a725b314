//! SWAN's spatial separation: which groups are written and collected, and in which order.

use crate::rig::{Rig, config};
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
        let mut rig = Rig::fresh(config(layout, groups, width), 1000, 11);
        rig.log_sent = Some(Vec::new());
        let region = rig.blocks() * 7 / 10;
        let mut collected = vec![0; groups as usize];
        for _ in 0..3 * region {
            rig.run(1, 16, region, [30, 10, 0, 1]);
            let figures = rig.figures();
            for sent in rig.log_sent.as_mut().expect("it is kept").drain(..) {
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
        rig.settle();
        rig.read_all();
        let figures = rig.figures();
        assert!(figures.rotations > u64::from(groups) * 2, "{layout}: {}", figures.rotations);
        assert!(collected.iter().all(|&reads| reads > 0), "{layout}: {collected:?}");
        assert!(figures.victim_utilisation() > 0.0 && figures.victim_utilisation() < 0.9);
    }
}

#[test]
fn collection_is_put_off_until_the_last_group_is_written() {
    let mut rig = Rig::fresh(config(LayoutKind::Swan0, 4, 2), 1600, 3);
    let region = rig.blocks() / 2;
    while rig.figures().front < 3 {
        assert_eq!(rig.figures().rows_collected, 0);
        rig.run(1, 16, region, [1, 0, 0, 0]);
    }
    while rig.figures().rows_collected == 0 {
        rig.run(1, 16, region, [1, 0, 0, 0]);
    }
    assert_eq!((rig.figures().front, rig.figures().collecting), (3, Some(0)));
}

#[test]
fn writes_slow_down_smoothly_when_collection_cannot_keep_up() {
    for (layout, groups, width) in [(LayoutKind::LogRaid0, 1, 4), (LayoutKind::Swan0, 3, 2)] {
        let mut rig = Rig::fresh(config(layout, groups, width), 1600, 3);
        rig.machines.iter_mut().for_each(|machine| machine.has_hiccups = false);
        let region = rig.blocks();
        rig.run(2 * region, 64, region, [1, 0, 0, 0]);
        // From now on, no gap between completions may be long compared with a request's service time.
        let (mut longest, mut last) = (0, rig.now);
        for _ in 0..5_000 {
            let answers = rig.answers;
            rig.run(1, 64, region, [1, 0, 0, 0]);
            if rig.answers > answers {
                longest = longest.max(rig.now.since(last).0);
                last = rig.now;
            }
        }
        assert!(longest < 10_000_000, "{layout}: nothing was answered for {longest} ns");
    }
}
