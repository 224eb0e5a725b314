//! Drives without protection information that return wrong data: a reader with checksums requests another
//! copy.

use crate::epoch::bench::{DATA, FOUR, check_copies, config, harness, triples, wrong};
use tailcut_base::{Op, Status};
use tailcut_host::array::DriveId;
use tailcut_host::{Bytes, Mirror};

#[test]
fn a_wrong_copy_is_read_elsewhere_and_rewritten() {
    for shape in [FOUR, triples(6, 3)] {
        let mut harness = harness(&config(shape), 1);
        harness.drives.iter_mut().for_each(|drive| drive.is_unsealed = true);
        let all = harness.array.disk().blocks;
        harness.submit(Op::Write, 0, all as u32, true);
        harness.rest();
        for block in 0..24 {
            harness.drives[0].corrupt(DATA + block);
        }
        // The load decides which copy is read: after a few rounds, all have been read.
        let (mut met, mut lost) = (0, 0);
        for _ in 0..6 {
            let (found, gone) = harness.read_as_a_file_system(0..all);
            (met, lost) = (met + found, lost + gone);
        }
        assert!(met > 0, "some of the wrong copies were read");
        assert_eq!(lost, 0);
        let reads_of = &harness.array.core().reads;
        let of_drives: Vec<u64> = (0..4).map(|drive| reads_of.faults(DriveId::new(drive)).corrupt).collect();
        // With two copies the other one is wrong.
        let named = if shape.copies == 2 { met } else { 0 };
        assert_eq!(of_drives, [named, 0, 0, 0], "{shape:?}");
        assert!(reads_of.counts().repaired >= met);
        // The remaining ones are found by copy number.
        for block in 0..all {
            let right = harness.model.expected(block);
            for copy in 0..shape.copies as u8 {
                harness.read_copy(Mirror::Repair(copy), block, 1, vec![right.clone()]);
            }
        }
        harness.rest();
        check_copies(&mut harness, shape.copies);
        harness.submit(Op::Read, 0, all as u32, false);
        harness.rest();
        assert_eq!(wrong(harness), Vec::<String>::new(), "{shape:?}");
    }
}

#[test]
fn what_is_written_meanwhile_is_not_undone() {
    for seed in 0..20 {
        let mut harness = harness(&config(FOUR), seed);
        harness.drives.iter_mut().for_each(|drive| drive.is_unsealed = true);
        harness.submit(Op::Write, 0, 24, true);
        harness.rest();
        let right: Vec<Bytes> = (0..24).map(|block| harness.model.expected(block)).collect();
        harness.work(20, 10);
        harness.read_copy(Mirror::Repair((seed % 2) as u8), 0, 24, right);
        harness.work(20, 10);
        harness.rest();
        check_copies(&mut harness, 2);
        assert_eq!(wrong(harness), Vec::<String>::new(), "seed {seed}");
    }
}

#[test]
fn a_copy_on_a_drive_that_is_missing_cannot_be_had() {
    let mut harness = harness(&config(FOUR), 1);
    harness.submit(Op::Write, 0, 24, true);
    harness.rest();
    harness.drives[0].is_gone = true;
    let mut failed = 0;
    for block in 0..24 {
        let both = [0, 1].map(|copy| harness.read_copy(Mirror::Only(copy), block, 1, Vec::new()).status);
        assert!(both.contains(&Status::Success), "{both:?}");
        failed += both.iter().filter(|&&status| status == Status::MediaError).count();
    }
    assert!(failed > 0);
    assert_eq!(harness.read_copy(Mirror::Only(2), 0, 1, Vec::new()).status, Status::InvalidField);
}

/// A scrub counts two copies that differ but changes neither, since it cannot tell which is correct; a reader
/// with checksums can. With three copies, the majority wins.
#[test]
fn a_scrub_does_not_choose_between_two_copies() {
    for shape in [FOUR, triples(6, 3)] {
        let mut harness = harness(&config(shape), 1);
        harness.drives.iter_mut().for_each(|drive| drive.is_unsealed = true);
        let all = harness.array.disk().blocks;
        harness.submit(Op::Write, 0, all as u32, true);
        harness.rest();
        for block in 0..24 {
            harness.drives[0].corrupt(DATA + block);
        }
        harness.scrub();
        harness.rest();
        let report = *harness.array.epochs().expect("it has copies").scrub_report();
        assert!(report.parity_mismatches > 0, "{report:?}");
        assert_eq!(report.repaired > 0, shape.copies > 2, "{report:?}");
        let lost = (0..6).map(|_| harness.read_as_a_file_system(0..all).1).sum::<u64>();
        assert_eq!(lost, 0, "{shape:?}: another copy is still there");
    }
}
