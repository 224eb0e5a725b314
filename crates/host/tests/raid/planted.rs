//! Mutation tests: rules are broken one by one, and a check must detect each.

use crate::contended::rows_under_way;
use crate::crashes::{random_cut, script};
use crate::faults::{journal_of_a_predecessor, journal_of_one_copy, rebuild};
use crate::rig::{Rig, config};
use tailcut_base::Op;
use tailcut_host::array::LayoutKind;
use tailcut_host::array::raid::WriteHole;
use tailcut_host::array::raid::planted::{Rule, broken};

/// True if some seed yields a violation or a failed assertion in the code while the rule is broken, and none
/// while it holds.
fn is_noticed(rule: Rule, run: impl Fn(u64) -> Vec<String> + std::panic::RefUnwindSafe) -> bool {
    let noticed = (0..60).find(|&seed| {
        let wrong = std::panic::catch_unwind(|| broken(rule, || run(seed)));
        wrong.is_err() || wrong.is_ok_and(|wrong| !wrong.is_empty())
    });
    noticed.is_some_and(|seed| run(seed).is_empty())
}

fn work(seed: u64) -> Vec<String> {
    let mut rig = Rig::new(&config(LayoutKind::Raid5, 4), seed);
    rig.work(100, 30);
    rig.rest();
    rig.check_parity();
    rig.wrong
}

#[test]
fn stale_reads_are_noticed() {
    assert!(is_noticed(Rule::ReadAfterWrite, work));
}

#[test]
fn a_journal_of_a_predecessor_is_noticed() {
    assert!(is_noticed(Rule::DrainBeforeInSync, journal_of_a_predecessor));
}

#[test]
fn a_scrub_that_leaves_the_journal_is_noticed() {
    assert!(is_noticed(Rule::ScrubTheJournal, journal_of_one_copy));
}

#[test]
fn rows_that_change_while_a_block_is_computed_are_noticed() {
    assert!(is_noticed(Rule::RowHeld, rows_under_way));
}

#[test]
fn a_parity_of_half_a_way_is_noticed() {
    assert!(is_noticed(Rule::WholeWay, rows_under_way));
}

#[test]
fn stale_parity_is_noticed() {
    assert!(is_noticed(Rule::ParityFollows, work));
}

#[test]
fn a_forgotten_replay_is_noticed() {
    assert!(is_noticed(Rule::Replay, |seed| random_cut(LayoutKind::Raid5, WriteHole::Journal, seed, true)));
}

#[test]
fn writing_before_the_journal_is_noticed() {
    let run = |seed| {
        (0..60).find_map(|step| script(LayoutKind::Raid5, step, Some(1), seed).filter(|w| !w.is_empty()))
    };
    assert!(is_noticed(Rule::JournalFirst, |seed| run(seed).unwrap_or_default()));
}

#[test]
fn a_journal_used_again_too_early_is_noticed() {
    assert!(is_noticed(Rule::ReclaimWhenDurable, |seed| {
        random_cut(LayoutKind::Raid5, WriteHole::Journal, seed, true)
    }));
}

#[test]
fn writes_that_a_rebuild_misses_are_noticed() {
    assert!(is_noticed(Rule::WriteWhileRebuilding, |seed| rebuild(LayoutKind::Raid5, seed)));
    assert!(is_noticed(Rule::RebuildUnderLock, |seed| rebuild(LayoutKind::Raid5, seed)));
}

#[test]
fn parity_of_corrupt_blocks_is_noticed() {
    assert!(is_noticed(Rule::ParityOfIntact, |seed| {
        let mut rig = Rig::new(&config(LayoutKind::Raid5, 4), seed);
        rig.submit(Op::Write, 0, 12, false);
        rig.rest();
        let start = rig.data_start();
        rig.drives[1].corrupt(start);
        rig.submit(Op::Write, 0, 1, false);
        rig.rest();
        rig.submit(Op::Read, 0, 12, false);
        rig.rest();
        rig.check_parity();
        rig.wrong
    }));
}
