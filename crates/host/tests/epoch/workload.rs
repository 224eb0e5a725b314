//! Healthy arrays.

use crate::epoch::bench::{FOUR, SHAPES, Shape, check_copies, config, harness, seeds, wrong};
use tailcut_base::Op;
use tailcut_host::array::Condition;

/// Random requests to a healthy array.
pub(super) fn work(shape: Shape, seed: u64) -> Vec<String> {
    let mut harness = harness(&config(shape), seed);
    harness.work(300, 1 + (seed as usize * 7) % 40);
    harness.rest();
    check_copies(&mut harness, shape.copies);
    assert_eq!(harness.array.condition(), Condition::Optimal);
    assert_eq!(harness.array.epochs().expect("it has epochs").dirty(), 0);
    wrong(harness)
}

#[test]
fn reads_return_what_was_written_last_and_only_the_token_writes() {
    for shape in SHAPES {
        for seed in seeds(6) {
            let wrong = work(shape, seed);
            assert!(wrong.is_empty(), "{shape:?}, seed {seed}: {wrong:#?}");
        }
    }
}

#[test]
fn writes_are_acknowledged_in_the_cache_and_read_from_there() {
    let mut harness = harness(&config(FOUR), 1);
    let begun = harness.now;
    harness.submit(Op::Write, 3, 6, false);
    assert_eq!((harness.in_flight(), harness.now), (0, begun));
    harness.submit(Op::Read, 3, 6, false);
    assert_eq!((harness.in_flight(), harness.now), (0, begun));
    harness.rest();
    let figures = harness.array.epoch_figures().expect("it has epochs");
    assert_eq!((figures.from_cache, figures.epochs, figures.written), (6, 2, 12));
    assert!(wrong(harness).is_empty());
}

#[test]
fn a_newer_write_takes_the_place_of_one_that_waits() {
    let mut harness = harness(&config(FOUR), 1);
    (0..10).for_each(|_| harness.submit(Op::Write, 5, 1, false));
    harness.rest();
    let figures = harness.array.epoch_figures().expect("it has epochs");
    assert_eq!((figures.written, figures.superseded), (2, 18));
    check_copies(&mut harness, 2);
    assert!(wrong(harness).is_empty());
}

#[test]
fn a_flush_of_the_host_takes_an_epoch_of_each_group() {
    for shape in SHAPES {
        let mut harness = harness(&config(shape), 1);
        harness.submit(Op::Write, 0, 20, false);
        harness.submit(Op::Flush, 0, 0, false);
        assert_eq!(harness.in_flight(), 1);
        while harness.in_flight() > 0 {
            assert!(harness.step());
        }
        let figures = harness.array.epoch_figures().expect("it has epochs");
        assert!(figures.epochs <= u64::from(shape.groups), "{figures:?}");
        assert_eq!(harness.array.epochs().expect("it has epochs").dirty(), 0);
    }
}

#[test]
fn nothing_happens_in_an_idle_array() {
    let mut harness = harness(&config(FOUR), 1);
    harness.rest();
    assert_eq!(harness.array.next_event(), tailcut_base::Time::NEVER);
    harness.submit(Op::Flush, 0, 0, false);
    assert_eq!(harness.in_flight(), 0);
    assert_eq!(harness.array.epoch_figures().expect("it has epochs").epochs, 0);
}

#[test]
fn reads_go_to_the_copy_without_the_token() {
    let mut harness = harness(&config(FOUR), 1);
    harness.submit(Op::Write, 0, 24, false);
    harness.rest();
    for round in 0..40 {
        harness.submit(Op::Write, (round * 7) % 60, 2, false);
        (0..4).for_each(|_| _ = harness.step());
        harness.submit(Op::Read, (round * 5 + 30) % 64, 3, false);
    }
    harness.rest();
    let figures = harness.array.epoch_figures().expect("it has epochs");
    assert!(figures.diverted > 10, "{figures:?}");
    assert_eq!(figures.met, 0, "no drive is missing: each read has a copy without the token");
    assert!(wrong(harness).is_empty());
}

#[test]
fn no_drive_reads_and_writes_at_the_same_time() {
    for shape in SHAPES {
        let mut harness = harness(&config(shape), 5);
        for _ in 0..1500 {
            while harness.in_flight() >= 12 {
                assert!(harness.step());
            }
            harness.submit_random();
            for drive in 0..harness.drives.len() {
                assert!(
                    !harness.has(drive, Op::Read) || !harness.has(drive, Op::Write),
                    "{shape:?}: {drive}"
                );
            }
        }
        harness.rest();
        let figures = harness.array.epoch_figures().expect("it has epochs");
        assert!(figures.diverted > 10 && figures.met == 0, "{figures:?}");
        assert!(wrong(harness).is_empty());
    }
}
