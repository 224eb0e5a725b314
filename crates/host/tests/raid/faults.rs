//! Drives that are lost, return wrong data or refuse writes; rebuilding and scrubbing.

use crate::raid::harness::{Harness, config, disk};
use crate::raid::workload::seeds;
use tailcut_base::fdp::HandleId;
use tailcut_base::ids::Id;
use tailcut_base::{Cause, Class, Nanos, Op, Spans, Status, Time};
use tailcut_host::array::DriveId;
use tailcut_host::array::raid::{Task, WriteHole};
use tailcut_host::array::reads::{SealAge, seal_of};
use tailcut_host::array::{Array, Condition, LayoutKind, ReadPolicy};
use tailcut_host::{Block, Bytes, Mirror, Request, Response};

const LAYOUTS: [LayoutKind; 2] = [LayoutKind::Raid4, LayoutKind::Raid5];

#[test]
fn a_drive_may_be_lost_at_any_moment() {
    for layout in LAYOUTS {
        for seed in seeds(12) {
            for refuses in [false, true] {
                let mut harness = Harness::new(&config(layout, 4), seed);
                harness.work(30 + seed as usize % 50, 20);
                let lost = seed as usize % 4;
                let drive = &mut harness.drives[lost];
                (drive.is_gone, drive.refuses) = (!refuses, refuses);
                harness.work(200, 20);
                harness.rest();
                let all = harness.array.disk().blocks;
                (0..all).for_each(|block| {
                    harness.submit(Op::Read, block, 1, false);
                    harness.rest();
                });
                harness.is_right();
                assert!(matches!(harness.array.condition(), Condition::Degraded { .. }));
            }
        }
    }
}

#[test]
fn drives_that_collect_at_any_time_are_counted_and_have_no_turns() {
    let mut config = config(LayoutKind::Raid5, 4);
    config.turns = Nanos::millis(5);
    let mut harness = Harness::new(&config, 1);
    harness.work(10, 4);
    harness.rest();
    assert_eq!(harness.array.without_turns(), 4, "they have no control interface");
    harness.is_right();
}

/// Loses a drive, continues working, replaces the drive and works during the rebuild. Returns all violations.
pub(super) fn rebuild(layout: LayoutKind, seed: u64) -> Vec<String> {
    let mut config = config(layout, 4);
    config.background_rate = 200_000_000 * (seed % 2);
    let mut harness = Harness::new(&config, seed);
    harness.work(60, 16);
    let lost = (seed / 2) as usize % 4;
    harness.drives[lost].is_gone = true;
    harness.work(60, 16);
    while harness.array.core().drives.is_present(DriveId::at(lost)) {
        harness.submit(Op::Write, 0, 20, false);
        harness.step();
    }
    harness.replace(lost);
    assert!(harness.array.raid().unwrap().progress(Task::Rebuild(DriveId::at(lost))).is_some());
    harness.work(100, 16);
    harness.rest();
    assert_eq!(harness.array.condition(), Condition::Optimal);
    harness.check_parity();
    let all = harness.array.disk().blocks;
    for block in 0..all {
        harness.submit(Op::Read, block, 1, false);
        harness.rest();
    }
    harness.array.scrub(harness.now);
    harness.submit(Op::Flush, 0, 0, false);
    harness.rest();
    let report = harness.array.raid().unwrap().scrub_report();
    assert_eq!(report.stripes, 6);
    if (report.corrupt_blocks, report.parity_mismatches, report.not_rebuilt) != (0, 0, 0) {
        harness.wrong.push(format!("{report:?}"));
    }
    // The drive counts from now on: another one may fail, together with the power.
    let mut harness = harness.cut(&[(lost + 1) % 4]);
    harness.until_ready();
    harness.settle();
    harness.wrong
}

#[test]
fn a_replaced_drive_is_filled_while_the_array_serves() {
    for layout in LAYOUTS {
        for seed in seeds(20) {
            let wrong = rebuild(layout, seed);
            assert!(wrong.is_empty(), "{layout} seed {seed}: {wrong:#?}");
        }
    }
}

