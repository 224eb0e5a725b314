//! Block checksums of layouts that write in place, on drives that return wrong data with success: it must
//! never reach the host.

use crate::raid::harness::{Harness, config};
use crate::raid::workload::{LAYOUTS, seeds};
use tailcut_base::ids::Id;
use tailcut_base::{Nanos, Op, Status};
use tailcut_host::array::raid::WriteHole;
use tailcut_host::array::{ArrayConfig, Condition, DriveId, InPlaceChecksums, LayoutKind, ReadPolicy};
use tailcut_host::mutation::{Invariant, broken};
use tailcut_host::{Disk, Mirror};

/// With regions that become clean as soon as no write to them is in flight.
pub(super) fn checked(layout: LayoutKind, hole: WriteHole) -> ArrayConfig {
    let mut config = config(layout, 4);
    config.raid.write_hole = hole;
    (config.checksums, config.checksums_idle) = (InPlaceChecksums::On, Nanos::micros(10));
    assert!(config.problems().is_empty(), "{:?}", config.problems());
    config
}

/// An array on drives without protection information.
pub(super) fn unsealed(config: &ArrayConfig, seed: u64) -> Harness {
    let mut harness = Harness::new(config, seed);
    harness.drives.iter_mut().for_each(|drive| drive.is_unsealed = true);
    harness
}

/// An array with all blocks written and all regions clean.
fn full(config: &ArrayConfig, seed: u64) -> Harness {
    let mut harness = unsealed(config, seed);
    let all = harness.array.disk().blocks;
    harness.submit(Op::Write, 0, all as u32, false);
    harness.work(150, 16);
    harness.submit(Op::Flush, 0, 0, false);
    harness.rest();
    harness
}

/// Flips a bit in every third block that the layout uses on a drive; returns the number of blocks.
fn spoil(harness: &mut Harness, drive: usize) -> u64 {
    let (start, chunk) = (harness.data_start(), harness.config.raid.chunk_blocks());
    let blocks = (start..start + (harness.data_end() - start) / chunk * chunk).step_by(3);
    let count = blocks.clone().count() as u64;
    blocks.for_each(|block| harness.drives[drive].corrupt(block));
    count
}

