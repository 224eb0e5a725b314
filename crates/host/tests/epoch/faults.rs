//! Drives that fail, are replaced, or return wrong data.

use crate::epoch::bench::{
    DATA, FOUR, SHAPES, Shape, check_copies, config, harness, pairs, seeds, triples, wrong,
};
use tailcut_base::Op;
use tailcut_base::ids::Id;
use tailcut_host::array::Condition;
use tailcut_host::array::DriveId;

/// Loses a drive under load and replaces it while writes continue. Returns all violations.
pub(super) fn rebuild(shape: Shape, seed: u64) -> Vec<String> {
    let mut harness = harness(&config(shape), seed);
    harness.work(80, 10);
    let lost = seed as usize % shape.drives as usize;
    harness.drives[lost].is_gone = true;
    harness.work(60, 10);
    harness.rest();
    if harness.array.condition() == Condition::Optimal {
        return Vec::new();
    }
    assert_eq!(
        harness.array.condition(),
        Condition::Degraded { missing: vec![DriveId::at(lost)], rebuilding: vec![] }
    );
    // A drive is cleared without the token, since no reads go to it yet.
    harness.watch = None;
    harness.replace(lost);
    harness.work(80, 10);
    if seed.is_multiple_of(3) {
        (0..harness.stream.below(60)).for_each(|_| _ = harness.step());
        harness = harness.cut(&[]);
        harness.until_ready();
        harness.settle();
        harness.work(30, 10);
    }
    harness.rest();
    assert_eq!(harness.array.condition(), Condition::Optimal);
    check_copies(&mut harness, shape.copies);
    harness.submit(Op::Flush, 0, 0, false);
    harness.rest();
    let mut harness = harness.cut(&[(lost + 1) % shape.drives as usize]);
    harness.until_ready();
    harness.settle();
    wrong(harness)
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
    let mut harness = harness(&config(FOUR), 1);
    harness.submit(Op::Write, 0, 24, false);
    harness.rest();
    for (drive, block) in [(0, DATA), (1, DATA + 1), (2, DATA + 3), (3, DATA + 4)] {
        harness.drives[drive].corrupt(block);
    }
    for _ in 0..2 {
        (0..24).for_each(|block| harness.submit(Op::Read, block, 1, false));
        harness.submit(Op::Read, 0, 24, false);
        harness.rest();
    }
    harness.scrub();
    harness.rest();
    let report = *harness.array.epochs().expect("it has epochs").scrub_report();
    assert!(harness.array.core().reads.counts().repaired > 0);
    assert_eq!(report.unrepairable, 0);
    harness.scrub();
    harness.rest();
    assert_eq!(harness.array.epochs().expect("it has epochs").scrub_report().corrupt_blocks, 0);
    check_copies(&mut harness, 2);
    assert_eq!(wrong(harness), Vec::<String>::new());
}

#[test]
fn a_scrub_finds_what_is_wrong_while_writes_go_on() {
    for seed in seeds(10) {
        let mut harness = harness(&config(pairs(5, 3)), seed);
        harness.work(60, 10);
        harness.rest();
        for block in 0..6 {
            harness.drives[(seed % 5) as usize].corrupt(DATA + 3 * block);
        }
        harness.scrub();
        harness.work(100, 10);
        harness.rest();
        harness.scrub();
        harness.rest();
        let report = harness.array.epochs().expect("it has epochs").scrub_report();
        assert_eq!((report.corrupt_blocks, report.unrepairable, report.parity_mismatches), (0, 0, 0));
        check_copies(&mut harness, 2);
        assert_eq!(wrong(harness), Vec::<String>::new(), "seed {seed}");
    }
}

/// If descriptors cannot be read, recovery compares everything on the drive.
#[test]
fn a_lost_descriptor_loses_nothing() {
    for seed in seeds(40) {
        let mut harness = harness(&config(FOUR), seed);
        harness.work(60, 12);
        (0..harness.stream.below(30)).for_each(|_| _ = harness.step());
        let mut harness = harness.cut(&[]);
        let drive = seed as usize % 4;
        (2..DATA).for_each(|block| harness.drives[drive].corrupt(block));
        harness.watch = None;
        harness.until_ready();
        check_copies(&mut harness, 2);
        harness.settle();
        assert_eq!(wrong(harness), Vec::<String>::new(), "seed {seed}");
    }
}

/// A latent error in the only remaining copy: that block is lost, all others are rebuilt.
#[test]
fn a_drive_is_rebuilt_although_a_block_has_no_other_copy() {
    let mut harness = harness(&config(FOUR), 1);
    harness.submit(Op::Write, 0, 24, false);
    harness.rest();
    harness.drives[0].is_gone = true;
    (0..24).for_each(|block| harness.submit(Op::Read, block, 1, false));
    harness.rest();
    (DATA..DATA + 12).for_each(|block| harness.drives[1].corrupt(block));
    harness.watch = None;
    harness.replace(0);
    harness.rest();
    assert!(harness.array.epochs().expect("it has epochs").scrub_report().not_rebuilt > 0);
}

/// Two drives that share blocks fail one after the other and are replaced.
#[test]
fn with_three_copies_two_drives_are_rebuilt() {
    for shape in [triples(3, 3), triples(6, 3), triples(4, 4)] {
        for seed in seeds(20) {
            let mut harness = harness(&config(shape), seed);
            let first = seed as usize % shape.drives as usize;
            let second = (first + 1) % shape.drives as usize;
            harness.work(80, 10);
            for lost in [first, second] {
                harness.drives[lost].is_gone = true;
                harness.work(40, 10);
            }
            harness.rest();
            harness.watch = None;
            if !matches!(harness.array.condition(), Condition::Degraded { missing, .. } if missing.len() == 2)
            {
                continue;
            }
            harness.replace(first);
            harness.work(30, 10);
            harness.replace(second);
            harness.work(60, 10);
            if seed.is_multiple_of(3) {
                (0..harness.stream.below(60)).for_each(|_| _ = harness.step());
                harness = harness.cut(&[]);
                harness.until_ready();
                harness.settle();
            }
            harness.rest();
            assert_eq!(harness.array.condition(), Condition::Optimal, "{shape:?}, seed {seed}");
            check_copies(&mut harness, 3);
            assert_eq!(wrong(harness), Vec::<String>::new(), "{shape:?}, seed {seed}");
        }
    }
}

