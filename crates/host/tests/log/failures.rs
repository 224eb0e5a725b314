//! Drives that fail, refuse writes, or return wrong data.

use crate::log::crash::lives;
use crate::log::harness::{Harness, LAYOUTS, cases, config, disk};
use tailcut_base::ids::Id;
use tailcut_base::{Nanos, Op, Status};
use tailcut_host::array::DriveId;
use tailcut_host::array::superblock::SUPERBLOCK_BLOCKS;
use tailcut_host::array::{Condition, LayoutKind, MemberId};

const REDUNDANT: [(LayoutKind, u32, u32); 4] = [
    (LayoutKind::LogRaid4, 1, 4),
    (LayoutKind::LogRaid5, 1, 3),
    (LayoutKind::Swan4, 3, 3),
    (LayoutKind::Swan5, 2, 4),
];

fn some_drive(harness: &mut Harness) -> usize {
    harness.random.below(harness.machines.len() as u64) as usize
}

fn loaded(layout: LayoutKind, groups: u32, width: u32, seed: u64) -> Harness {
    let mut harness = Harness::create(config(layout, groups, width), 600, seed);
    let region = harness.blocks();
    let requests = 200 + harness.random.below(2000);
    harness.run(requests, 16, region, [60, 20, 5, 3]);
    harness
}

#[test]
fn a_drive_may_die_at_any_moment_and_be_replaced() {
    for (layout, groups, width) in REDUNDANT {
        for seed in cases(4) {
            let mut harness = loaded(layout, groups, width, seed);
            let region = harness.blocks();
            let drive = some_drive(&mut harness);
            if seed % 2 == 0 {
                harness.machines[drive].is_gone = true;
            } else {
                harness.machines[drive].is_protected = true;
            }
            harness.run(600, 16, region, [60, 20, 5, 3]);
            assert_eq!(harness.array.condition(), degraded(&[drive], &[]), "{layout} {seed}");
            harness.replace(drive);
            harness.run(600, 16, region, [60, 20, 5, 3]);
            harness.rest();
            assert_eq!(harness.array.condition(), Condition::Optimal, "{layout} {seed}");
            harness.read_all();
            let report = harness.scrub();
            assert_eq!(
                (report.repaired, report.parities, report.unreadable),
                (0, 0, 0),
                "{layout} {report:?}"
            );
            // Now another drive may fail.
            let other = some_drive(&mut harness);
            harness.machines[other].is_gone = true;
            harness.read_all();
            assert_eq!(harness.failures, []);
        }
    }
}

fn degraded(missing: &[usize], rebuilding: &[usize]) -> Condition {
    let drives = |places: &[usize]| places.iter().map(|&place| DriveId::at(place)).collect();
    Condition::Degraded { missing: drives(missing), rebuilding: drives(rebuilding) }
}

#[test]
fn a_drive_and_the_power_may_go_together() {
    for (layout, groups, width) in REDUNDANT {
        for seed in cases(4) {
            let mut harness = loaded(layout, groups, width, seed);
            let drive = some_drive(&mut harness);
            harness.machines[drive].is_gone = true;
            for _ in 0..harness.random.below(60) {
                harness.step();
            }
            harness.cut_and_open_without(drive);
            lives_without(&mut harness, drive, 3);
            harness.replace(drive);
            let region = harness.blocks();
            harness.run(300, 16, region, [60, 20, 5, 3]);
            // Also in the middle of a rebuild.
            lives(&mut harness, 2, 100, [60, 20, 5, 3]);
            harness.rest();
            assert_eq!(harness.array.condition(), Condition::Optimal, "{layout} {seed}");
            harness.read_all();
            let report = harness.scrub();
            assert_eq!((report.parities, report.unreadable), (0, 0), "{layout} {report:?}");
            assert_eq!(harness.failures, []);
        }
    }
}

fn lives_without(harness: &mut Harness, drive: usize, lives: u64) {
    for _ in 0..lives {
        let region = harness.blocks();
        harness.run(300, 16, region, [60, 20, 5, 3]);
        harness.cut_and_open_without(drive);
    }
}

#[test]
fn wrong_blocks_are_found_by_reads_and_written_again() {
    for (layout, groups, width) in REDUNDANT {
        let mut harness = loaded(layout, groups, width, 7);
        harness.rest();
        let drive = match some_drive(&mut harness) {
            // The host never reads a dedicated parity drive.
            parity if !layout.rotates() && parity as u32 % width == width - 1 => parity - 1,
            drive => drive,
        };
        for block in harness.machines[drive].written() {
            if block >= 60 {
                harness.machines[drive].spoil(block);
            }
        }
        harness.read_all();
        harness.rest();
        let repaired = harness.figures().repaired_blocks;
        assert!(repaired > 0, "{layout}");
        let first = harness.scrub();
        assert!(first.repaired > 0 && first.unreadable == 0, "{layout} {first:?}");
        let second = harness.scrub();
        assert_eq!((second.repaired, second.parities, second.unreadable), (0, 0, 0), "{layout}");
    }
}