/// A block is written, its parity drive is lost, the block is written again, and the drive is replaced. Then
/// power is cut and another drive fails: the journal still has the first write with its parity.
pub(super) fn journal_of_a_predecessor(seed: u64) -> Vec<String> {
    let mut harness = Harness::new(&config(LayoutKind::Raid5, 4), seed);
    harness.submit(Op::Write, 0, 1, true);
    harness.rest();
    // The first stripe has its parity on the last drive.
    harness.drives[3].is_gone = true;
    harness.submit(Op::Read, 0, harness.array.disk().blocks as u32, false);
    harness.rest();
    assert!(!harness.array.core().drives.is_present(DriveId::new(3)));
    harness.submit(Op::Write, 0, 1, true);
    harness.rest();
    harness.replace(3);
    harness.rest();
    assert_eq!(harness.array.condition(), Condition::Optimal);
    let mut harness = harness.cut(&[1]);
    harness.until_ready();
    harness.settle();
    harness.wrong
}

#[test]
fn a_drive_that_was_filled_is_not_overwritten_from_the_journal() {
    for seed in seeds(5) {
        let wrong = journal_of_a_predecessor(seed);
        assert!(wrong.is_empty(), "seed {seed}: {wrong:#?}");
    }
}

/// A block is written twice and made durable; the journal still holds both writes. The journal entries on one
/// drive become unreadable, block by block. The array is scrubbed; then power is cut and another drive fails,
/// which may have held the other copy of the second write.
pub(super) fn journal_of_one_copy(seed: u64) -> Vec<String> {
    let (spoiled, lost) = ((seed % 4) as usize, (seed % 4 + 1 + seed / 4 % 3) as usize % 4);
    let mut harness = Harness::new(&config(LayoutKind::Raid5, 4), seed);
    for _ in 0..2 {
        harness.submit(Op::Write, 0, 1, true);
        harness.rest();
        harness.submit(Op::Flush, 0, 0, false);
        harness.rest();
    }
    for block in harness.array.core().usable().start..harness.data_start() {
        harness.drives[spoiled].corrupt(block);
    }
    harness.scrub();
    harness.rest();
    let mut harness = harness.cut(&[lost]);
    harness.until_ready();
    harness.settle();
    harness.wrong
}

#[test]
fn a_scrub_leaves_nothing_to_be_replayed_by_half() {
    for seed in seeds(12) {
        let wrong = journal_of_one_copy(seed);
        assert!(wrong.is_empty(), "seed {seed}: {wrong:#?}");
    }
}

#[test]
fn a_rebuild_survives_power_cuts() {
    for seed in seeds(10) {
        let mut harness = Harness::new(&config(LayoutKind::Raid5, 4), seed);
        harness.work(60, 16);
        harness.drives[1].is_gone = true;
        harness.submit(Op::Write, 0, 40, false);
        harness.rest();
        harness.replace(1);
        for _ in 0..20 + seed % 20 * 7 {
            harness.step();
        }
        let mut harness = harness.cut(&[]);
        harness.until_ready();
        harness.settle();
        harness.rest();
        if !harness.array.core().drives.is_present(DriveId::new(1)) {
            // Power was cut before the new drive recorded its membership.
            harness.replace(1);
            harness.rest();
        }
        harness.is_right();
        assert_eq!(harness.array.condition(), Condition::Optimal, "seed {seed}");
        harness.check_parity();
        harness.is_right();
    }
}

#[test]
fn with_two_drives_lost_nothing_hangs() {
    for layout in LAYOUTS {
        for seed in seeds(12) {
            let mut harness = Harness::new(&config(layout, 4), seed);
            harness.work(60, 16);
            harness.may_fail = true;
            harness.drives[0].is_gone = true;
            harness.work(seed as usize % 3 * 10, 16);
            harness.drives[2].is_gone = true;
            harness.work(60, 16);
            harness.rest();
            assert!(matches!(harness.array.condition(), Condition::Failed { .. }));
            harness.failed.clear();
            harness.submit(Op::Write, 0, 1, false);
            harness.rest();
            assert_eq!(harness.failed, [(Op::Write, Status::WriteProtected)]);
            let all = harness.array.disk().blocks;
            (0..all).for_each(|block| harness.submit(Op::Read, block, 1, false));
            harness.rest();
            let reads = harness.failed.len() as u64 - 1;
            assert!(reads > 0 && reads < all, "{reads} of {all}");
            assert!(harness.failed[1..].iter().all(|&failed| failed == (Op::Read, Status::MediaError)));
        }
    }
}