/// Reads every block; returns the numbers of wrong blocks and of errors.
pub(super) fn wrong_and_errors(harness: &mut Harness) -> (u64, u64) {
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

/// Corrupt blocks are detected, and repaired if the layout has parity.
fn is_found(harness: &mut Harness, what: &str) {
    let is_redundant = harness.config.layout.is_redundant();
    let (wrong, errors) = wrong_and_errors(harness);
    assert_eq!((wrong, errors > 0), (0, !is_redundant), "{what}: {errors} errors");
    if !is_redundant {
        return;
    }
    harness.rest();
    let corrupt = |harness: &Harness| harness.array.core().reads.counts().corrupt;
    let found = corrupt(harness);
    assert_eq!((wrong_and_errors(harness), corrupt(harness)), ((0, 0), found), "{what}: rewritten");
    // Only a scrub reads parity.
    harness.scrub();
    harness.rest();
    assert!(corrupt(harness) > 0, "{what}");
    assert_eq!(harness.array.raid().expect("it is").scrub_report().unrepairable, 0, "{what}");
    harness.check_parity();
    harness.is_right();
}

fn unknown(harness: &Harness) -> usize {
    let integrity = harness.array.core().drives.integrity().expect("it keeps checksums");
    (0..harness.drives.len()).map(|drive| integrity.dirty(DriveId::at(drive))).sum()
}

fn damaged(harness: &Harness) -> u64 {
    harness.array.core().drives.integrity().expect("it keeps checksums").damaged()
}

/// Cuts power and reopens the array.
fn reopen(harness: Harness) -> Harness {
    let mut harness = harness.cut(&[]);
    harness.until_ready();
    harness.rest();
    harness
}

#[test]
fn a_wrong_block_is_computed_from_its_stripe_or_an_error() {
    for layout in LAYOUTS {
        for hole in [WriteHole::Journal, WriteHole::Resync] {
            let mut harness = full(&checked(layout, hole), 1);
            assert!(spoil(&mut harness, 1) > 5);
            is_found(&mut harness, &format!("{layout} {hole}"));
        }
    }
}

#[test]
fn without_checksums_a_wrong_block_is_served() {
    for layout in LAYOUTS {
        let mut config = checked(layout, WriteHole::Journal);
        config.checksums = InPlaceChecksums::Off;
        let mut harness = full(&config, 1);
        assert!(harness.array.core().drives.integrity().is_none());
        spoil(&mut harness, 1);
        let (wrong, errors) = wrong_and_errors(&mut harness);
        assert!(wrong > 0 && errors == 0, "{layout}");
    }
}

/// The setting at opening does not matter: the superblock holds the one from creation.
#[test]
fn checksums_of_an_array_at_rest_survive_a_power_cut() {
    for layout in LAYOUTS {
        for seed in seeds(6) {
            let mut harness = full(&checked(layout, WriteHole::Journal), seed);
            assert_eq!(unknown(&harness), 0);
            harness.config.checksums = InPlaceChecksums::Off;
            let drive = seed as usize % 4;
            spoil(&mut harness, drive);
            let mut harness = reopen(harness);
            assert_eq!(damaged(&harness), 0);
            is_found(&mut harness, &format!("{layout} seed {seed}"));
        }
    }
}

#[test]
fn a_write_that_was_lost_or_went_elsewhere_is_found() {
    let mut harness = full(&checked(LayoutKind::Raid5, WriteHole::Journal), 1);
    let start = harness.data_start();
    let (old, other) = (harness.drives[2].get(start), harness.drives[2].get(start + 7));
    let all = harness.array.disk().blocks;
    harness.submit(Op::Write, 0, all as u32, false);
    harness.rest();
    harness.drives[2].plant(start, old);
    harness.drives[2].plant(start + 3, other);
    is_found(&mut harness, "an older version, and another block");
}

/// Two corrupt blocks of a stripe are an error; a partial write of the stripe does not make either count as
/// correct.
#[test]
fn more_than_can_be_made_up_for_is_an_error() {
    let mut harness = full(&checked(LayoutKind::Raid5, WriteHole::Journal), 1);
    let start = harness.data_start();
    harness.drives[0].corrupt(start);
    harness.drives[1].corrupt(start);
    harness.may_fail = true;
    let all = harness.array.disk().blocks;
    for block in 0..all {
        harness.submit(Op::Read, block, 1, false);
        harness.rest();
    }
    harness.is_right();
    assert!(
        !harness.failed.is_empty()
            && harness.failed.iter().all(|failed| *failed == (Op::Read, Status::MediaError))
    );
}

/// Cuts power in the middle of random work. Reads must return correct data, and correct data must never count
/// as corrupt. Returns all violations.
fn random_cut(layout: LayoutKind, hole: WriteHole, seed: u64) -> Vec<String> {
    let mut config = checked(layout, hole);
    config.checksums_idle = Nanos::micros([10, 50, 300][seed as usize % 3]);
    let is_taken = seed % 4 == 1;
    config.reads = if is_taken { ReadPolicy::FailFast } else { config.reads };
    let mut harness = unsealed(&config, seed);
    harness.drives.iter_mut().for_each(|drive| drive.is_often_taken = is_taken);
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
        harness.settle();
    }
    harness.work(50, 8);
    harness.rest();
    harness.check_parity();
    corrupt += harness.array.core().reads.counts().corrupt;
    if corrupt > 0 {
        harness.wrong.push(format!("{corrupt} reads of what was right counted as wrong"));
    }
    harness.wrong
}

#[test]
fn power_cuts_make_no_right_block_wrong() {
    for layout in LAYOUTS {
        for hole in [WriteHole::Journal, WriteHole::Resync] {
            for seed in seeds(30) {
                let wrong = random_cut(layout, hole, seed);
                assert!(wrong.is_empty(), "{layout} {hole} seed {seed}: {wrong:#?}");
            }
        }
    }
}