#[test]
fn stripes_fit_their_parity_at_rest() {
    for (layout, groups, width) in REDUNDANT {
        for seed in cases(2) {
            let mut harness = loaded(layout, groups, width, seed);
            harness.flush();
            harness.rest();
            let report = harness.scrub();
            assert_eq!((report.repaired, report.parities, report.unreadable), (0, 0, 0), "{layout}");
            assert!(report.rows > 5);
        }
    }
}

#[test]
fn without_redundancy_a_dead_drive_is_reported_and_the_others_are_read() {
    let mut harness = Harness::create(config(LayoutKind::LogRaid0, 1, 3), 600, 3);
    harness.run(300, 16, 100, [1, 0, 0, 0]);
    harness.flush();
    harness.machines[1].is_gone = true;
    harness.must_submit(Op::Write, 0, 30);
    harness.settle();
    harness.must_submit(Op::Write, 50, 1);
    harness.settle();
    assert_eq!(harness.failures, [(Op::Write, Status::MediaError), (Op::Write, Status::WriteProtected)]);
    let Condition::Failed { why } = harness.array.condition() else { panic!("it has failed") };
    assert!(why.contains("drive 1"), "{why}");
    harness.failures.clear();
    for block in 60..100 {
        harness.must_submit(Op::Read, block, 1);
    }
    harness.settle();
    let lost = harness.failures.len();
    assert!((5..30).contains(&lost), "a third of the blocks is lost: {lost}");
}

#[test]
fn a_flush_is_not_acknowledged_once_the_log_has_failed() {
    for (layout, groups, width) in
        [(LayoutKind::LogRaid0, 1, 3), (LayoutKind::LogRaid5, 1, 4), (LayoutKind::Swan5, 2, 3)]
    {
        let mut harness = Harness::create(config(layout, groups, width), 600, 3);
        harness.run(300, 16, 100, [1, 0, 0, 0]);
        harness.flush();
        // All of them refuse at once, as members on one full file system do.
        harness.machines.iter_mut().for_each(|machine| machine.is_gone = true);
        harness.must_submit(Op::Write, 0, 30);
        harness.settle();
        harness.failures.clear();
        for _ in 0..2 {
            harness.must_submit(Op::Flush, 0, 0);
            harness.settle();
        }
        assert_eq!(harness.failures, [(Op::Flush, Status::MediaError); 2], "{layout}");
    }
}

#[test]
fn a_second_failure_in_a_group_ends_writing_but_not_reading() {
    let mut harness = Harness::create(config(LayoutKind::Swan4, 2, 3), 600, 3);
    harness.run(600, 16, 100, [1, 0, 0, 0]);
    harness.flush();
    for drive in [0, 1] {
        harness.machines[drive].is_gone = true;
        harness.run(40, 16, 100, [1, 1, 0, 0]);
        harness.settle();
    }
    harness.failures.clear();
    harness.must_submit(Op::Write, 50, 1);
    harness.settle();
    assert_eq!(harness.failures, [(Op::Write, Status::WriteProtected)]);
    assert!(matches!(harness.array.condition(), Condition::Failed { .. }));
    for block in 0..100 {
        harness.must_submit(Op::Read, block, 1);
    }
    harness.settle();
}

/// True if, after a rebuild without later writes, every block is readable without any single other drive.
pub(super) fn others_may_go_after_a_rebuild(layout: LayoutKind, groups: u32, width: u32, seed: u64) {
    for other in 1..width as usize {
        let mut harness = loaded(layout, groups, width, seed);
        harness.machines[0].is_gone = true;
        harness.run(100, 16, 50, [1, 0, 0, 0]);
        harness.rest();
        harness.replace(0);
        harness.rest();
        assert_eq!(harness.array.condition(), Condition::Optimal);
        harness.flush();
        harness.rest();
        harness.cut_and_open_without(other);
        assert_eq!(harness.array.condition(), degraded(&[other], &[]));
        harness.read_all();
    }
}

#[test]
fn a_rebuilt_drive_has_its_copies_of_the_checkpoint() {
    for (layout, groups, width) in REDUNDANT {
        others_may_go_after_a_rebuild(layout, groups, width, 3);
    }
}

/// Runs events until the array is idle, which must happen soon.
fn rest_soon(harness: &mut Harness) {
    for _ in 0..200_000 {
        if !harness.step() {
            return;
        }
    }
    panic!("it does not come to rest: {:?}", harness.array.condition());
}

#[test]
fn a_drive_may_fail_while_it_is_rebuilt() {
    for (layout, groups, width) in REDUNDANT {
        for seed in cases(6) {
            let mut harness = loaded(layout, groups, width, seed);
            let (drive, region) = (some_drive(&mut harness), harness.blocks());
            harness.machines[drive].is_gone = true;
            harness.run(600, 16, region, [60, 20, 5, 3]);
            rest_soon(&mut harness);
            harness.replace(drive);
            for _ in 0..harness.random.below(200) {
                harness.step();
            }
            (harness.machines[drive].is_gone, harness.machines[drive].is_protected) =
                (seed % 2 == 0, seed % 2 == 1);
            harness.run(600, 16, region, [60, 20, 5, 3]);
            rest_soon(&mut harness);
            assert_eq!(harness.array.condition(), degraded(&[drive], &[]), "{layout} {seed}");
            harness.replace(drive);
            rest_soon(&mut harness);
            assert_eq!(harness.array.condition(), Condition::Optimal, "{layout} {seed}");
            harness.read_all();
        }
    }
}

