//! Block checksums of layouts that write in place, on drives that return wrong data with success: it must
//! never reach the host.

use crate::rig::{Rig, config};
use crate::workload::{LAYOUTS, seeds};
use tailcut_base::ids::Id;
use tailcut_base::{Nanos, Op, Status};
use tailcut_host::array::raid::WriteHole;
use tailcut_host::array::{ArrayConfig, Condition, DriveId, InPlaceChecksums, LayoutKind, ReadPolicy};
use tailcut_host::planted::{Rule, broken};
use tailcut_host::{Disk, Mirror};

/// With regions that become clean as soon as no write to them is in flight.
pub fn checked(layout: LayoutKind, hole: WriteHole) -> ArrayConfig {
    let mut config = config(layout, 4);
    config.raid.write_hole = hole;
    (config.checksums, config.checksums_idle) = (InPlaceChecksums::On, Nanos::micros(10));
    assert!(config.problems().is_empty(), "{:?}", config.problems());
    config
}

/// An array on drives without protection information.
pub fn unsealed(config: &ArrayConfig, seed: u64) -> Rig {
    let mut rig = Rig::new(config, seed);
    rig.drives.iter_mut().for_each(|drive| drive.is_unsealed = true);
    rig
}

/// An array with all blocks written and all regions clean.
fn full(config: &ArrayConfig, seed: u64) -> Rig {
    let mut rig = unsealed(config, seed);
    let all = rig.array.disk().blocks;
    rig.submit(Op::Write, 0, all as u32, false);
    rig.work(150, 16);
    rig.submit(Op::Flush, 0, 0, false);
    rig.rest();
    rig
}

/// Flips a bit in every third block that the layout uses on a drive; returns the number of blocks.
fn spoil(rig: &mut Rig, drive: usize) -> u64 {
    let (start, chunk) = (rig.data_start(), rig.config.raid.chunk_blocks());
    let blocks = (start..start + (rig.data_end() - start) / chunk * chunk).step_by(3);
    let count = blocks.clone().count() as u64;
    blocks.for_each(|block| rig.drives[drive].corrupt(block));
    count
}

