//! Contended drives, which decline reads: which other blocks are read instead, and that the data is correct.

use crate::raid::harness::{Harness, config};
use crate::raid::workload::{LAYOUTS, seeds};
use tailcut_base::Op;
use tailcut_host::array::{ArrayConfig, LayoutKind, ReadPolicy};

/// Four drives with chunks of one block, so that a row is three data blocks and their parity.
fn rows() -> ArrayConfig {
    let mut config = config(LayoutKind::Raid4, 4);
    (config.reads, config.raid.chunk) = (ReadPolicy::FailFast, 4096);
    config
}

/// A written, idle array with these drives contended.
fn taken(drives: &[usize]) -> Harness {
    let mut harness = Harness::fresh(&rows(), 1);
    harness.submit(Op::Write, 0, 12, false);
    harness.rest();
    drives.iter().for_each(|&drive| harness.drives[drive].is_taken = true);
    harness
}

/// Number of reads on each drive for one request.
fn reads(harness: &mut Harness, op: Op, block: u64, blocks: u32) -> Vec<u64> {
    let before: Vec<u64> = harness.drives.iter().map(|drive| drive.reads).collect();
    harness.submit(op, block, blocks, false);
    harness.rest();
    harness.check_parity();
    harness.is_right();
    harness.drives.iter().zip(before).map(|(drive, before)| drive.reads - before).collect()
}

#[test]
fn of_a_row_with_one_drive_taken_only_what_is_missing_is_read_beside() {
    assert_eq!(reads(&mut taken(&[]), Op::Read, 0, 3), [1, 1, 1, 0]);
    assert_eq!(reads(&mut taken(&[1]), Op::Read, 0, 3), [1, 0, 1, 1]);
    assert_eq!(reads(&mut taken(&[1]), Op::Read, 1, 1), [1, 0, 1, 1]);
    assert_eq!(reads(&mut taken(&[1]), Op::Read, 0, 12), [4, 0, 4, 4]);
    assert_eq!(reads(&mut taken(&[3]), Op::Read, 0, 12), [4, 4, 4, 0]);
}

#[test]
fn of_two_taken_drives_one_is_done_without() {
    for (block, blocks) in [(0, 3), (0, 1), (1, 2), (0, 12)] {
        for other in [1, 3] {
            let mut harness = taken(&[0, other]);
            let read = reads(&mut harness, Op::Read, block, blocks);
            let rows = u64::from(blocks.div_ceil(3));
            assert!(read[0].min(read[other]) == 0 || blocks == 12, "{read:?}");
            assert!(read.iter().sum::<u64>() <= 3 * rows, "no more than a row without one: {read:?}");
        }
    }
    // All drives are contended: the block is read directly, or from the others.
    let read = reads(&mut taken(&[0, 1, 2, 3]), Op::Read, 0, 1);
    assert!(read == [1, 0, 0, 0] || read[1..] == [1, 1, 1], "{read:?}");
}

#[test]
fn writes_read_what_is_free() {
    // Either the rest of the row, or the old data and the parity.
    assert_eq!(reads(&mut taken(&[]), Op::Write, 0, 1), [0, 1, 1, 0]);
    assert_eq!(reads(&mut taken(&[0]), Op::Write, 0, 1), [0, 1, 1, 0]);
    assert_eq!(reads(&mut taken(&[1]), Op::Write, 0, 1)[1], 0);
    assert_eq!(reads(&mut taken(&[2]), Op::Write, 0, 1)[2], 0);
    assert_eq!(reads(&mut taken(&[2]), Op::Write, 0, 2)[2], 0);
    let read = reads(&mut taken(&[0, 1]), Op::Write, 0, 1);
    assert!(read[0].min(read[1]) == 0 && read.iter().sum::<u64>() >= 2, "{read:?}");
}

/// Reads rows that are being written while one of their drives is contended.
pub(super) fn rows_under_way(seed: u64) -> Vec<String> {
    let mut harness = Harness::fresh(&rows(), seed);
    harness.submit(Op::Write, 0, 12, false);
    harness.rest();
    harness.drives[1].is_taken = true;
    for _ in 0..20 {
        let block = 3 * harness.stream.below(4);
        harness.submit(Op::Write, block, 1, false);
        harness.submit(Op::Read, block + 1, 1, false);
        harness.submit(Op::Write, block + 2, 1, false);
        harness.submit(Op::Read, block, 3, false);
        if harness.stream.below(2) == 0 {
            harness.submit(Op::Write, block + 1, 1, false);
        }
        while harness.in_flight() > 6 {
            assert!(harness.step());
        }
    }
    harness.rest();
    harness.check_parity();
    harness.wrong
}

#[test]
fn a_read_whose_row_is_being_written_goes_around_when_it_is_not() {
    for seed in seeds(50) {
        assert_eq!(rows_under_way(seed), Vec::<String>::new());
    }
}

#[test]
fn arrays_whose_drives_are_often_taken_are_right() {
    for layout in LAYOUTS {
        for seed in seeds(12) {
            for (drives, chunk) in [(3, 1), (4, 4), (5, 3)] {
                let mut config = config(layout, drives);
                (config.reads, config.raid.chunk) = (ReadPolicy::FailFast, chunk * 4096);
                let mut harness = Harness::new(&config, seed);
                for _ in 0..3 {
                    for drive in &mut harness.drives {
                        drive.is_often_taken = harness.stream.below(2) == 0;
                        drive.is_taken = harness.stream.below(3) == 0;
                    }
                    harness.work(120, 1 + (seed as usize * 7) % 40);
                }
                harness.rest();
                harness.check_parity();
                harness.is_right();
                assert_eq!(harness.array.core().reads.counts().lost, 0);
            }
        }
    }
}

#[test]
fn taken_drives_that_are_lost_or_corrupt_are_read_around() {
    for seed in seeds(30) {
        let mut config = rows();
        config.raid.chunk = 4096 << (seed % 3);
        let mut harness = Harness::new(&config, seed);
        harness.work(60, 8);
        harness.rest();
        let (drive, other) = (seed as usize % 4, (seed as usize + 1) % 4);
        harness.drives[other].is_taken = true;
        let start = harness.data_start();
        if seed % 2 == 0 {
            (start..start + 8).for_each(|block| harness.drives[drive].corrupt(block));
        } else {
            harness.drives[drive].is_gone = true;
        }
        for block in 0..24 {
            harness.submit(Op::Read, block, 1 + (block % 5) as u32, false);
        }
        harness.rest();
        harness.is_right();
    }
}
