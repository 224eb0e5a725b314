//! Mutation tests: rules are broken one by one, and a check must detect each.

use crate::epoch::bench::{FOUR, check_copies, config, harness, pairs, triples, without_token, wrong};
use crate::epoch::crashes::random_cut;
use crate::epoch::faults::rebuild;
use crate::epoch::workload::work;
use tailcut_base::Op;
use tailcut_host::array::epoch::mutation::{Invariant, broken};

/// True if some seed yields a violation or a failed assertion in the code while the rule is broken, and none
/// while it holds.
fn is_noticed(rule: Invariant, run: impl Fn(u64) -> Vec<String> + std::panic::RefUnwindSafe) -> bool {
    is_noticed_within(60, rule, run)
}

fn is_noticed_within(
    seeds: u64,
    rule: Invariant,
    run: impl Fn(u64) -> Vec<String> + std::panic::RefUnwindSafe,
) -> bool {
    let noticed = (0..seeds).find(|&seed| {
        let wrong = std::panic::catch_unwind(|| broken(rule, || run(seed)));
        wrong.is_err() || wrong.is_ok_and(|wrong| !wrong.is_empty())
    });
    noticed.is_some_and(|seed| run(seed).is_empty())
}

#[test]
fn reads_past_the_cache_are_noticed() {
    assert!(is_noticed(Invariant::ReadFromCache, |seed| work(FOUR, seed)));
}

#[test]
fn unlisted_changes_are_noticed() {
    assert!(is_noticed(Invariant::ListFirst, |seed| random_cut(FOUR, seed, false)));
    assert!(is_noticed(Invariant::ListedUntilAgreed, |seed| random_cut(FOUR, seed, false)));
    assert!(is_noticed(Invariant::Reconcile, |seed| random_cut(FOUR, seed, false)));
}

/// With three copies, two remaining ones may differ while the drive that listed them is gone.
#[test]
fn changes_that_only_one_of_three_lists_are_noticed() {
    assert!(is_noticed_within(4000, Invariant::ListEverywhere, |seed| random_cut(triples(3, 3), seed, true)));
}

#[test]
fn a_flush_of_half_the_copies_is_noticed() {
    assert!(is_noticed(Invariant::FlushBoth, |seed| random_cut(FOUR, seed, true)));
    assert!(is_noticed(Invariant::FlushEpochs, |seed| random_cut(FOUR, seed, true)));
}

#[test]
fn writes_that_a_rebuild_misses_are_noticed() {
    assert!(is_noticed(Invariant::WriteWhileRebuilding, |seed| rebuild(FOUR, seed)));
    assert!(is_noticed(Invariant::FillInCache, |seed| rebuild(FOUR, seed)));
}

/// After a power cut in the middle of one drive's epoch, the newer copy is kept, though either would be
/// valid.
fn newest(seed: u64) -> Vec<String> {
    let mut harness = harness(&config(pairs(2, 2)), seed);
    harness.submit(Op::Write, 0, 4, true);
    harness.rest();
    harness.submit(Op::Write, 0, 4, true);
    while harness.array.epoch_figures().is_some_and(|figures| figures.epochs < 4) {
        harness.step();
    }
    let first = harness.drives[0].get(crate::epoch::bench::DATA);
    let mut harness = harness.cut(&[]);
    harness.watch = None;
    harness.until_ready();
    harness.watch = Some(without_token);
    check_copies(&mut harness, 2);
    if !crate::raid::model::same(&harness.drives[0].get(crate::epoch::bench::DATA), &first) {
        harness.wrong.push("the older copy was kept".into());
    }
    harness.settle();
    wrong(harness)
}

#[test]
fn the_older_of_two_copies_is_noticed() {
    assert!(is_noticed(Invariant::NewestCounts, newest));
}

#[test]
fn descriptors_of_a_predecessor_are_noticed() {
    // Stale descriptors make the ring unreadable or cause needless comparisons; the check is that none
    // remain.
    let run = |seed: u64| {
        let mut harness = harness(&config(FOUR), seed);
        harness.work(60, 8);
        harness.drives[1].is_gone = true;
        harness.work(30, 8);
        harness.rest();
        harness.watch = None;
        harness.replace(1);
        (2..crate::epoch::bench::DATA).for_each(|block| {
            let content = harness.drives[0].get(block);
            harness.drives[1].plant(block, content);
        });
        harness.rest();
        let left = (2..crate::epoch::bench::DATA).filter(|&block| {
            let (one, other) = (harness.drives[0].get(block), harness.drives[1].get(block));
            !crate::raid::model::same(&one, &tailcut_host::Bytes::default())
                && crate::raid::model::same(&one, &other)
        });
        if left.count() > 0 {
            harness.wrong.push("a descriptor of its predecessor is on the drive".into());
        }
        wrong(harness)
    };
    assert!(is_noticed(Invariant::ClearDescriptors, run));
}

/// A drive is gone while blocks are written one by one, and returns after a power cut at about the time at
/// which the superblock would record its failure.
fn back_before_the_record(seed: u64) -> Vec<String> {
    let mut harness = harness(&config(pairs(2, 2)), seed);
    harness.submit(Op::Write, 0, 12, true);
    harness.rest();
    harness.drives[1].is_gone = true;
    for block in 0..12 {
        harness.submit(Op::Write, block, 1, true);
        (0..seed % 3).for_each(|_| _ = harness.step());
    }
    (0..seed / 3 % 12).for_each(|_| _ = harness.step());
    harness.drives[1].is_gone = false;
    let mut harness = harness.cut(&[]);
    harness.watch = None;
    harness.until_ready();
    if harness.array.condition() == tailcut_host::array::Condition::Optimal {
        check_copies(&mut harness, 2);
    }
    harness.settle();
    wrong(harness)
}

#[test]
fn forgetting_what_was_done_without_a_drive_is_noticed() {
    assert!(is_noticed_within(4000, Invariant::RecordFirst, back_before_the_record));
}
