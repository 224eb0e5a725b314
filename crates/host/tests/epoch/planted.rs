//! Mutation tests: rules are broken one by one, and a check must detect each.

use crate::bench::{FOUR, check_copies, config, pairs, rig, triples, without_token, wrong};
use crate::crashes::random_cut;
use crate::faults::rebuild;
use crate::workload::work;
use tailcut_base::Op;
use tailcut_host::array::epoch::planted::{Rule, broken};

/// True if some seed yields a violation or a failed assertion in the code while the rule is broken, and none
/// while it holds.
fn is_noticed(rule: Rule, run: impl Fn(u64) -> Vec<String> + std::panic::RefUnwindSafe) -> bool {
    is_noticed_within(60, rule, run)
}

fn is_noticed_within(
    seeds: u64,
    rule: Rule,
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
    assert!(is_noticed(Rule::ReadFromCache, |seed| work(FOUR, seed)));
}

#[test]
fn unlisted_changes_are_noticed() {
    assert!(is_noticed(Rule::ListFirst, |seed| random_cut(FOUR, seed, false)));
    assert!(is_noticed(Rule::ListedUntilAgreed, |seed| random_cut(FOUR, seed, false)));
    assert!(is_noticed(Rule::Reconcile, |seed| random_cut(FOUR, seed, false)));
}

/// With three copies, two remaining ones may differ while the drive that listed them is gone.
#[test]
fn changes_that_only_one_of_three_lists_are_noticed() {
    assert!(is_noticed_within(4000, Rule::ListEverywhere, |seed| random_cut(triples(3, 3), seed, true)));
}

#[test]
fn a_flush_of_half_the_copies_is_noticed() {
    assert!(is_noticed(Rule::FlushBoth, |seed| random_cut(FOUR, seed, true)));
    assert!(is_noticed(Rule::FlushEpochs, |seed| random_cut(FOUR, seed, true)));
}

#[test]
fn writes_that_a_rebuild_misses_are_noticed() {
    assert!(is_noticed(Rule::WriteWhileRebuilding, |seed| rebuild(FOUR, seed)));
    assert!(is_noticed(Rule::FillInCache, |seed| rebuild(FOUR, seed)));
}

/// After a power cut in the middle of one drive's epoch, the newer copy is kept, though either would be
/// valid.
fn newest(seed: u64) -> Vec<String> {
    let mut rig = rig(&config(pairs(2, 2)), seed);
    rig.submit(Op::Write, 0, 4, true);
    rig.rest();
    rig.submit(Op::Write, 0, 4, true);
    while rig.array.epoch_figures().is_some_and(|figures| figures.epochs < 4) {
        rig.step();
    }
    let first = rig.drives[0].get(crate::bench::DATA);
    let mut rig = rig.cut(&[]);
    rig.watch = None;
    rig.until_ready();
    rig.watch = Some(without_token);
    check_copies(&mut rig, 2);
    if !crate::model::same(&rig.drives[0].get(crate::bench::DATA), &first) {
        rig.wrong.push("the older copy was kept".into());
    }
    rig.settle();
    wrong(rig)
}

#[test]
fn the_older_of_two_copies_is_noticed() {
    assert!(is_noticed(Rule::NewestCounts, newest));
}

#[test]
fn descriptors_of_a_predecessor_are_noticed() {
    // Stale descriptors make the ring unreadable or cause needless comparisons; the check is that none
    // remain.
    let run = |seed: u64| {
        let mut rig = rig(&config(FOUR), seed);
        rig.work(60, 8);
        rig.drives[1].is_gone = true;
        rig.work(30, 8);
        rig.rest();
        rig.watch = None;
        rig.replace(1);
        (2..crate::bench::DATA).for_each(|block| {
            let content = rig.drives[0].get(block);
            rig.drives[1].plant(block, content);
        });
        rig.rest();
        let left = (2..crate::bench::DATA).filter(|&block| {
            let (one, other) = (rig.drives[0].get(block), rig.drives[1].get(block));
            !crate::model::same(&one, &tailcut_host::Bytes::default()) && crate::model::same(&one, &other)
        });
        if left.count() > 0 {
            rig.wrong.push("a descriptor of its predecessor is on the drive".into());
        }
        wrong(rig)
    };
    assert!(is_noticed(Rule::ClearDescriptors, run));
}

/// A drive is gone while blocks are written one by one, and returns after a power cut at about the time at
/// which the superblock would record its failure.
fn back_before_the_record(seed: u64) -> Vec<String> {
    let mut rig = rig(&config(pairs(2, 2)), seed);
    rig.submit(Op::Write, 0, 12, true);
    rig.rest();
    rig.drives[1].is_gone = true;
    for block in 0..12 {
        rig.submit(Op::Write, block, 1, true);
        (0..seed % 3).for_each(|_| _ = rig.step());
    }
    (0..seed / 3 % 12).for_each(|_| _ = rig.step());
    rig.drives[1].is_gone = false;
    let mut rig = rig.cut(&[]);
    rig.watch = None;
    rig.until_ready();
    if rig.array.condition() == tailcut_host::array::Condition::Optimal {
        check_copies(&mut rig, 2);
    }
    rig.settle();
    wrong(rig)
}

#[test]
fn forgetting_what_was_done_without_a_drive_is_noticed() {
    assert!(is_noticed_within(4000, Rule::RecordFirst, back_before_the_record));
}