/// Reads every block; returns the numbers of wrong blocks and of errors.
pub fn wrong_and_errors(rig: &mut Rig) -> (u64, u64) {
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

/// Corrupt blocks are detected, and repaired if the layout has parity.
fn is_found(rig: &mut Rig, what: &str) {
    let is_redundant = rig.config.layout.is_redundant();
    let (wrong, errors) = wrong_and_errors(rig);
    assert_eq!((wrong, errors > 0), (0, !is_redundant), "{what}: {errors} errors");
    if !is_redundant {
        return;
    }
    rig.rest();
    let corrupt = |rig: &Rig| rig.array.core().reads.counts().corrupt;
    let found = corrupt(rig);
    assert_eq!((wrong_and_errors(rig), corrupt(rig)), ((0, 0), found), "{what}: rewritten");
    // Only a scrub reads parity.
    rig.scrub();
    rig.rest();
    assert!(corrupt(rig) > 0, "{what}");
    assert_eq!(rig.array.raid().expect("it is").scrub_report().unrepairable, 0, "{what}");
    rig.check_parity();
    rig.is_right();
}

fn unknown(rig: &Rig) -> usize {
    let integrity = rig.array.core().drives.integrity().expect("it keeps checksums");
    (0..rig.drives.len()).map(|drive| integrity.dirty(DriveId::at(drive))).sum()
}

fn damaged(rig: &Rig) -> u64 {
    rig.array.core().drives.integrity().expect("it keeps checksums").damaged()
}

/// Cuts power and reopens the array.
fn reopen(rig: Rig) -> Rig {
    let mut rig = rig.cut(&[]);
    rig.until_ready();
    rig.rest();
    rig
}

#[test]
fn a_wrong_block_is_computed_from_its_stripe_or_an_error() {
    for layout in LAYOUTS {
        for hole in [WriteHole::Journal, WriteHole::Resync] {
            let mut rig = full(&checked(layout, hole), 1);
            assert!(spoil(&mut rig, 1) > 5);
            is_found(&mut rig, &format!("{layout} {hole}"));
        }
    }
}

#[test]
fn without_checksums_a_wrong_block_is_served() {
    for layout in LAYOUTS {
        let mut config = checked(layout, WriteHole::Journal);
        config.checksums = InPlaceChecksums::Off;
        let mut rig = full(&config, 1);
        assert!(rig.array.core().drives.integrity().is_none());
        spoil(&mut rig, 1);
        let (wrong, errors) = wrong_and_errors(&mut rig);
        assert!(wrong > 0 && errors == 0, "{layout}");
    }
}

/// The setting at opening does not matter: the superblock holds the one from creation.
#[test]
fn checksums_of_an_array_at_rest_survive_a_power_cut() {
    for layout in LAYOUTS {
        for seed in seeds(6) {
            let mut rig = full(&checked(layout, WriteHole::Journal), seed);
            assert_eq!(unknown(&rig), 0);
            rig.config.checksums = InPlaceChecksums::Off;
            let drive = seed as usize % 4;
            spoil(&mut rig, drive);
            let mut rig = reopen(rig);
            assert_eq!(damaged(&rig), 0);
            is_found(&mut rig, &format!("{layout} seed {seed}"));
        }
    }
}

#[test]
fn a_write_that_was_lost_or_went_elsewhere_is_found() {
    let mut rig = full(&checked(LayoutKind::Raid5, WriteHole::Journal), 1);
    let start = rig.data_start();
    let (old, other) = (rig.drives[2].get(start), rig.drives[2].get(start + 7));
    let all = rig.array.disk().blocks;
    rig.submit(Op::Write, 0, all as u32, false);
    rig.rest();
    rig.drives[2].plant(start, old);
    rig.drives[2].plant(start + 3, other);
    is_found(&mut rig, "an older version, and another block");
}

/// Two corrupt blocks of a stripe are an error; a partial write of the stripe does not make either count as
/// correct.
#[test]
fn more_than_can_be_made_up_for_is_an_error() {
    let mut rig = full(&checked(LayoutKind::Raid5, WriteHole::Journal), 1);
    let start = rig.data_start();
    rig.drives[0].corrupt(start);
    rig.drives[1].corrupt(start);
    rig.may_fail = true;
    let all = rig.array.disk().blocks;
    for block in 0..all {
        rig.submit(Op::Read, block, 1, false);
        rig.rest();
    }
    rig.is_right();
    assert!(
        !rig.failed.is_empty() && rig.failed.iter().all(|failed| *failed == (Op::Read, Status::MediaError))
    );
}

/// Cuts power in the middle of random work. Reads must return correct data, and correct data must never count
/// as corrupt. Returns all violations.
fn random_cut(layout: LayoutKind, hole: WriteHole, seed: u64) -> Vec<String> {
    let mut config = checked(layout, hole);
    config.checksums_idle = Nanos::micros([10, 50, 300][seed as usize % 3]);
    let is_taken = seed % 4 == 1;
    config.reads = if is_taken { ReadPolicy::FailFast } else { config.reads };
    let mut rig = unsealed(&config, seed);
    rig.drives.iter_mut().for_each(|drive| drive.is_often_taken = is_taken);
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
        rig.settle();
    }
    rig.work(50, 8);
    rig.rest();
    rig.check_parity();
    corrupt += rig.array.core().reads.counts().corrupt;
    if corrupt > 0 {
        rig.wrong.push(format!("{corrupt} reads of what was right counted as wrong"));
    }
    rig.wrong
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
    let mut rig = full(&checked(layout, WriteHole::Journal), seed);
    rig.submit(Op::Write, 1, 1, false);
    rig.submit(Op::Write, 2, 5, true);
    rig.submit(Op::Trim, 6, 1, false);
    rig.submit(Op::Write, 1, 2, false);
    for _ in 0..steps {
        if !rig.step() {
            return None;
        }
    }
    let mut rig = rig.cut(&[]);
    rig.until_ready();
    rig.settle();
    rig.rest();
    let corrupt = rig.array.core().reads.counts().corrupt;
    if corrupt > 0 {
        rig.wrong.push(format!("{corrupt} reads of what was right counted as wrong"));
    }
    Some(rig.wrong)
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
    let disk = Disk { blocks: 2042 + 3 + 2, ..crate::rig::disk() };
    let mut config = checked(LayoutKind::Raid5, WriteHole::Journal);
    config.checksums_idle = Nanos::secs(1);
    let mut rig = Rig::on(&disk, &config, 1);
    rig.drives.iter_mut().for_each(|drive| drive.is_unsealed = true);
    let all = rig.array.disk().blocks;
    (0..all).step_by(100).for_each(|block| {
        rig.submit(Op::Write, block, (all - block).min(100) as u32, false);
        rig.rest();
    });
    // Not clean, but durable.
    rig.submit(Op::Write, 0, 30, true);
    while rig.in_flight() > 0 {
        rig.step();
    }
    assert!(unknown(&rig) >= 3);
    let start = rig.data_start();
    let mut rig = reopen(rig);
    rig.drives[1].corrupt(start + 1990);
    rig.scrub();
    rig.rest();
    let report = *rig.array.raid().expect("it is").scrub_report();
    assert_eq!((report.corrupt_blocks, report.repaired, report.unrepairable), (1, 1, 0));
    assert_eq!(unknown(&rig), 0);
    rig.drives[1].corrupt(start);
    rig.drives[1].corrupt(start + 1991);
    is_found(&mut rig, "known by a scrub");
}