/// Two of three copies are correct: the majority wins, at any position.
#[test]
fn what_most_copies_say_counts() {
    for wrong_one in 0..3u64 {
        let mut harness = harness(&config(triples(3, 3)), 1);
        harness.submit(Op::Write, 0, 4, true);
        harness.rest();
        // Old content of this block with a valid guard: only the other copies reveal that it is stale.
        let (drive, block) = (wrong_one as usize, DATA + 4 * wrong_one);
        let right = harness.drives[drive].get(block);
        harness.submit(Op::Write, 0, 1, true);
        harness.rest();
        harness.drives[drive].plant(block, right);
        harness.scrub();
        harness.rest();
        let report = *harness.array.epochs().expect("it has epochs").scrub_report();
        assert_eq!((report.parity_mismatches, report.repaired, report.unrepairable), (1, 1, 0));
        check_copies(&mut harness, 3);
        harness.submit(Op::Read, 0, 4, false);
        harness.rest();
        assert_eq!(wrong(harness), Vec::<String>::new(), "{wrong_one}");
    }
}

/// A block that can be compared with nothing is not checked only if a member is missing.
#[test]
fn a_scrub_counts_blocks_without_a_second_copy() {
    let report = |is_lost: bool| {
        let mut harness = harness(&config(pairs(3, 3)), 1);
        harness.submit(Op::Write, 0, 6, true);
        harness.rest();
        harness.drives[0].corrupt(DATA);
        harness.drives[1].is_gone = is_lost;
        harness.scrub();
        harness.rest();
        *harness.array.epochs().expect("it has epochs").scrub_report()
    };
    let whole = report(false);
    assert_eq!((whole.not_compared, whole.corrupt_blocks, whole.repaired), (0, 1, 1), "{whole:?}");
    let degraded = report(true);
    assert!(degraded.not_compared > 0, "{degraded:?}");
}

/// One copy is corrupt and another unreadable: the third serves the read, and both are repaired.
#[test]
fn with_three_copies_two_may_be_corrupt() {
    let mut harness = harness(&config(triples(3, 3)), 1);
    harness.submit(Op::Write, 0, 12, true);
    harness.rest();
    for (drive, block) in [(0, DATA), (1, DATA + 4), (1, DATA + 1), (2, DATA + 5)] {
        harness.drives[drive].corrupt(block);
    }
    for _ in 0..3 {
        (0..12).for_each(|block| harness.submit(Op::Read, block, 1, false));
        harness.rest();
    }
    harness.scrub();
    harness.rest();
    let report = *harness.array.epochs().expect("it has epochs").scrub_report();
    assert_eq!((harness.array.core().reads.counts().repaired, report.unrepairable), (4, 0));
    check_copies(&mut harness, 3);
    assert_eq!(wrong(harness), Vec::<String>::new());
}

#[test]
fn without_all_copies_nothing_is_promised_and_without_two_of_three_all_is() {
    let mut harness = harness(&config(triples(4, 4)), 1);
    harness.submit(Op::Write, 0, 24, false);
    harness.rest();
    (harness.drives[1].is_gone, harness.drives[2].is_gone) = (true, true);
    harness.work(60, 8);
    harness.rest();
    assert!(matches!(harness.array.condition(), Condition::Degraded { .. }));
    assert_eq!(wrong(harness), Vec::<String>::new());
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
    let mut harness = harness(&config(FOUR), 1);
    harness.submit(Op::Write, 0, 24, false);
    harness.rest();
    (harness.drives[0].is_gone, harness.drives[1].is_gone, harness.may_fail) = (true, true, true);
    harness.submit(Op::Write, 0, 24, true);
    harness.submit(Op::Flush, 0, 0, false);
    harness.rest();
    assert!(matches!(harness.array.condition(), Condition::Failed { .. }));
    assert!(
        harness.failed.iter().any(|&(op, _)| op == Op::Write)
            && harness.failed.iter().any(|&(op, _)| op == Op::Flush)
    );
    let before = harness.failed.len();
    harness.submit(Op::Write, 0, 1, false);
    harness.submit(Op::Flush, 0, 0, false);
    harness.submit(Op::Read, 0, 1, false);
    harness.rest();
    assert_eq!(harness.failed.len(), before + 3);
}

/// The ring of a lost drive starts anew: no copy releases a slot of the old one, even if no drive is left to
/// record the loss.
#[test]
fn all_drives_fail_one_after_the_other() {
    for seed in seeds(100) {
        let mut harness = harness(&config(pairs(2, 2)), seed);
        harness.may_fail = true;
        harness.work(60, 10);
        for lost in [seed as usize % 2, 1 - seed as usize % 2] {
            (0..harness.stream.below(60)).for_each(|_| _ = harness.step());
            harness.drives[lost].is_gone = true;
            harness.work(20, 10);
        }
        harness.rest();
        assert!(matches!(harness.array.condition(), Condition::Failed { .. }), "seed {seed}");
    }
}

#[test]
fn unequal_drives_are_refused() {
    let config = config(pairs(2, 2));
    let disk = crate::raid::harness::disk();
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
