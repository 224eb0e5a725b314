//! Mutation tests: rules are broken one by one, and a check must detect each.

use crate::raid::contended::rows_under_way;
use crate::raid::crashes::{random_cut, script};
use crate::raid::faults::{journal_of_a_predecessor, journal_of_one_copy, rebuild};
use crate::raid::harness::{Harness, config};
use tailcut_base::Op;
use tailcut_host::array::LayoutKind;
use tailcut_host::array::raid::WriteHole;
use tailcut_host::array::raid::mutation::{Invariant, broken};

/// True if some seed yields a violation or a failed assertion in the code while the rule is broken, and none
/// while it holds.
fn is_noticed(rule: Invariant, run: impl Fn(u64) -> Vec<String> + std::panic::RefUnwindSafe) -> bool {
    let noticed = (0..60).find(|&seed| {
        let wrong = std::panic::catch_unwind(|| broken(rule, || run(seed)));
        wrong.is_err() || wrong.is_ok_and(|wrong| !wrong.is_empty())
    });
    noticed.is_some_and(|seed| run(seed).is_empty())
}

fn work(seed: u64) -> Vec<String> {
    let mut harness = Harness::new(&config(LayoutKind::Raid5, 4), seed);
    harness.work(100, 30);
    harness.rest();
    harness.check_parity();
    harness.wrong
}

#[test]
fn stale_reads_are_noticed() {
    assert!(is_noticed(Invariant::ReadAfterWrite, work));
}

#[test]
fn a_journal_of_a_predecessor_is_noticed() {
    assert!(is_noticed(Invariant::DrainBeforeInSync, journal_of_a_predecessor));
}

#[test]
fn a_scrub_that_leaves_the_journal_is_noticed() {
    assert!(is_noticed(Invariant::ScrubTheJournal, journal_of_one_copy));
}

#[test]
fn rows_that_change_while_a_block_is_computed_are_noticed() {
    assert!(is_noticed(Invariant::RowHeld, rows_under_way));
}

#[test]
fn a_parity_of_half_a_way_is_noticed() {
    assert!(is_noticed(Invariant::WholeWay, rows_under_way));
}

#[test]
fn stale_parity_is_noticed() {
    assert!(is_noticed(Invariant::ParityFollows, work));
}

#[test]
fn a_forgotten_replay_is_noticed() {
    assert!(is_noticed(Invariant::Replay, |seed| random_cut(
        LayoutKind::Raid5,
        WriteHole::Journal,
        seed,
        true
    )));
}

#[test]
fn writing_before_the_journal_is_noticed() {
    let run = |seed| {
        (0..60).find_map(|step| script(LayoutKind::Raid5, step, Some(1), seed).filter(|w| !w.is_empty()))
    };
    assert!(is_noticed(Invariant::JournalFirst, |seed| run(seed).unwrap_or_default()));
}

#[test]
fn a_journal_used_again_too_early_is_noticed() {
    assert!(is_noticed(Invariant::ReclaimWhenDurable, |seed| {
        random_cut(LayoutKind::Raid5, WriteHole::Journal, seed, true)
    }));
}

#[test]
fn writes_that_a_rebuild_misses_are_noticed() {
    assert!(is_noticed(Invariant::WriteWhileRebuilding, |seed| rebuild(LayoutKind::Raid5, seed)));
    assert!(is_noticed(Invariant::RebuildUnderLock, |seed| rebuild(LayoutKind::Raid5, seed)));
}

#[test]
fn parity_of_corrupt_blocks_is_noticed() {
    assert!(is_noticed(Invariant::ParityOfIntact, |seed| {
        let mut harness = Harness::new(&config(LayoutKind::Raid5, 4), seed);
        harness.submit(Op::Write, 0, 12, false);
        harness.rest();
        let start = harness.data_start();
        harness.drives[1].corrupt(start);
        harness.submit(Op::Write, 0, 1, false);
        harness.rest();
        harness.submit(Op::Read, 0, 12, false);
        harness.rest();
        harness.check_parity();
        harness.wrong
    }));
}