#[test]
fn corrupt_blocks_are_read_around_and_repaired() {
    for layout in LAYOUTS {
        let mut harness = Harness::new(&config(layout, 4), 1);
        let all = harness.array.disk().blocks;
        harness.submit(Op::Write, 0, all as u32, false);
        harness.rest();
        let start = harness.data_start();
        // In adjacent rows of different drives: no drive can return the range as a whole.
        (0..4).for_each(|drive| harness.drives[drive].corrupt(start + drive as u64));
        harness.drives[1].corrupt(start + 9);
        harness.submit(Op::Write, 1, 1, false);
        harness.submit(Op::Read, 0, all as u32, false);
        harness.rest();
        assert!(harness.array.core().reads.counts().repaired > 0);
        // The host never reads parity.
        harness.array.scrub(harness.now);
        harness.submit(Op::Flush, 0, 0, false);
        harness.rest();
        assert_eq!(harness.array.raid().unwrap().scrub_report().unrepairable, 0);
        harness.check_parity();
        harness.is_right();
    }
}

/// It ends with the repair, and that is no reason to forget what it waited for before.
#[test]
fn a_read_that_waits_for_a_repair_keeps_the_causes_of_its_parts() {
    let mut array = Array::<Bytes>::fresh(&config(LayoutKind::Raid5, 4), &vec![disk(); 4]);
    let (op, class, mirror, handle) = (Op::Read, Class::DEFAULT, Mirror::Any, HandleId::FIRST);
    let (fua, fail_fast, block, blocks, data) = (false, false, 0, 1, Vec::new());
    let read = Request { id: 1, op, fua, class, fail_fast, mirror, handle, block, blocks, data };
    let (mut now, mut writes) = (Time::ZERO, 0);
    array.submit(now, read).expect("it accepts requests");
    let damaged = array.sent()[0].0;
    while array.answers().is_empty() {
        now += Nanos(10);
        for (drive, request) in std::mem::take(array.sent()) {
            writes += u32::from(request.op == Op::Write);
            let (id, status, busy_for, mut spans) = (request.id, Status::Success, Nanos::ZERO, Spans::new());
            spans.add(Cause::Cell, Nanos(10));
            let mut content = Bytes::default();
            if drive == damaged {
                content.seal(1);
            }
            let data = if request.op == Op::Read { vec![content] } else { request.data };
            array.answered(now, drive, Response { id, status, data, busy_for, spans });
        }
    }
    // Two reads fail, the second of which may reconstruct the block, which is then written once.
    let spans = array.answers()[0].spans;
    let of = |cause| spans.of(cause).0;
    assert_eq!((writes, now), (1, Time(40)));
    assert_eq!([of(Cause::Cell), of(Cause::Reconstruction), of(Cause::ArrayQueue)], [10, 10, 20]);
}

#[test]
fn a_scrub_finds_and_repairs() {
    for layout in LAYOUTS {
        let mut harness = Harness::new(&config(layout, 4), 1);
        let all = harness.array.disk().blocks;
        harness.submit(Op::Write, 0, all as u32, false);
        harness.rest();
        let start = harness.data_start();
        harness.drives[2].corrupt(start + 5);
        harness.drives[0].corrupt(start + 6);
        // The drive has lost a write: an older block with a valid guard.
        let mut old: tailcut_host::Bytes = tailcut_host::Block::encode(b"older");
        let seal = seal_of(DriveId::new(3), start + 1, SealAge::IN_PLACE);
        tailcut_host::Block::seal(&mut old, seal);
        harness.drives[3].plant(start + 1, old);
        // More damage than parity can repair.
        harness.drives[1].corrupt(start + 20);
        harness.drives[2].corrupt(start + 20);
        harness.array.scrub(harness.now);
        harness.submit(Op::Flush, 0, 0, false);
        harness.rest();
        let report = *harness.array.raid().unwrap().scrub_report();
        assert_eq!((report.stripes, report.corrupt_blocks, report.repaired), (6, 4, 2));
        assert_eq!((report.parity_mismatches, report.unrepairable), (1, 2));
        let places: Vec<_> = report.mismatch_places.iter().map(|place| place.block).collect();
        assert_eq!((places, report.not_compared), (vec![start + 1], 0));
        let text = harness.array.scrub_status().to_string();
        let place = format!(
            ", 1 mismatches; which member is wrong is not known (first seen with block {} of member ",
            start + 1
        );
        assert!(text.contains(&place) && text.ends_with(')'), "{text}");
    }
}

