//! Drives that fail, are replaced, or return wrong data.

use crate::bench::{DATA, FOUR, SHAPES, Shape, check_copies, config, pairs, rig, seeds, triples, wrong};
use tailcut_base::Op;
use tailcut_base::ids::Id;
use tailcut_host::array::Condition;
use tailcut_host::array::DriveId;

/// Loses a drive under load and replaces it while writes continue. Returns all violations.
pub fn rebuild(shape: Shape, seed: u64) -> Vec<String> {
    let mut rig = rig(&config(shape), seed);
    rig.work(80, 10);
    let lost = seed as usize % shape.drives as usize;
    rig.drives[lost].is_gone = true;
    rig.work(60, 10);
    rig.rest();
    if rig.array.condition() == Condition::Optimal {
        return Vec::new();
    }
    assert_eq!(
        rig.array.condition(),
        Condition::Degraded { missing: vec![DriveId::at(lost)], rebuilding: vec![] }
    );
    // A drive is cleared without the token, since no reads go to it yet.
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
    check_copies(&mut rig, shape.copies);
    rig.submit(Op::Flush, 0, 0, false);
    rig.rest();
    let mut rig = rig.cut(&[(lost + 1) % shape.drives as usize]);
    rig.until_ready();
    rig.settle();
    wrong(rig)
}

#[test]
fn a_drive_is_rebuilt_while_writes_go_on() {
    for shape in SHAPES {
        for seed in seeds(20) {
            let wrong = rebuild(shape, seed);
            assert!(wrong.is_empty(), "{shape:?}, seed {seed}: {wrong:#?}");
        }
    }
}

#[test]
fn what_is_corrupt_is_read_from_the_other_copy_and_repaired() {
    let mut rig = rig(&config(FOUR), 1);
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
    check_copies(&mut rig, 2);
    assert_eq!(wrong(rig), Vec::<String>::new());
}

#[test]
fn a_scrub_finds_what_is_wrong_while_writes_go_on() {
    for seed in seeds(10) {
        let mut rig = rig(&config(pairs(5, 3)), seed);
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
        check_copies(&mut rig, 2);
        assert_eq!(wrong(rig), Vec::<String>::new(), "seed {seed}");
    }
}

/// If descriptors cannot be read, recovery compares everything on the drive.
#[test]
fn a_lost_descriptor_loses_nothing() {
    for seed in seeds(40) {
        let mut rig = rig(&config(FOUR), seed);
        rig.work(60, 12);
        (0..rig.stream.below(30)).for_each(|_| _ = rig.step());
        let mut rig = rig.cut(&[]);
        let drive = seed as usize % 4;
        (2..DATA).for_each(|block| rig.drives[drive].corrupt(block));
        rig.watch = None;
        rig.until_ready();
        check_copies(&mut rig, 2);
        rig.settle();
        assert_eq!(wrong(rig), Vec::<String>::new(), "seed {seed}");
    }
}

/// A latent error in the only remaining copy: that block is lost, all others are rebuilt.
#[test]
fn a_drive_is_rebuilt_although_a_block_has_no_other_copy() {
    let mut rig = rig(&config(FOUR), 1);
    rig.submit(Op::Write, 0, 24, false);
    rig.rest();
    rig.drives[0].is_gone = true;
    (0..24).for_each(|block| rig.submit(Op::Read, block, 1, false));
    rig.rest();
    (DATA..DATA + 12).for_each(|block| rig.drives[1].corrupt(block));
    rig.watch = None;
    rig.replace(0);
    rig.rest();
    assert!(rig.array.epochs().expect("it has epochs").scrub_report().not_rebuilt > 0);
}

/// Two drives that share blocks fail one after the other and are replaced.
#[test]
fn with_three_copies_two_drives_are_rebuilt() {
    for shape in [triples(3, 3), triples(6, 3), triples(4, 4)] {
        for seed in seeds(20) {
            let mut rig = rig(&config(shape), seed);
            let first = seed as usize % shape.drives as usize;
            let second = (first + 1) % shape.drives as usize;
            rig.work(80, 10);
            for lost in [first, second] {
                rig.drives[lost].is_gone = true;
                rig.work(40, 10);
            }
            rig.rest();
            rig.watch = None;
            if !matches!(rig.array.condition(), Condition::Degraded { missing, .. } if missing.len() == 2) {
                continue;
            }
            rig.replace(first);
            rig.work(30, 10);
            rig.replace(second);
            rig.work(60, 10);
            if seed.is_multiple_of(3) {
                (0..rig.stream.below(60)).for_each(|_| _ = rig.step());
                rig = rig.cut(&[]);
                rig.until_ready();
                rig.settle();
            }
            rig.rest();
            assert_eq!(rig.array.condition(), Condition::Optimal, "{shape:?}, seed {seed}");
            check_copies(&mut rig, 3);
            assert_eq!(wrong(rig), Vec::<String>::new(), "{shape:?}, seed {seed}");
        }
    }
}

