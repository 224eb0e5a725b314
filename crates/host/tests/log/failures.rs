//! Drives that fail, refuse writes, or return wrong data.

use crate::crash::lives;
use crate::rig::{LAYOUTS, Rig, cases, config, disk};
use tailcut_base::ids::Id;
use tailcut_base::{Nanos, Op, Status};
use tailcut_host::array::DriveId;
use tailcut_host::array::record::RECORD_BLOCKS;
use tailcut_host::array::{Condition, LayoutKind, MemberId};

const REDUNDANT: [(LayoutKind, u32, u32); 4] = [
    (LayoutKind::LogRaid4, 1, 4),
    (LayoutKind::LogRaid5, 1, 3),
    (LayoutKind::Swan4, 3, 3),
    (LayoutKind::Swan5, 2, 4),
];

fn some_drive(rig: &mut Rig) -> usize {
    rig.random.below(rig.machines.len() as u64) as usize
}

fn loaded(layout: LayoutKind, groups: u32, width: u32, seed: u64) -> Rig {
    let mut rig = Rig::create(config(layout, groups, width), 600, seed);
    let region = rig.blocks();
    let requests = 200 + rig.random.below(2000);
    rig.run(requests, 16, region, [60, 20, 5, 3]);
    rig
}

#[test]
fn a_drive_may_die_at_any_moment_and_be_replaced() {
    for (layout, groups, width) in REDUNDANT {
        for seed in cases(4) {
            let mut rig = loaded(layout, groups, width, seed);
            let region = rig.blocks();
            let drive = some_drive(&mut rig);
            if seed % 2 == 0 {
                rig.machines[drive].is_gone = true;
            } else {
                rig.machines[drive].is_protected = true;
            }
            rig.run(600, 16, region, [60, 20, 5, 3]);
            assert_eq!(rig.array.condition(), degraded(&[drive], &[]), "{layout} {seed}");
            rig.replace(drive);
            rig.run(600, 16, region, [60, 20, 5, 3]);
            rig.rest();
            assert_eq!(rig.array.condition(), Condition::Optimal, "{layout} {seed}");
            rig.read_all();
            let report = rig.scrub();
            assert_eq!(
                (report.repaired, report.parities, report.unreadable),
                (0, 0, 0),
                "{layout} {report:?}"
            );
            // Now another drive may fail.
            let other = some_drive(&mut rig);
            rig.machines[other].is_gone = true;
            rig.read_all();
            assert_eq!(rig.failures, []);
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
            let mut rig = loaded(layout, groups, width, seed);
            let drive = some_drive(&mut rig);
            rig.machines[drive].is_gone = true;
            for _ in 0..rig.random.below(60) {
                rig.step();
            }
            rig.cut_and_open_without(drive);
            lives_without(&mut rig, drive, 3);
            rig.replace(drive);
            let region = rig.blocks();
            rig.run(300, 16, region, [60, 20, 5, 3]);
            // Also in the middle of a rebuild.
            lives(&mut rig, 2, 100, [60, 20, 5, 3]);
            rig.rest();
            assert_eq!(rig.array.condition(), Condition::Optimal, "{layout} {seed}");
            rig.read_all();
            let report = rig.scrub();
            assert_eq!((report.parities, report.unreadable), (0, 0), "{layout} {report:?}");
            assert_eq!(rig.failures, []);
        }
    }
}

fn lives_without(rig: &mut Rig, drive: usize, lives: u64) {
    for _ in 0..lives {
        let region = rig.blocks();
        rig.run(300, 16, region, [60, 20, 5, 3]);
        rig.cut_and_open_without(drive);
    }
}

#[test]
fn wrong_blocks_are_found_by_reads_and_written_again() {
    for (layout, groups, width) in REDUNDANT {
        let mut rig = loaded(layout, groups, width, 7);
        rig.rest();
        let drive = match some_drive(&mut rig) {
            // The host never reads a dedicated parity drive.
            parity if !layout.rotates() && parity as u32 % width == width - 1 => parity - 1,
            drive => drive,
        };
        for block in rig.machines[drive].written() {
            if block >= 60 {
                rig.machines[drive].spoil(block);
            }
        }
        rig.read_all();
        rig.rest();
        let repaired = rig.figures().repaired_blocks;
        assert!(repaired > 0, "{layout}");
        let first = rig.scrub();
        assert!(first.repaired > 0 && first.unreadable == 0, "{layout} {first:?}");
        let second = rig.scrub();
        assert_eq!((second.repaired, second.parities, second.unreadable), (0, 0, 0), "{layout}");
    }
}

