//! Block checksums of `epochs` arrays on drives that return wrong data with success: it must never reach the
//! host.

use crate::bench::{DATA, FOUR, SHAPES, Shape, check_copies, config, seeds, triples};
use crate::rig::Rig;
use tailcut_base::ids::Id;
use tailcut_base::{Nanos, Op, Status};
use tailcut_host::Mirror;
use tailcut_host::array::{ArrayConfig, Condition, DriveId, InPlaceChecksums};
use tailcut_host::planted::{Rule, broken};

fn checked(shape: Shape) -> ArrayConfig {
    let mut config = config(shape);
    (config.checksums, config.checksums_idle) = (InPlaceChecksums::On, Nanos::micros(10));
    config
}

/// An array on drives without protection information. Writes to the checksum area need no token.
fn unsealed(config: &ArrayConfig, seed: u64) -> Rig {
    let mut rig = Rig::new(config, seed);
    rig.drives.iter_mut().for_each(|drive| drive.is_unsealed = true);
    rig
}

fn full(config: &ArrayConfig, seed: u64) -> Rig {
    let mut rig = unsealed(config, seed);
    let all = rig.array.disk().blocks;
    rig.submit(Op::Write, 0, all as u32, false);
    rig.work(150, 16);
    rig.submit(Op::Flush, 0, 0, false);
    rig.rest();
    rig
}

fn spoil(rig: &mut Rig, drive: usize) {
    (DATA..rig.data_end()).step_by(3).for_each(|block| rig.drives[drive].corrupt(block));
}

fn wrong_and_errors(rig: &mut Rig) -> (u64, u64) {
    let (mut wrong, mut errors) = (0, 0);
    for block in 0..rig.array.disk().blocks {
        let right = rig.model.expected(block);
        let answer = rig.read_copy(Mirror::Any, block, 1, Vec::new());
        match answer.status {
            Status::Success => wrong += u64::from(answer.data[0].as_slice() != right.as_slice()),
            _ => errors += 1,
        }
    }
    (wrong, errors)
}

fn damaged(rig: &Rig) -> u64 {
    rig.array.core().drives.integrity().expect("it keeps checksums").damaged()
}

fn reopen(rig: Rig) -> Rig {
    let mut rig = rig.cut(&[]);
    rig.until_ready();
    rig.rest();
    rig
}

/// Reads detect corrupt blocks, and a scrub those that were not read; then all copies are intact.
fn is_found(rig: &mut Rig, shape: Shape) {
    assert_eq!(wrong_and_errors(rig), (0, 0), "{shape:?}");
    rig.rest();
    rig.scrub();
    rig.rest();
    assert!(rig.array.core().reads.counts().corrupt > 0, "{shape:?}");
    assert_eq!(rig.array.epochs().expect("it has epochs").scrub_report().unrepairable, 0, "{shape:?}");
    check_copies(rig, shape.copies);
    let found = rig.array.core().reads.counts().corrupt;
    assert_eq!(wrong_and_errors(rig), (0, 0), "{shape:?}");
    assert_eq!(rig.array.core().reads.counts().corrupt, found, "{shape:?}: rewritten");
    rig.is_right();
}

#[test]
fn a_wrong_block_is_read_from_another_copy_and_rewritten() {
    for shape in SHAPES {
        let mut rig = full(&checked(shape), 1);
        spoil(&mut rig, 0);
        is_found(&mut rig, shape);
        spoil(&mut rig, 0);
        let mut rig = reopen(rig);
        assert_eq!(damaged(&rig), 0);
        is_found(&mut rig, shape);
    }
}

#[test]
fn without_checksums_a_wrong_block_is_served() {
    let mut config = checked(FOUR);
    config.checksums = InPlaceChecksums::Off;
    let mut rig = full(&config, 1);
    spoil(&mut rig, 0);
    let (wrong, errors) = wrong_and_errors(&mut rig);
    assert!(wrong > 0 && errors == 0, "{wrong} {errors}");
}

fn random_cut(shape: Shape, seed: u64) -> Vec<String> {
    let mut config = checked(shape);
    config.checksums_idle = Nanos::micros([10, 50, 300][seed as usize % 3]);
    let mut rig = unsealed(&config, seed);
    let mut corrupt = 0;
    for _ in 0..4 {
        rig.work(5 + (seed as usize * 31) % 70, 1 + seed as usize % 20);
        for _ in 0..rig.stream.below(60) {
            rig.step();
        }
        corrupt += rig.array.core().reads.counts().corrupt;
        rig = rig.cut(&[]);
        if rig.stream.below(3) == 0 {
            for _ in 0..rig.stream.below(60) {
                rig.step();
            }
            corrupt += rig.array.core().reads.counts().corrupt;
            rig = rig.cut(&[]);
        }
        rig.until_ready();
        check_copies(&mut rig, shape.copies);
        rig.settle();
    }
    rig.work(50, 8);
    rig.rest();
    check_copies(&mut rig, shape.copies);
    corrupt += rig.array.core().reads.counts().corrupt;
    if corrupt > 0 {
        rig.wrong.push(format!("{corrupt} reads of what was right counted as wrong"));
    }
    rig.wrong
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
            let mut rig = full(&checked(shape), seed);
            let lost = seed as usize % 4;
            rig.drives[lost].is_gone = true;
            rig.work(100, 16);
            rig.rest();
            rig.replace(lost);
            rig.work(100, 16);
            rig.rest();
            assert_eq!(rig.array.condition(), Condition::Optimal);
            assert_eq!(rig.array.core().reads.counts().corrupt, 0, "{shape:?} seed {seed}");
            let mut rig = reopen(rig);
            let integrity = rig.array.core().drives.integrity().expect("it keeps checksums");
            assert_eq!((integrity.damaged(), integrity.dirty(DriveId::at(lost))), (0, 0));
            spoil(&mut rig, lost);
            is_found(&mut rig, shape);
        }
    }
}

#[test]
fn a_damaged_area_makes_checksums_unknown() {
    for of_area in 0..2 {
        let mut rig = full(&checked(FOUR), 3);
        let block = rig.data_end() + of_area;
        rig.drives[1].corrupt(block);
        let mut rig = reopen(rig);
        assert_eq!(damaged(&rig), 1, "block {of_area}");
        assert_eq!(wrong_and_errors(&mut rig), (0, 0));
        assert_eq!(rig.array.core().reads.counts().corrupt, 0);
        let mut rig = reopen(rig);
        assert_eq!((damaged(&rig), wrong_and_errors(&mut rig)), (0, (0, 0)));
    }
}

#[test]
fn a_mark_before_its_data_is_noticed() {
    let noticed = (0..40).find(|&seed| {
        let wrong = std::panic::catch_unwind(|| broken(Rule::DataBeforeClean, || random_cut(FOUR, seed)));
        wrong.is_err() || wrong.is_ok_and(|wrong| !wrong.is_empty())
    });
    assert!(noticed.is_some());
}