/// Damage in the checksum area makes checksums unknown; correct data never counts as corrupt.
#[test]
fn a_damaged_area_makes_checksums_unknown() {
    for layout in LAYOUTS {
        for of_area in 0..2 {
            let mut rig = full(&checked(layout, WriteHole::Journal), 3);
            let block = rig.data_end() + of_area;
            rig.drives[1].corrupt(block);
            let mut rig = reopen(rig);
            assert_eq!(damaged(&rig), 1, "{layout} block {of_area}");
            assert_eq!(wrong_and_errors(&mut rig), (0, 0));
            assert_eq!(rig.array.core().reads.counts().corrupt, 0);
            // The damaged block of the area has been rewritten.
            let mut rig = reopen(rig);
            assert_eq!((damaged(&rig), wrong_and_errors(&mut rig)), (0, (0, 0)));
            let start = rig.data_start();
            rig.drives[2].corrupt(start);
            is_found(&mut rig, "of another drive");
        }
    }
}

/// A replacement drive starts without checksums and soon has them for all data written to it.
#[test]
fn a_drive_that_was_rebuilt_has_checksums() {
    for layout in [LayoutKind::Raid4, LayoutKind::Raid5] {
        for seed in seeds(6) {
            let mut rig = full(&checked(layout, WriteHole::Journal), seed);
            let lost = seed as usize % 4;
            rig.drives[lost].is_gone = true;
            rig.work(100, 16);
            rig.rest();
            rig.replace(lost);
            rig.work(100, 16);
            if seed % 2 == 1 {
                (0..seed * 5).for_each(|_| _ = rig.step());
                rig = rig.cut(&[]);
                rig.until_ready();
                rig.settle();
                rig.rest();
                // Nothing is known about a region that was being written.
                rig.scrub();
            }
            rig.rest();
            assert_eq!(rig.array.condition(), Condition::Optimal);
            assert_eq!(rig.array.core().reads.counts().corrupt, 0, "{layout} seed {seed}");
            assert_eq!(unknown(&rig), 0);
            let mut rig = reopen(rig);
            spoil(&mut rig, lost);
            is_found(&mut rig, &format!("{layout} seed {seed}"));
        }
    }
}

/// A lost drive's data is reconstructed from correct blocks, or the read fails.
#[test]
fn a_rebuild_copies_nothing_that_is_wrong() {
    let mut rig = full(&checked(LayoutKind::Raid5, WriteHole::Journal), 1);
    spoil(&mut rig, 1);
    rig.drives[0].is_gone = true;
    rig.submit(Op::Flush, 0, 0, false);
    rig.rest();
    rig.replace(0);
    rig.rest();
    assert!(rig.array.raid().expect("it is").scrub_report().not_rebuilt > 0);
    let mut rig = reopen(rig);
    let (wrong, errors) = wrong_and_errors(&mut rig);
    assert!(wrong == 0 && errors > 0);
}

/// Before closing, an array writes all its checksums, even if the idle time of regions is long.
#[test]
fn an_array_comes_to_rest_before_it_is_closed() {
    let mut config = checked(LayoutKind::Raid5, WriteHole::Journal);
    config.checksums_idle = Nanos::secs(3600);
    let mut rig = unsealed(&config, 1);
    let all = rig.array.disk().blocks;
    rig.submit(Op::Write, 0, all as u32, true);
    while rig.in_flight() > 0 {
        rig.step();
    }
    assert!(unknown(&rig) > 0);
    while !rig.array.come_to_rest(rig.now) {
        assert!(rig.step() && rig.now.0 < 1_000_000_000, "at once");
    }
    let mut rig = reopen(rig);
    spoil(&mut rig, 3);
    is_found(&mut rig, "closed");
}

/// Timing-only runs also keep checksums.
#[test]
fn arrays_without_a_record_write_the_same_area() {
    let mut rig = Rig::fresh(&checked(LayoutKind::Raid5, WriteHole::Journal), 1);
    rig.work(200, 16);
    rig.rest();
    rig.is_right();
    let integrity = rig.array.core().drives.integrity().expect("it keeps checksums");
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
fn is_noticed(rule: Rule, run: impl Fn(u64) -> Vec<String> + std::panic::RefUnwindSafe) -> bool {
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
    assert!(is_noticed(Rule::DirtyBeforeWrite, steps), "a write before its mark");
    assert!(
        is_noticed(Rule::DataBeforeClean, |seed| random_cut(LayoutKind::Raid0, WriteHole::Journal, seed)),
        "a mark before its data"
    );
    assert!(is_noticed(Rule::ChecksumsAreCompared, |_| {
        let mut rig = full(&checked(LayoutKind::Raid5, WriteHole::Journal), 1);
        spoil(&mut rig, 1);
        vec![String::from("wrong"); wrong_and_errors(&mut rig).0 as usize]
    }));
}
