//! Power cuts, with and without drive loss.

use crate::raid::harness::{Harness, config, disk};
use crate::raid::workload::{LAYOUTS, seeds};
use tailcut_base::Op;
use tailcut_host::array::LayoutKind;
use tailcut_host::array::raid::WriteHole;

/// Cuts power in the middle of random work; then verifies the surviving data and continues working on it.
/// Returns all violations.
pub(super) fn random_cut(layout: LayoutKind, hole: WriteHole, seed: u64, lose: bool) -> Vec<String> {
    let mut config = config(layout, 3 + (seed % 3) as u32);
    config.raid.write_hole = hole;
    let mut harness = Harness::new(&config, seed);
    for round in 0..3 {
        harness.work(10 + (seed as usize * 31) % 90, 1 + seed as usize % 30);
        for _ in 0..harness.stream.below(40) {
            harness.step();
        }
        let lost = (seed + round) as usize % harness.drives.len();
        let lost: &[usize] = if lose && round == 2 { &[lost] } else { &[] };
        // The superblock holds the settings with which the array was created.
        harness.config.raid.chunk = if seed.is_multiple_of(2) { 4 << 12 } else { 1 << 20 };
        harness = harness.cut(lost);
        if harness.stream.below(3) == 0 {
            // Once more, during recovery.
            for _ in 0..harness.stream.below(60) {
                harness.step();
            }
            harness = harness.cut(&[]);
        }
        harness.until_ready();
        harness.settle();
        if lost.is_empty() {
            harness.rest();
            harness.check_parity();
        }
    }
    harness.work(50, 8);
    harness.rest();
    harness.wrong
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
pub(super) fn script(layout: LayoutKind, steps: u64, lost: Option<usize>, seed: u64) -> Option<Vec<String>> {
    let mut harness = Harness::new(&config(layout, 3), seed);
    harness.submit(Op::Write, 0, 8, false);
    harness.rest();
    harness.submit(Op::Flush, 0, 0, false);
    harness.rest();
    harness.submit(Op::Write, 1, 1, false);
    harness.submit(Op::Write, 2, 5, true);
    harness.submit(Op::Trim, 6, 1, false);
    harness.submit(Op::Write, 1, 2, false);
    harness.submit(Op::Flush, 0, 0, false);
    for _ in 0..steps {
        if !harness.step() {
            return None;
        }
    }
    let mut harness = harness.cut(lost.as_slice());
    harness.until_ready();
    harness.settle();
    harness.rest();
    Some(harness.wrong)
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
            let mut harness = Harness::new(&config(LayoutKind::Raid5, 4), 5);
            harness.work(60, 12);
            (0..10).for_each(|_| _ = harness.step());
            let mut harness = harness.cut(&[]);
            (0..steps).for_each(|_| _ = harness.step());
            let was_ready = harness.array.is_ready();
            let mut harness = harness.cut(lost.as_slice());
            harness.until_ready();
            harness.settle();
            harness.is_right();
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
        let mut harness = Harness::new(&config(LayoutKind::Raid5, 4), seed);
        harness.work(60, 12);
        let lost = (seed % 4) as usize;
        harness.drives[lost].is_gone = true;
        harness.work(seed as usize % 7 * 3, 12);
        (0..seed % 11 * 2).for_each(|_| _ = harness.step());
        harness.drives[lost].is_gone = false;
        let mut harness = harness.cut(&[]);
        harness.until_ready();
        harness.settle();
        harness.rest();
        if harness.array.condition() == tailcut_host::array::Condition::Optimal {
            harness.check_parity();
        }
        assert!(harness.wrong.is_empty(), "seed {seed}: {:#?}", harness.wrong);
    }
}

/// After a trim of the whole array the journal names each of its blocks; recovery trims runs of them.
#[test]
fn recovery_repeats_a_wide_trim_in_requests_as_large_as_the_drives_take() {
    let mut harness = Harness::new(&config(LayoutKind::Raid5, 4), 1);
    harness.submit(Op::Trim, 0, harness.array.disk().blocks as u32, false);
    harness.rest();
    harness.watch = Some(|array, _, request| {
        (!array.is_ready() && request.op == Op::Trim).then(|| format!("{}", request.blocks))
    });
    let mut harness = harness.cut(&[]);
    harness.until_ready();
    let sizes: Vec<u64> = harness.seen.drain(..).map(|blocks| blocks.parse().unwrap()).collect();
    let (blocks, most) = (harness.data_end() - harness.data_start(), u64::from(disk().most_blocks));
    assert_eq!(sizes.iter().sum::<u64>(), 4 * blocks, "every block is in the journal");
    assert_eq!(sizes.len() as u64, 4 * blocks.div_ceil(most));
    harness.settle();
    harness.check_parity();
    harness.is_right();
}
