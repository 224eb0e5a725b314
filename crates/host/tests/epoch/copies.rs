//! Drives without protection information that return wrong data: a reader with checksums requests another
//! copy.

use crate::bench::{DATA, FOUR, check_copies, config, rig, triples, wrong};
use tailcut_base::{Op, Status};
use tailcut_host::{Bytes, Mirror};

#[test]
fn a_wrong_copy_is_read_elsewhere_and_rewritten() {
    for shape in [FOUR, triples(6, 3)] {
        let mut rig = rig(&config(shape), 1);
        rig.drives.iter_mut().for_each(|drive| drive.is_unsealed = true);
        let all = rig.array.disk().blocks;
        rig.submit(Op::Write, 0, all as u32, true);
        rig.rest();
        for block in 0..24 {
            rig.drives[0].corrupt(DATA + block);
        }
        // The load decides which copy is read: after a few rounds, all have been read.
        let (mut met, mut lost) = (0, 0);
        for _ in 0..6 {
            let (found, gone) = rig.read_as_a_file_system(0..all);
            (met, lost) = (met + found, lost + gone);
        }
        assert!(met > 0, "some of the wrong copies were read");
        assert_eq!(lost, 0);
        // The remaining ones are found by copy number.
        for block in 0..all {
            let right = rig.model.expected(block);
            for copy in 0..shape.copies as u8 {
                rig.read_copy(Mirror::Repair(copy), block, 1, vec![right.clone()]);
            }
        }
        rig.rest();
        check_copies(&mut rig, shape.copies);
        rig.submit(Op::Read, 0, all as u32, false);
        rig.rest();
        assert_eq!(wrong(rig), Vec::<String>::new(), "{shape:?}");
    }
}

#[test]
fn what_is_written_meanwhile_is_not_undone() {
    for seed in 0..20 {
        let mut rig = rig(&config(FOUR), seed);
        rig.drives.iter_mut().for_each(|drive| drive.is_unsealed = true);
        rig.submit(Op::Write, 0, 24, true);
        rig.rest();
        let right: Vec<Bytes> = (0..24).map(|block| rig.model.expected(block)).collect();
        rig.work(20, 10);
        rig.read_copy(Mirror::Repair((seed % 2) as u8), 0, 24, right);
        rig.work(20, 10);
        rig.rest();
        check_copies(&mut rig, 2);
        assert_eq!(wrong(rig), Vec::<String>::new(), "seed {seed}");
    }
}

#[test]
fn a_copy_on_a_drive_that_is_missing_cannot_be_had() {
    let mut rig = rig(&config(FOUR), 1);
    rig.submit(Op::Write, 0, 24, true);
    rig.rest();
    rig.drives[0].is_gone = true;
    let mut failed = 0;
    for block in 0..24 {
        let both = [0, 1].map(|copy| rig.read_copy(Mirror::Only(copy), block, 1, Vec::new()).status);
        assert!(both.contains(&Status::Success), "{both:?}");
        failed += both.iter().filter(|&&status| status == Status::MediaError).count();
    }
    assert!(failed > 0);
    assert_eq!(rig.read_copy(Mirror::Only(2), 0, 1, Vec::new()).status, Status::InvalidField);
}

/// A scrub counts two copies that differ but changes neither, since it cannot tell which is correct; a reader
/// with checksums can. With three copies, the majority wins.
#[test]
fn a_scrub_does_not_choose_between_two_copies() {
    for shape in [FOUR, triples(6, 3)] {
        let mut rig = rig(&config(shape), 1);
        rig.drives.iter_mut().for_each(|drive| drive.is_unsealed = true);
        let all = rig.array.disk().blocks;
        rig.submit(Op::Write, 0, all as u32, true);
        rig.rest();
        for block in 0..24 {
            rig.drives[0].corrupt(DATA + block);
        }
        rig.scrub();
        rig.rest();
        let report = *rig.array.epochs().expect("it has copies").scrub_report();
        assert!(report.parity_mismatches > 0, "{report:?}");
        assert_eq!(report.repaired > 0, shape.copies > 2, "{report:?}");
        let lost = (0..6).map(|_| rig.read_as_a_file_system(0..all).1).sum::<u64>();
        assert_eq!(lost, 0, "{shape:?}: another copy is still there");
    }
}