#[test]
fn stripes_fit_their_parity_at_rest() {
    for (layout, groups, width) in REDUNDANT {
        for seed in cases(2) {
            let mut rig = loaded(layout, groups, width, seed);
            rig.flush();
            rig.rest();
            let report = rig.scrub();
            assert_eq!((report.repaired, report.parities, report.unreadable), (0, 0, 0), "{layout}");
            assert!(report.rows > 5);
        }
    }
}

#[test]
fn without_redundancy_a_dead_drive_is_reported_and_the_others_are_read() {
    let mut rig = Rig::create(config(LayoutKind::LogRaid0, 1, 3), 600, 3);
    rig.run(300, 16, 100, [1, 0, 0, 0]);
    rig.flush();
    rig.machines[1].is_gone = true;
    rig.must_submit(Op::Write, 0, 30);
    rig.settle();
    rig.must_submit(Op::Write, 50, 1);
    rig.settle();
    assert_eq!(rig.failures, [(Op::Write, Status::MediaError), (Op::Write, Status::WriteProtected)]);
    let Condition::Failed { why } = rig.array.condition() else { panic!("it has failed") };
    assert!(why.contains("drive 1"), "{why}");
    rig.failures.clear();
    for block in 60..100 {
        rig.must_submit(Op::Read, block, 1);
    }
    rig.settle();
    let lost = rig.failures.len();
    assert!((5..30).contains(&lost), "a third of the blocks is lost: {lost}");
}

#[test]
fn a_second_failure_in_a_group_ends_writing_but_not_reading() {
    let mut rig = Rig::create(config(LayoutKind::Swan4, 2, 3), 600, 3);
    rig.run(600, 16, 100, [1, 0, 0, 0]);
    rig.flush();
    for drive in [0, 1] {
        rig.machines[drive].is_gone = true;
        rig.run(40, 16, 100, [1, 1, 0, 0]);
        rig.settle();
    }
    rig.failures.clear();
    rig.must_submit(Op::Write, 50, 1);
    rig.settle();
    assert_eq!(rig.failures, [(Op::Write, Status::WriteProtected)]);
    assert!(matches!(rig.array.condition(), Condition::Failed { .. }));
    for block in 0..100 {
        rig.must_submit(Op::Read, block, 1);
    }
    rig.settle();
}

/// True if, after a rebuild without later writes, every block is readable without any single other drive.
pub fn others_may_go_after_a_rebuild(layout: LayoutKind, groups: u32, width: u32, seed: u64) {
    for other in 1..width as usize {
        let mut rig = loaded(layout, groups, width, seed);
        rig.machines[0].is_gone = true;
        rig.run(100, 16, 50, [1, 0, 0, 0]);
        rig.rest();
        rig.replace(0);
        rig.rest();
        assert_eq!(rig.array.condition(), Condition::Optimal);
        rig.flush();
        rig.rest();
        rig.cut_and_open_without(other);
        assert_eq!(rig.array.condition(), degraded(&[other], &[]));
        rig.read_all();
    }
}

#[test]
fn a_rebuilt_drive_has_its_copies_of_the_checkpoint() {
    for (layout, groups, width) in REDUNDANT {
        others_may_go_after_a_rebuild(layout, groups, width, 3);
    }
}

/// Runs events until the array is idle, which must happen soon.
fn rest_soon(rig: &mut Rig) {
    for _ in 0..200_000 {
        if !rig.step() {
            return;
        }
    }
    panic!("it does not come to rest: {:?}", rig.array.condition());
}

#[test]
fn a_drive_may_fail_while_it_is_rebuilt() {
    for (layout, groups, width) in REDUNDANT {
        for seed in cases(6) {
            let mut rig = loaded(layout, groups, width, seed);
            let (drive, region) = (some_drive(&mut rig), rig.blocks());
            rig.machines[drive].is_gone = true;
            rig.run(600, 16, region, [60, 20, 5, 3]);
            rest_soon(&mut rig);
            rig.replace(drive);
            for _ in 0..rig.random.below(200) {
                rig.step();
            }
            (rig.machines[drive].is_gone, rig.machines[drive].is_protected) = (seed % 2 == 0, seed % 2 == 1);
            rig.run(600, 16, region, [60, 20, 5, 3]);
            rest_soon(&mut rig);
            assert_eq!(rig.array.condition(), degraded(&[drive], &[]), "{layout} {seed}");
            rig.replace(drive);
            rest_soon(&mut rig);
            assert_eq!(rig.array.condition(), Condition::Optimal, "{layout} {seed}");
            rig.read_all();
        }
    }
}

