//! Power cuts, with and without drive loss.

use crate::rig::{Rig, config};
use crate::workload::{LAYOUTS, seeds};
use tailcut_base::Op;
use tailcut_host::array::LayoutKind;
use tailcut_host::array::raid::WriteHole;

/// Cuts power in the middle of random work; then verifies the surviving data and continues working on it.
/// Returns all violations.
pub fn random_cut(layout: LayoutKind, hole: WriteHole, seed: u64, lose: bool) -> Vec<String> {
    let mut config = config(layout, 3 + (seed % 3) as u32);
    config.raid.write_hole = hole;
    let mut rig = Rig::new(&config, seed);
    for round in 0..3 {
        rig.work(10 + (seed as usize * 31) % 90, 1 + seed as usize % 30);
        for _ in 0..rig.stream.below(40) {
            rig.step();
        }
        let lost = (seed + round) as usize % rig.drives.len();
        let lost: &[usize] = if lose && round == 2 { &[lost] } else { &[] };
        // The superblock holds the settings with which the array was created.
        rig.config.raid.chunk = if seed.is_multiple_of(2) { 4 << 12 } else { 1 << 20 };
        rig = rig.cut(lost);
        if rig.stream.below(3) == 0 {
            // Once more, during recovery.
            for _ in 0..rig.stream.below(60) {
                rig.step();
            }
            rig = rig.cut(&[]);
        }
        rig.until_ready();
        rig.settle();
        if lost.is_empty() {
            rig.rest();
            rig.check_parity();
        }
    }
    rig.work(50, 8);
    rig.rest();
    rig.wrong
}

#[test]
fn acknowledged_and_flushed_writes_survive_power_cuts() {
    for layout in LAYOUTS {
        for hole in [WriteHole::Journal, WriteHole::Resync] {
            for seed in seeds(25) {
                let wrong = random_cut(layout, hole, seed, false);
                assert!(wrong.is_empty(), "{layout} {hole} seed {seed}: {wrong:#?}");
            }
        }
    }
}

#[test]
fn with_a_journal_they_survive_the_loss_of_a_drive_at_the_same_time() {
    for layout in [LayoutKind::Raid4, LayoutKind::Raid5] {
        for seed in seeds(40) {
            let wrong = random_cut(layout, WriteHole::Journal, seed, true);
            assert!(wrong.is_empty(), "{layout} seed {seed}: {wrong:#?}");
        }
    }
}

/// A short script: flushed data, then overwrites of part of it; `steps` events later the power is cut, and
/// the drive `lost` fails. Returns all violations; None if the script finished earlier.
pub fn script(layout: LayoutKind, steps: u64, lost: Option<usize>, seed: u64) -> Option<Vec<String>> {
    let mut rig = Rig::new(&config(layout, 3), seed);
    rig.submit(Op::Write, 0, 8, false);
    rig.rest();
    rig.submit(Op::Flush, 0, 0, false);
    rig.rest();
    rig.submit(Op::Write, 1, 1, false);
    rig.submit(Op::Write, 2, 5, true);
    rig.submit(Op::Trim, 6, 1, false);
    rig.submit(Op::Write, 1, 2, false);
    rig.submit(Op::Flush, 0, 0, false);
    for _ in 0..steps {
        if !rig.step() {
            return None;
        }
    }
    let mut rig = rig.cut(lost.as_slice());
    rig.until_ready();
    rig.settle();
    rig.rest();
    Some(rig.wrong)
}

#[test]
fn a_script_survives_a_power_cut_at_every_step() {
    for layout in [LayoutKind::Raid4, LayoutKind::Raid5] {
        for lost in [None, Some(0), Some(1), Some(2)] {
            for seed in seeds(3) {
                let mut steps = 0;
                while let Some(wrong) = script(layout, steps, lost, seed) {
                    assert!(wrong.is_empty(), "{layout} step {steps} without {lost:?}: {wrong:#?}");
                    steps += 1;
                }
                assert!(steps > 20);
            }
        }
    }
}

#[test]
fn recovery_survives_a_power_cut_at_every_step() {
    for lost in [None, Some(0), Some(2)] {
        for steps in 0.. {
            let mut rig = Rig::new(&config(LayoutKind::Raid5, 4), 5);
            rig.work(60, 12);
            (0..10).for_each(|_| _ = rig.step());
            let mut rig = rig.cut(&[]);
            (0..steps).for_each(|_| _ = rig.step());
            let was_ready = rig.array.is_ready();
            let mut rig = rig.cut(lost.as_slice());
            rig.until_ready();
            rig.settle();
            rig.is_right();
            if was_ready {
                assert!(steps > 10);
                break;
            }
        }
    }
}

/// A drive that stops responding is left behind. If it returns after a power cut, its content must be
/// ignored, unless nothing was written without it.
#[test]
fn a_drive_that_was_left_behind_does_not_count_when_it_is_back() {
    for seed in seeds(60) {
        let mut rig = Rig::new(&config(LayoutKind::Raid5, 4), seed);
        rig.work(60, 12);
        let lost = (seed % 4) as usize;
        rig.drives[lost].is_gone = true;
        rig.work(seed as usize % 7 * 3, 12);
        (0..seed % 11 * 2).for_each(|_| _ = rig.step());
        rig.drives[lost].is_gone = false;
        let mut rig = rig.cut(&[]);
        rig.until_ready();
        rig.settle();
        rig.rest();
        if rig.array.condition() == tailcut_host::array::Condition::Optimal {
            rig.check_parity();
        }
        assert!(rig.wrong.is_empty(), "seed {seed}: {:#?}", rig.wrong);
    }
}
