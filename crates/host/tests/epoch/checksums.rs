//! Block checksums of `epochs` arrays on drives that return wrong data with success: it must never reach the
//! host.

use crate::epoch::bench::{DATA, FOUR, SHAPES, Shape, check_copies, config, seeds, triples};
use crate::raid::harness::Harness;
use tailcut_base::ids::Id;
use tailcut_base::{Nanos, Op, Status};
use tailcut_host::Mirror;
use tailcut_host::array::{ArrayConfig, Condition, DriveId, InPlaceChecksums};
use tailcut_host::mutation::{Invariant, broken};

fn checked(shape: Shape) -> ArrayConfig {
    let mut config = config(shape);
    (config.checksums, config.checksums_idle) = (InPlaceChecksums::On, Nanos::micros(10));
    config
}

/// An array on drives without protection information. Writes to the checksum area need no token.
fn unsealed(config: &ArrayConfig, seed: u64) -> Harness {
    let mut harness = Harness::new(config, seed);
    harness.drives.iter_mut().for_each(|drive| drive.is_unsealed = true);
    harness
}

fn full(config: &ArrayConfig, seed: u64) -> Harness {
    let mut harness = unsealed(config, seed);
    let all = harness.array.disk().blocks;
    harness.submit(Op::Write, 0, all as u32, false);
    harness.work(150, 16);
    harness.submit(Op::Flush, 0, 0, false);
    harness.rest();
    harness
}

fn spoil(harness: &mut Harness, drive: usize) {
    (DATA..harness.data_end()).step_by(3).for_each(|block| harness.drives[drive].corrupt(block));
}

fn wrong_and_errors(harness: &mut Harness) -> (u64, u64) {
    let (mut wrong, mut errors) = (0, 0);
    for block in 0..harness.array.disk().blocks {
        let right = harness.model.expected(block);
        let answer = harness.read_copy(Mirror::Any, block, 1, Vec::new());
        match answer.status {
            Status::Success => wrong += u64::from(answer.data[0].as_slice() != right.as_slice()),
            _ => errors += 1,
        }
    }
    (wrong, errors)
}

fn damaged(harness: &Harness) -> u64 {
    harness.array.core().drives.integrity().expect("it keeps checksums").damaged()
}

fn reopen(harness: Harness) -> Harness {
    let mut harness = harness.cut(&[]);
    harness.until_ready();
    harness.rest();
    harness
}

/// Reads detect corrupt blocks, and a scrub those that were not read; then all copies are intact.
fn is_found(harness: &mut Harness, shape: Shape) {
    assert_eq!(wrong_and_errors(harness), (0, 0), "{shape:?}");
    harness.rest();
    harness.scrub();
    harness.rest();
    assert!(harness.array.core().reads.counts().corrupt > 0, "{shape:?}");
    assert_eq!(harness.array.epochs().expect("it has epochs").scrub_report().unrepairable, 0, "{shape:?}");
    check_copies(harness, shape.copies);
    let found = harness.array.core().reads.counts().corrupt;
    assert_eq!(wrong_and_errors(harness), (0, 0), "{shape:?}");
    assert_eq!(harness.array.core().reads.counts().corrupt, found, "{shape:?}: rewritten");
    harness.is_right();
}

#[test]
fn a_wrong_block_is_read_from_another_copy_and_rewritten() {
    for shape in SHAPES {
        let mut harness = full(&checked(shape), 1);
        spoil(&mut harness, 0);
        is_found(&mut harness, shape);
        spoil(&mut harness, 0);
        let mut harness = reopen(harness);
        assert_eq!(damaged(&harness), 0);
        is_found(&mut harness, shape);
    }
}

#[test]
fn without_checksums_a_wrong_block_is_served() {
    let mut config = checked(FOUR);
    config.checksums = InPlaceChecksums::Off;
    let mut harness = full(&config, 1);
    spoil(&mut harness, 0);
    let (wrong, errors) = wrong_and_errors(&mut harness);
    assert!(wrong > 0 && errors == 0, "{wrong} {errors}");
}

fn random_cut(shape: Shape, seed: u64) -> Vec<String> {
    let mut config = checked(shape);
    config.checksums_idle = Nanos::micros([10, 50, 300][seed as usize % 3]);
    let mut harness = unsealed(&config, seed);
    let mut corrupt = 0;
    for _ in 0..4 {
        harness.work(5 + (seed as usize * 31) % 70, 1 + seed as usize % 20);
        for _ in 0..harness.stream.below(60) {
            harness.step();
        }
        corrupt += harness.array.core().reads.counts().corrupt;
        harness = harness.cut(&[]);
        if harness.stream.below(3) == 0 {
            for _ in 0..harness.stream.below(60) {
                harness.step();
            }
            corrupt += harness.array.core().reads.counts().corrupt;
            harness = harness.cut(&[]);
        }
        harness.until_ready();
        check_copies(&mut harness, shape.copies);
        harness.settle();
    }
    harness.work(50, 8);
    harness.rest();
    check_copies(&mut harness, shape.copies);
    corrupt += harness.array.core().reads.counts().corrupt;
    if corrupt > 0 {
        harness.wrong.push(format!("{corrupt} reads of what was right counted as wrong"));
    }
    harness.wrong
}

#[test]
fn power_cuts_make_no_right_block_wrong() {
    for shape in SHAPES {
        for seed in seeds(20) {
            let wrong = random_cut(shape, seed);
            assert!(wrong.is_empty(), "{shape:?}, seed {seed}: {wrong:#?}");
        }
    }
}

#[test]
fn a_drive_that_was_rebuilt_has_checksums() {
    for shape in [FOUR, triples(6, 3)] {
        for seed in seeds(6) {
            let mut harness = full(&checked(shape), seed);
            let lost = seed as usize % 4;
            harness.drives[lost].is_gone = true;
            harness.work(100, 16);
            harness.rest();
            harness.replace(lost);
            harness.work(100, 16);
            harness.rest();
            assert_eq!(harness.array.condition(), Condition::Optimal);
            assert_eq!(harness.array.core().reads.counts().corrupt, 0, "{shape:?} seed {seed}");
            let mut harness = reopen(harness);
            let integrity = harness.array.core().drives.integrity().expect("it keeps checksums");
            assert_eq!((integrity.damaged(), integrity.dirty(DriveId::at(lost))), (0, 0));
            spoil(&mut harness, lost);
            is_found(&mut harness, shape);
        }
    }
}

#[test]
fn a_damaged_area_makes_checksums_unknown() {
    for of_area in 0..2 {
        let mut harness = full(&checked(FOUR), 3);
        let block = harness.data_end() + of_area;
        harness.drives[1].corrupt(block);
        let mut harness = reopen(harness);
        assert_eq!(damaged(&harness), 1, "block {of_area}");
        assert_eq!(wrong_and_errors(&mut harness), (0, 0));
        assert_eq!(harness.array.core().reads.counts().corrupt, 0);
        let mut harness = reopen(harness);
        assert_eq!((damaged(&harness), wrong_and_errors(&mut harness)), (0, (0, 0)));
    }
}

#[test]
fn a_mark_before_its_data_is_noticed() {
    let noticed = (0..40).find(|&seed| {
        let wrong =
            std::panic::catch_unwind(|| broken(Invariant::DataBeforeClean, || random_cut(FOUR, seed)));
        wrong.is_err() || wrong.is_ok_and(|wrong| !wrong.is_empty())
    });
    assert!(noticed.is_some());
}
