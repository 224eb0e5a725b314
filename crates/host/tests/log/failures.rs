//! Drives that die, refuse, or return something else than was written.

use crate::crash::lives;
use crate::rig::{Rig, cases, config};
use tailcut_base::{Op, Status};
use tailcut_host::array::{Condition, LayoutKind};

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
            // Now another one may go.
            let other = some_drive(&mut rig);
            rig.machines[other].is_gone = true;
            rig.read_all();
            assert_eq!(rig.failures, []);
        }
    }
}

fn degraded(missing: &[usize], rebuilding: &[usize]) -> Condition {
    Condition::Degraded { missing: missing.to_vec(), rebuilding: rebuilding.to_vec() }
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
            // In the middle of rebuilding, too.
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
            // Nobody reads the drive that has nothing but parity.
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
