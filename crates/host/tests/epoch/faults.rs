//! Drives that fail, are replaced, or return something else than was written.

use crate::bench::{DATA, SHAPES, check_copies, config, rig, seeds, wrong};
use tailcut_base::Op;
use tailcut_host::array::Condition;

/// A drive is lost under load and replaced, while writes go on. Returns what was wrong.
pub fn rebuild(drives: u32, groups: u32, seed: u64) -> Vec<String> {
    let mut rig = rig(&config(drives, groups), seed);
    rig.work(80, 10);
    let lost = seed as usize % drives as usize;
    rig.drives[lost].is_gone = true;
    rig.work(60, 10);
    rig.rest();
    if rig.array.condition() == Condition::Optimal {
        return Vec::new();
    }
    assert_eq!(rig.array.condition(), Condition::Degraded { missing: vec![lost], rebuilding: vec![] });
    // Drives are cleared without the token: nobody reads from that one yet.
    rig.watch = None;
    rig.replace(lost);
    rig.work(80, 10);
    if seed.is_multiple_of(3) {
        (0..rig.stream.below(60)).for_each(|_| _ = rig.step());
        rig = rig.cut(&[]);
        rig.until_ready();
        rig.settle();
        rig.work(30, 10);
    }
    rig.rest();
    assert_eq!(rig.array.condition(), Condition::Optimal);
    check_copies(&mut rig);
    rig.submit(Op::Flush, 0, 0, false);
    rig.rest();
    let mut rig = rig.cut(&[(lost + 1) % drives as usize]);
    rig.until_ready();
    rig.settle();
    wrong(rig)
}

#[test]
fn a_drive_is_rebuilt_while_writes_go_on() {
    for (drives, groups) in SHAPES {
        for seed in seeds(20) {
            let wrong = rebuild(drives, groups, seed);
            assert!(wrong.is_empty(), "{drives} drives, {groups} groups, seed {seed}: {wrong:#?}");
        }
    }
}

#[test]
fn what_is_corrupt_is_read_from_the_other_copy_and_repaired() {
    let mut rig = rig(&config(4, 2), 1);
    rig.submit(Op::Write, 0, 24, false);
    rig.rest();
    for (drive, block) in [(0, DATA), (1, DATA + 1), (2, DATA + 3), (3, DATA + 4)] {
        rig.drives[drive].corrupt(block);
    }
    for _ in 0..2 {
        (0..24).for_each(|block| rig.submit(Op::Read, block, 1, false));
        rig.submit(Op::Read, 0, 24, false);
        rig.rest();
    }
    rig.scrub();
    rig.rest();
    let report = *rig.array.epochs().expect("it has epochs").scrub_report();
    assert!(report.repaired_on_read > 0);
    assert_eq!(report.unrepairable, 0);
    rig.scrub();
    rig.rest();
    assert_eq!(rig.array.epochs().expect("it has epochs").scrub_report().corrupt_blocks, 0);
    check_copies(&mut rig);
    assert_eq!(wrong(rig), Vec::<String>::new());
}

#[test]
fn a_scrub_finds_what_is_wrong_while_writes_go_on() {
    for seed in seeds(10) {
        let mut rig = rig(&config(5, 3), seed);
        rig.work(60, 10);
        rig.rest();
        for block in 0..6 {
            rig.drives[(seed % 5) as usize].corrupt(DATA + 3 * block);
        }
        rig.scrub();
        rig.work(100, 10);
        rig.rest();
        rig.scrub();
        rig.rest();
        let report = rig.array.epochs().expect("it has epochs").scrub_report();
        assert_eq!((report.corrupt_blocks, report.unrepairable, report.parity_mismatches), (0, 0, 0));
        check_copies(&mut rig);
        assert_eq!(wrong(rig), Vec::<String>::new(), "seed {seed}");
    }
}

/// Descriptors that cannot be read: then everything on the drive is compared.
#[test]
fn a_lost_descriptor_loses_nothing() {
    for seed in seeds(40) {
        let mut rig = rig(&config(4, 2), seed);
        rig.work(60, 12);
        (0..rig.stream.below(30)).for_each(|_| _ = rig.step());
        let mut rig = rig.cut(&[]);
        let drive = seed as usize % 4;
        (2..DATA).for_each(|block| rig.drives[drive].corrupt(block));
        rig.watch = None;
        rig.until_ready();
        check_copies(&mut rig);
        rig.settle();
        assert_eq!(wrong(rig), Vec::<String>::new(), "seed {seed}");
    }
}

#[test]
fn without_both_copies_nothing_is_promised() {
    let mut rig = rig(&config(4, 2), 1);
    rig.submit(Op::Write, 0, 24, false);
    rig.rest();
    (rig.drives[0].is_gone, rig.drives[1].is_gone, rig.may_fail) = (true, true, true);
    rig.submit(Op::Write, 0, 24, true);
    rig.submit(Op::Flush, 0, 0, false);
    rig.rest();
    assert!(matches!(rig.array.condition(), Condition::Failed { .. }));
    assert!(
        rig.failed.iter().any(|&(op, _)| op == Op::Write)
            && rig.failed.iter().any(|&(op, _)| op == Op::Flush)
    );
    let before = rig.failed.len();
    rig.submit(Op::Write, 0, 1, false);
    rig.submit(Op::Flush, 0, 0, false);
    rig.submit(Op::Read, 0, 1, false);
    rig.rest();
    assert_eq!(rig.failed.len(), before + 3);
}

#[test]
fn unequal_drives_are_refused() {
    let config = config(2, 2);
    let disk = crate::rig::disk();
    assert_eq!(config.misfit(&[disk.clone(), disk.clone()]), None);
    let larger = tailcut_host::Disk { blocks: disk.blocks + 1, ..disk.clone() };
    assert_eq!(config.misfit(&[disk, larger]).map(|(key, _)| key), Some("drives"));
}