/// Writes to a clean array and cuts power after `steps` events; None if the writes finished earlier.
fn script(layout: LayoutKind, steps: u64, seed: u64) -> Option<Vec<String>> {
    let mut harness = full(&checked(layout, WriteHole::Journal), seed);
    harness.submit(Op::Write, 1, 1, false);
    harness.submit(Op::Write, 2, 5, true);
    harness.submit(Op::Trim, 6, 1, false);
    harness.submit(Op::Write, 1, 2, false);
    for _ in 0..steps {
        if !harness.step() {
            return None;
        }
    }
    let mut harness = harness.cut(&[]);
    harness.until_ready();
    harness.settle();
    harness.rest();
    let corrupt = harness.array.core().reads.counts().corrupt;
    if corrupt > 0 {
        harness.wrong.push(format!("{corrupt} reads of what was right counted as wrong"));
    }
    Some(harness.wrong)
}

#[test]
fn a_power_cut_at_every_step_of_a_write_to_an_array_at_rest_makes_no_right_block_wrong() {
    for layout in LAYOUTS {
        for seed in seeds(3) {
            let mut steps = 0;
            while let Some(wrong) = script(layout, steps, seed) {
                assert!(wrong.is_empty(), "{layout} seed {seed} step {steps}: {wrong:#?}");
                steps += 1;
            }
            assert!(steps > 15, "{steps}");
        }
    }
}

/// After a power cut, the checksums of regions that were being written are unknown until a scrub recomputes
/// them. Those of clean regions stay known.
#[test]
fn only_regions_that_were_being_written_are_unknown() {
    let disk = Disk { blocks: 2042 + 3 + 2, ..crate::raid::harness::disk() };
    let mut config = checked(LayoutKind::Raid5, WriteHole::Journal);
    config.checksums_idle = Nanos::secs(1);
    let mut harness = Harness::on(&disk, &config, 1);
    harness.drives.iter_mut().for_each(|drive| drive.is_unsealed = true);
    let all = harness.array.disk().blocks;
    (0..all).step_by(100).for_each(|block| {
        harness.submit(Op::Write, block, (all - block).min(100) as u32, false);
        harness.rest();
    });
    // Not clean, but durable.
    harness.submit(Op::Write, 0, 30, true);
    while harness.in_flight() > 0 {
        harness.step();
    }
    assert!(unknown(&harness) >= 3);
    let start = harness.data_start();
    let mut harness = reopen(harness);
    harness.drives[1].corrupt(start + 1990);
    harness.scrub();
    harness.rest();
    let report = *harness.array.raid().expect("it is").scrub_report();
    assert_eq!((report.corrupt_blocks, report.repaired, report.unrepairable), (1, 1, 0));
    assert_eq!(unknown(&harness), 0);
    harness.drives[1].corrupt(start);
    harness.drives[1].corrupt(start + 1991);
    is_found(&mut harness, "known by a scrub");
}

/// Damage in the checksum area makes checksums unknown; correct data never counts as corrupt.
#[test]
fn a_damaged_area_makes_checksums_unknown() {
    for layout in LAYOUTS {
        for of_area in 0..2 {
            let mut harness = full(&checked(layout, WriteHole::Journal), 3);
            let block = harness.data_end() + of_area;
            harness.drives[1].corrupt(block);
            let mut harness = reopen(harness);
            assert_eq!(damaged(&harness), 1, "{layout} block {of_area}");
            assert_eq!(wrong_and_errors(&mut harness), (0, 0));
            assert_eq!(harness.array.core().reads.counts().corrupt, 0);
            // The damaged block of the area has been rewritten.
            let mut harness = reopen(harness);
            assert_eq!((damaged(&harness), wrong_and_errors(&mut harness)), (0, (0, 0)));
            let start = harness.data_start();
            harness.drives[2].corrupt(start);
            is_found(&mut harness, "of another drive");
        }
    }
}

/// A replacement drive starts without checksums and soon has them for all data written to it.
#[test]
fn a_drive_that_was_rebuilt_has_checksums() {
    for layout in [LayoutKind::Raid4, LayoutKind::Raid5] {
        for seed in seeds(6) {
            let mut harness = full(&checked(layout, WriteHole::Journal), seed);
            let lost = seed as usize % 4;
            harness.drives[lost].is_gone = true;
            harness.work(100, 16);
            harness.rest();
            harness.replace(lost);
            harness.work(100, 16);
            if seed % 2 == 1 {
                (0..seed * 5).for_each(|_| _ = harness.step());
                harness = harness.cut(&[]);
                harness.until_ready();
                harness.settle();
                harness.rest();
                // Nothing is known about a region that was being written.
                harness.scrub();
            }
            harness.rest();
            assert_eq!(harness.array.condition(), Condition::Optimal);
            assert_eq!(harness.array.core().reads.counts().corrupt, 0, "{layout} seed {seed}");
            assert_eq!(unknown(&harness), 0);
            let mut harness = reopen(harness);
            spoil(&mut harness, lost);
            is_found(&mut harness, &format!("{layout} seed {seed}"));
        }
    }
}

