//! Power cuts, with and without drive loss.

use crate::epoch::bench::{
    FOUR, SHAPES, Shape, check_copies, check_copies_without, config, harness, pairs, seeds, triples,
    without_token, wrong,
};
use crate::raid::harness::Harness;
use tailcut_base::Op;

/// Cuts power several times in the middle of random work, then verifies the surviving data and continues
/// working on it. The last cut may also lose adjacent drives, up to as many as the layout tolerates. Returns
/// all violations.
pub(super) fn random_cut(shape: Shape, seed: u64, lose: bool) -> Vec<String> {
    let mut harness = harness(&config(shape), seed);
    for round in 0..3 {
        harness.work(10 + (seed as usize * 31) % 90, 1 + seed as usize % 30);
        for _ in 0..harness.stream.below(40) {
            harness.step();
        }
        let count = if lose && round == 2 { 1 + seed as usize / 2 % (shape.copies as usize - 1) } else { 0 };
        let lost: Vec<usize> =
            (0..count).map(|index| ((seed + round) as usize + index) % harness.drives.len()).collect();
        // The superblock holds the settings with which the array was created.
        harness.config.epoch.chunk = if seed.is_multiple_of(2) { 4 << 12 } else { 1 << 20 };
        harness.config.epoch.cache = if seed.is_multiple_of(3) { 24 << 12 } else { 1 << 20 };
        harness.config.epoch.copies = 2;
        harness = harness.cut(&lost);
        if harness.stream.below(3) == 0 {
            // Once more, during recovery.
            for _ in 0..harness.stream.below(60) {
                harness.step();
            }
            harness = harness.cut(&[]);
        }
        until_ready(&mut harness);
        check_copies_without(&mut harness, shape.copies, &lost);
        harness.settle();
    }
    harness.work(50, 8);
    harness.rest();
    wrong(harness)
}

fn until_ready(harness: &mut Harness) {
    harness.watch = None;
    harness.until_ready();
    harness.watch = Some(without_token);
}

#[test]
fn acknowledged_and_flushed_writes_survive_power_cuts() {
    for shape in SHAPES {
        for seed in seeds(25) {
            let wrong = random_cut(shape, seed, false);
            assert!(wrong.is_empty(), "{shape:?}, seed {seed}: {wrong:#?}");
        }
    }
}

#[test]
fn they_survive_the_loss_of_a_drive_at_the_same_time() {
    for shape in SHAPES {
        for seed in seeds(25) {
            let wrong = random_cut(shape, seed, true);
            assert!(wrong.is_empty(), "{shape:?}, seed {seed}: {wrong:#?}");
        }
    }
}

/// A short script: flushed data, then overwrites of part of it; `steps` events later the power is cut and the
/// drives in `lost` fail. Returns all violations; None if the script finished earlier.
pub(super) fn script(shape: Shape, steps: u64, lost: &[usize], seed: u64) -> Option<Vec<String>> {
    let mut harness = harness(&config(shape), seed);
    harness.submit(Op::Write, 0, 12, false);
    harness.submit(Op::Flush, 0, 0, false);
    harness.rest();
    harness.submit(Op::Write, 1, 1, false);
    harness.submit(Op::Write, 2, 5, true);
    harness.submit(Op::Trim, 6, 1, false);
    harness.submit(Op::Write, 1, 2, false);
    let late = 1 + steps.min(20);
    for step in 0..steps {
        if step == late / 2 {
            harness.submit(Op::Write, 1, 4, false);
            harness.submit(Op::Write, 9, 2, true);
        }
        if step == late {
            harness.submit(Op::Flush, 0, 0, false);
        }
        if !harness.step() {
            return None;
        }
    }
    let mut harness = harness.cut(lost);
    until_ready(&mut harness);
    check_copies_without(&mut harness, shape.copies, lost);
    harness.settle();
    harness.rest();
    Some(wrong(harness))
}