#[test]
fn a_scrub_without_a_member_says_that_nothing_was_compared() {
    for layout in LAYOUTS {
        let mut harness = Harness::new(&config(layout, 4), 1);
        let all = harness.array.disk().blocks;
        harness.submit(Op::Write, 0, all as u32, false);
        harness.rest();
        harness.array.remove(harness.now, DriveId::new(1));
        harness.rest();
        harness.array.scrub(harness.now);
        harness.submit(Op::Flush, 0, 0, false);
        harness.rest();
        let report = *harness.array.raid().unwrap().scrub_report();
        assert_eq!(report.compared, 0, "{report:?}");
        let text = harness.array.scrub_status().to_string();
        assert!(text.ends_with("0 beyond repair, mismatches not checked: a member is missing"), "{text}");
    }
}

#[test]
fn a_drive_that_goes_during_a_scrub_is_not_damage() {
    for layout in LAYOUTS {
        for steps in 1..40 {
            let mut harness = Harness::new(&config(layout, 4), 1);
            let all = harness.array.disk().blocks;
            harness.submit(Op::Write, 0, all as u32, false);
            harness.rest();
            harness.array.scrub(harness.now);
            harness.submit(Op::Flush, 0, 0, false);
            (0..steps).for_each(|_| _ = harness.step());
            harness.drives[1].is_gone = true;
            harness.rest();
            let report = *harness.array.raid().unwrap().scrub_report();
            assert_eq!((report.corrupt_blocks, report.unrepairable), (0, 0), "{layout}, step {steps}");
        }
    }
}

/// Contended drives and slow drives: reads avoid them, and still return correct data.
#[test]
fn reads_around_taken_and_slow_drives_are_right() {
    for layout in LAYOUTS {
        for seed in seeds(10) {
            let mut config = config(layout, 4);
            config.reads = ReadPolicy::FailFast;
            config.slow_after = tailcut_base::Nanos::micros(40 * (seed % 2));
            let mut harness = Harness::new(&config, seed);
            harness.drives.iter_mut().for_each(|drive| drive.is_often_taken = true);
            harness.work(150, 16);
            harness.drives[seed as usize % 4].is_gone = seed % 3 == 0;
            harness.work(150, 16);
            harness.rest();
            harness.is_right();
            let counts = harness.array.core().reads.counts();
            assert!(counts.contended > 0 && (seed % 2 == 0 || counts.hedged > 0), "{counts:?}");
            assert_eq!(counts.lost, 0);
        }
    }
}

/// Arrays of timing-only runs keep no superblock, and keep a journal only if configured.
#[test]
fn timing_runs_write_a_journal_if_told_to() {
    for (journal_always, hole, written) in
        [(false, WriteHole::Journal, 2), (true, WriteHole::Journal, 8), (true, WriteHole::Resync, 6)]
    {
        let mut config = config(LayoutKind::Raid5, 4);
        (config.raid.journal_always, config.raid.write_hole) = (journal_always, hole);
        let mut harness = Harness::fresh(&config, 1);
        harness.submit(Op::Write, 0, 1, false);
        harness.rest();
        assert_eq!(harness.drives.iter().map(|drive| drive.writes).sum::<u64>(), written);
        harness.work(300, 16);
        harness.rest();
        harness.check_parity();
        harness.is_right();
    }
}