/// A scrub in progress does not prevent the rebuild of a drive that is replaced meanwhile.
#[test]
fn a_rebuild_follows_a_scrub() {
    let mut harness = loaded(LayoutKind::Swan4, 3, 3, 1);
    harness.rest();
    harness.array.scrub(harness.now);
    harness.pump();
    harness.machines[1].is_gone = true;
    while harness.array.condition() == Condition::Optimal {
        harness.run(1, 1, 50, [1, 0, 0, 0]);
    }
    harness.replace(1);
    rest_soon(&mut harness);
    assert_eq!(harness.array.condition(), Condition::Optimal);
}

#[test]
fn drives_may_take_less_than_a_segment_at_a_time() {
    for (layout, groups, width) in LAYOUTS {
        let least = |drive: u32| tailcut_host::Disk { most_blocks: 5 + drive, ..disk(600) };
        let disks = (0..groups * width).map(least).collect();
        let mut harness = Harness::create_on(config(layout, groups, width), disks, 5);
        let region = harness.blocks();
        harness.run(2 * region, 16, region, [60, 20, 5, 3]);
        lives(&mut harness, 2, 300, [60, 20, 5, 3]);
        harness.rest();
        harness.scrub();
        if layout.is_redundant() {
            harness.machines[1].is_gone = true;
            harness.run(100, 16, region, [60, 20, 5, 3]);
            harness.rest();
            harness.replace(1);
            harness.rest();
            assert_eq!(harness.array.condition(), Condition::Optimal);
        }
        assert_eq!(harness.failures, []);
    }
}

#[test]
fn a_scrub_of_what_is_whole_counts_no_damage() {
    for (layout, groups, width) in REDUNDANT {
        for seed in cases(3) {
            let mut harness = loaded(layout, groups, width, seed);
            harness.cut_and_open();
            harness.rest();
            // The first scrub may find remnants of the power cut behind the end of the log.
            harness.scrub();
            let before = *harness.array.core().reads.counts();
            let report = harness.scrub();
            assert!(report.rows > 5);
            assert_eq!((report.repaired, report.parities, report.unreadable), (0, 0, 0), "{layout} {seed}");
            let after = *harness.array.core().reads.counts();
            assert_eq!((before.corrupt, before.lost), (after.corrupt, after.lost), "{layout} {seed}");
        }
    }
}

/// This includes recent writes to a row that is still open.
#[test]
fn a_scrub_looks_at_everything() {
    for (layout, groups, width) in REDUNDANT {
        let mut harness = loaded(layout, groups, width, 6);
        harness.rest();
        for block in harness.machines[0].written() {
            if block >= SUPERBLOCK_BLOCKS {
                harness.machines[0].spoil(block);
            }
        }
        harness.scrub();
        harness.flush();
        harness.rest();
        harness.cut_and_open_without(1);
        harness.read_all();
    }
}

/// A scrub reads every drive, however slow it is, to verify its content.
#[test]
fn a_scrub_does_not_go_around_slow_drives() {
    for (layout, groups, width) in REDUNDANT {
        let mut config = config(layout, groups, width);
        config.slow_after = Nanos::micros(20);
        let mut harness = Harness::create(config, 600, 4);
        let region = harness.blocks();
        harness.run(1000, 16, region, [60, 20, 5, 3]);
        harness.rest();
        for block in harness.machines[1].written() {
            if block >= 60 {
                harness.machines[1].spoil(block);
            }
        }
        assert!(harness.scrub().repaired > 0);
        let second = harness.scrub();
        assert_eq!((second.repaired, second.parities, second.unreadable), (0, 0, 0), "{layout}");
    }
}

#[test]
fn a_drive_that_is_too_small_is_refused() {
    let mut harness = loaded(LayoutKind::Swan4, 2, 3, 1);
    harness.machines[1].is_gone = true;
    harness.run(100, 16, 50, [1, 0, 0, 0]);
    harness.rest();
    let refused = harness
        .array
        .replace(harness.now, DriveId::new(1), disk(599), MemberId::new(9))
        .expect_err("it is too small");
    assert_eq!((refused.blocks, refused.needed), (599, 600));
    assert_eq!(harness.array.condition(), degraded(&[1], &[]));
    harness.replace(1);
    harness.rest();
    assert_eq!(harness.array.condition(), Condition::Optimal);
}

#[test]
fn drives_that_are_too_small_are_told_with_a_remedy() {
    let config = config(LayoutKind::LogRaid5, 1, 3);
    let mut disks = vec![disk(600); 3];
    assert_eq!(config.validation_error(&disks), None);
    disks[1].blocks = 200;
    let (key, message) = config.validation_error(&disks).expect("the second is too small");
    assert_eq!(key, "log.segment");
    assert!(message.contains("819200 bytes") && message.contains("needs 18"), "{message}");
}