/// A lost drive's data is reconstructed from correct blocks, or the read fails.
#[test]
fn a_rebuild_copies_nothing_that_is_wrong() {
    let mut harness = full(&checked(LayoutKind::Raid5, WriteHole::Journal), 1);
    spoil(&mut harness, 1);
    harness.drives[0].is_gone = true;
    harness.submit(Op::Flush, 0, 0, false);
    harness.rest();
    harness.replace(0);
    harness.rest();
    assert!(harness.array.raid().expect("it is").scrub_report().not_rebuilt > 0);
    let mut harness = reopen(harness);
    let (wrong, errors) = wrong_and_errors(&mut harness);
    assert!(wrong == 0 && errors > 0);
}

/// Before closing, an array writes all its checksums, even if the idle time of regions is long.
#[test]
fn an_array_comes_to_rest_before_it_is_closed() {
    let mut config = checked(LayoutKind::Raid5, WriteHole::Journal);
    config.checksums_idle = Nanos::secs(3600);
    let mut harness = unsealed(&config, 1);
    let all = harness.array.disk().blocks;
    harness.submit(Op::Write, 0, all as u32, true);
    while harness.in_flight() > 0 {
        harness.step();
    }
    assert!(unknown(&harness) > 0);
    while !harness.array.come_to_rest(harness.now) {
        assert!(harness.step() && harness.now.0 < 1_000_000_000, "at once");
    }
    let mut harness = reopen(harness);
    spoil(&mut harness, 3);
    is_found(&mut harness, "closed");
}

/// Timing-only runs also keep checksums.
#[test]
fn arrays_without_a_record_write_the_same_area() {
    let mut harness = Harness::fresh(&checked(LayoutKind::Raid5, WriteHole::Journal), 1);
    harness.work(200, 16);
    harness.rest();
    harness.is_right();
    let integrity = harness.array.core().drives.integrity().expect("it keeps checksums");
    assert!(integrity.marked() > 4 && integrity.cleaned() >= 4);
}

#[test]
fn only_layouts_that_write_in_place_have_them() {
    let mut config = config(LayoutKind::Raid5, 4);
    config.layout = LayoutKind::LogRaid5;
    config.checksums = InPlaceChecksums::On;
    let problems = config.problems();
    assert!(
        problems.iter().any(|(key, why)| *key == "checksums" && why.contains("log.checksums")),
        "{problems:?}"
    );
}

/// True if breaking the rule causes a violation that does not occur otherwise.
fn is_noticed(rule: Invariant, run: impl Fn(u64) -> Vec<String> + std::panic::RefUnwindSafe) -> bool {
    let noticed = (0..40).find(|&seed| {
        let wrong = std::panic::catch_unwind(|| broken(rule, || run(seed)));
        wrong.is_err() || wrong.is_ok_and(|wrong| !wrong.is_empty())
    });
    noticed.is_some_and(|seed| run(seed).is_empty())
}

#[test]
fn broken_rules_are_noticed() {
    let steps = |seed| {
        let wrong = (0..40).filter_map(|steps| script(LayoutKind::Raid5, steps, seed));
        wrong.into_iter().find(|wrong| !wrong.is_empty()).unwrap_or_default()
    };
    assert!(is_noticed(Invariant::DirtyBeforeWrite, steps), "a write before its mark");
    assert!(
        is_noticed(Invariant::DataBeforeClean, |seed| random_cut(
            LayoutKind::Raid0,
            WriteHole::Journal,
            seed
        )),
        "a mark before its data"
    );
    assert!(is_noticed(Invariant::ChecksumsAreCompared, |_| {
        let mut harness = full(&checked(LayoutKind::Raid5, WriteHole::Journal), 1);
        spoil(&mut harness, 1);
        vec![String::from("wrong"); wrong_and_errors(&mut harness).0 as usize]
    }));
}