#[test]
fn a_script_survives_a_power_cut_at_every_step() {
    for shape in [pairs(2, 2), pairs(3, 2), FOUR, triples(3, 3), triples(4, 4)] {
        let losses: [&[usize]; 4] = [&[], &[0], &[1], &[0, 1]];
        for lost in losses.into_iter().filter(|lost| lost.len() < shape.copies as usize) {
            for seed in seeds(3) {
                let mut steps = 0;
                while let Some(wrong) = script(shape, steps, lost, seed) {
                    assert!(wrong.is_empty(), "{shape:?}, step {steps} without {lost:?}: {wrong:#?}");
                    steps += 1;
                }
                assert!(steps > 20);
            }
        }
    }
}

#[test]
fn recovery_survives_a_power_cut_at_every_step() {
    let cases: [(Shape, &[usize]); 6] = [
        (FOUR, &[]),
        (FOUR, &[0]),
        (FOUR, &[2]),
        (triples(3, 3), &[]),
        (triples(3, 3), &[1]),
        (triples(4, 4), &[0, 1]),
    ];
    for (shape, lost) in cases {
        for steps in 0.. {
            let mut harness = harness(&config(shape), 5);
            harness.work(60, 12);
            (0..10).for_each(|_| _ = harness.step());
            let mut harness = harness.cut(&[]);
            harness.watch = None;
            (0..steps).for_each(|_| _ = harness.step());
            let was_ready = harness.array.is_ready();
            let mut harness = harness.cut(lost);
            until_ready(&mut harness);
            check_copies_without(&mut harness, shape.copies, lost);
            harness.settle();
            assert_eq!(wrong(harness), Vec::<String>::new(), "{shape:?}, step {steps} without {lost:?}");
            if was_ready {
                assert!(steps > 10);
                break;
            }
        }
    }
}

/// The amount that recovery reads does not grow with the size of the drives.
#[test]
fn recovery_compares_what_was_listed() {
    for seed in seeds(10) {
        let mut harness = harness(&config(FOUR), seed);
        harness.submit(Op::Write, 0, 24, false);
        harness.rest();
        harness.submit(Op::Write, 3, 2, false);
        harness.submit(Op::Write, 40, 1, true);
        (0..8).for_each(|_| _ = harness.step());
        let before: u64 = harness.drives.iter().map(|drive| drive.reads).sum();
        let mut harness = harness.cut(&[]);
        harness.watch = None;
        harness.until_ready();
        let after: u64 = harness.drives.iter().map(|drive| drive.reads).sum();
        // Superblocks, descriptor slots, and two copies of each block that was ever listed.
        assert!(after - before <= 4 * (2 + 18) + 2 * 27, "{} blocks", after - before);
    }
}

/// A drive stops responding and is left behind; after a power cut it is back. Returns all violations.
fn left_behind(shape: Shape, seed: u64) -> Vec<String> {
    let mut harness = harness(&config(shape), seed);
    harness.work(60, 12);
    let lost = (seed % u64::from(shape.drives)) as usize;
    harness.drives[lost].is_gone = true;
    harness.work(seed as usize % 7 * 3, 12);
    (0..seed % 11 * 2).for_each(|_| _ = harness.step());
    harness.drives[lost].is_gone = false;
    let mut harness = harness.cut(&[]);
    until_ready(&mut harness);
    if harness.array.condition() == tailcut_host::array::Condition::Optimal {
        check_copies(&mut harness, shape.copies);
    }
    harness.settle();
    harness.rest();
    wrong(harness)
}

/// The content of a returning drive must be ignored, unless nothing was written without it.
#[test]
fn a_drive_that_was_left_behind_does_not_count_when_it_is_back() {
    for shape in [FOUR, triples(3, 3), triples(4, 4)] {
        for seed in seeds(60) {
            assert_eq!(left_behind(shape, seed), Vec::<String>::new(), "{shape:?}, seed {seed}");
        }
    }
}