/// Two of three copies are correct: the majority wins, at any position.
#[test]
fn what_most_copies_say_counts() {
    for wrong_one in 0..3u64 {
        let mut rig = rig(&config(triples(3, 3)), 1);
        rig.submit(Op::Write, 0, 4, true);
        rig.rest();
        // Old content of this block with a valid guard: only the other copies reveal that it is stale.
        let (drive, block) = (wrong_one as usize, DATA + 4 * wrong_one);
        let right = rig.drives[drive].get(block);
        rig.submit(Op::Write, 0, 1, true);
        rig.rest();
        rig.drives[drive].plant(block, right);
        rig.scrub();
        rig.rest();
        let report = *rig.array.epochs().expect("it has epochs").scrub_report();
        assert_eq!((report.parity_mismatches, report.repaired, report.unrepairable), (1, 1, 0));
        check_copies(&mut rig, 3);
        rig.submit(Op::Read, 0, 4, false);
        rig.rest();
        assert_eq!(wrong(rig), Vec::<String>::new(), "{wrong_one}");
    }
}

/// One copy is corrupt and another unreadable: the third serves the read, and both are repaired.
#[test]
fn with_three_copies_two_may_be_corrupt() {
    let mut rig = rig(&config(triples(3, 3)), 1);
    rig.submit(Op::Write, 0, 12, true);
    rig.rest();
    for (drive, block) in [(0, DATA), (1, DATA + 4), (1, DATA + 1), (2, DATA + 5)] {
        rig.drives[drive].corrupt(block);
    }
    for _ in 0..3 {
        (0..12).for_each(|block| rig.submit(Op::Read, block, 1, false));
        rig.rest();
    }
    rig.scrub();
    rig.rest();
    let report = *rig.array.epochs().expect("it has epochs").scrub_report();
    assert_eq!((report.repaired + report.repaired_on_read, report.unrepairable), (4, 0));
    check_copies(&mut rig, 3);
    assert_eq!(wrong(rig), Vec::<String>::new());
}

#[test]
fn without_all_copies_nothing_is_promised_and_without_two_of_three_all_is() {
    let mut rig = rig(&config(triples(4, 4)), 1);
    rig.submit(Op::Write, 0, 24, false);
    rig.rest();
    (rig.drives[1].is_gone, rig.drives[2].is_gone) = (true, true);
    rig.work(60, 8);
    rig.rest();
    assert!(matches!(rig.array.condition(), Condition::Degraded { .. }));
    assert_eq!(wrong(rig), Vec::<String>::new());
}

#[test]
fn copies_need_groups() {
    let mut config = config(triples(3, 3));
    config.epoch.copies = 4;
    assert_eq!(config.problems().first().map(|(key, _)| *key), Some("groups"));
    (config.epoch.copies, config.drives) = (3, 4);
    assert_eq!(config.problems().first().map(|(key, _)| *key), Some("drives"));
}

#[test]
fn without_both_copies_nothing_is_promised() {
    let mut rig = rig(&config(FOUR), 1);
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
    let config = config(pairs(2, 2));
    let disk = crate::rig::disk();
    assert_eq!(config.validation_error(&[disk.clone(), disk.clone()]), None);
    let larger = tailcut_host::Disk { blocks: disk.blocks + 1, ..disk.clone() };
    assert_eq!(config.validation_error(&[disk.clone(), larger]).map(|(key, _)| key), Some("drives"));
    // The message about drives that are too small adds up.
    let small = tailcut_host::Disk { blocks: 20, ..disk };
    let (key, why) = config.validation_error(&[small.clone(), small]).expect("they are too small");
    let numbers: Vec<u64> = why.split(' ').filter_map(|word| word.parse().ok()).collect();
    let &[bytes, needed, slots, copies, chunk] = numbers.as_slice() else { panic!("{why}") };
    assert!(key == "epoch" && bytes == 20 * 4096 && needed > bytes, "{why}");
    let record = needed - slots - copies * chunk;
    assert!((4096..=16 * 4096).contains(&record) && record.is_multiple_of(4096), "{why}");
}