/// A scrub in progress does not prevent the rebuild of a drive that is replaced meanwhile.
#[test]
fn a_rebuild_follows_a_scrub() {
    let mut rig = loaded(LayoutKind::Swan4, 3, 3, 1);
    rig.rest();
    rig.array.scrub(rig.now);
    rig.pump();
    rig.machines[1].is_gone = true;
    while rig.array.condition() == Condition::Optimal {
        rig.run(1, 1, 50, [1, 0, 0, 0]);
    }
    rig.replace(1);
    rest_soon(&mut rig);
    assert_eq!(rig.array.condition(), Condition::Optimal);
}

#[test]
fn drives_may_take_less_than_a_segment_at_a_time() {
    for (layout, groups, width) in LAYOUTS {
        let least = |drive: u32| tailcut_host::Disk { most_blocks: 5 + drive, ..disk(600) };
        let disks = (0..groups * width).map(least).collect();
        let mut rig = Rig::create_on(config(layout, groups, width), disks, 5);
        let region = rig.blocks();
        rig.run(2 * region, 16, region, [60, 20, 5, 3]);
        lives(&mut rig, 2, 300, [60, 20, 5, 3]);
        rig.rest();
        rig.scrub();
        if layout.is_redundant() {
            rig.machines[1].is_gone = true;
            rig.run(100, 16, region, [60, 20, 5, 3]);
            rig.rest();
            rig.replace(1);
            rig.rest();
            assert_eq!(rig.array.condition(), Condition::Optimal);
        }
        assert_eq!(rig.failures, []);
    }
}

#[test]
fn a_scrub_of_what_is_whole_counts_no_damage() {
    for (layout, groups, width) in REDUNDANT {
        for seed in cases(3) {
            let mut rig = loaded(layout, groups, width, seed);
            rig.cut_and_open();
            rig.rest();
            // The first scrub may find remnants of the power cut behind the end of the log.
            rig.scrub();
            let before = *rig.array.core().reads.counts();
            let report = rig.scrub();
            assert!(report.rows > 5);
            assert_eq!((report.repaired, report.parities, report.unreadable), (0, 0, 0), "{layout} {seed}");
            let after = *rig.array.core().reads.counts();
            assert_eq!((before.corrupt, before.lost), (after.corrupt, after.lost), "{layout} {seed}");
        }
    }
}

/// This includes recent writes to a row that is still open.
#[test]
fn a_scrub_looks_at_everything() {
    for (layout, groups, width) in REDUNDANT {
        let mut rig = loaded(layout, groups, width, 6);
        rig.rest();
        for block in rig.machines[0].written() {
            if block >= RECORD_BLOCKS {
                rig.machines[0].spoil(block);
            }
        }
        rig.scrub();
        rig.flush();
        rig.rest();
        rig.cut_and_open_without(1);
        rig.read_all();
    }
}

/// A scrub reads every drive, however slow it is, to verify its content.
#[test]
fn a_scrub_does_not_go_around_slow_drives() {
    for (layout, groups, width) in REDUNDANT {
        let mut config = config(layout, groups, width);
        config.slow_after = Nanos::micros(20);
        let mut rig = Rig::create(config, 600, 4);
        let region = rig.blocks();
        rig.run(1000, 16, region, [60, 20, 5, 3]);
        rig.rest();
        for block in rig.machines[1].written() {
            if block >= 60 {
                rig.machines[1].spoil(block);
            }
        }
        assert!(rig.scrub().repaired > 0);
        let second = rig.scrub();
        assert_eq!((second.repaired, second.parities, second.unreadable), (0, 0, 0), "{layout}");
    }
}

#[test]
fn a_drive_that_is_too_small_is_refused() {
    let mut rig = loaded(LayoutKind::Swan4, 2, 3, 1);
    rig.machines[1].is_gone = true;
    rig.run(100, 16, 50, [1, 0, 0, 0]);
    rig.rest();
    let refused = rig
        .array
        .replace(rig.now, DriveId::new(1), disk(599), MemberId::new(9))
        .expect_err("it is too small");
    assert_eq!((refused.blocks, refused.needed), (599, 600));
    assert_eq!(rig.array.condition(), degraded(&[1], &[]));
    rig.replace(1);
    rig.rest();
    assert_eq!(rig.array.condition(), Condition::Optimal);
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
