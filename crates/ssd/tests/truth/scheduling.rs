//! The cost of scheduling a request, as the number of items that the scheduler examines: it grows neither
//! with the number of chips nor with the length of the queue.

use tailcut_base::config::Choice;
use tailcut_ssd::commit::harness::{Harness, Load};
use tailcut_ssd::config::CommitPolicy;
use tailcut_ssd::mutation::looks_in;

/// Items that a scheduler with a full queue examines per memory request.
fn looks(policy: CommitPolicy, load: Load) -> f64 {
    let mut harness = Harness::new(policy, load);
    harness.settle();
    let before = harness.ended();
    let ((), looks) = looks_in(|| harness.serve(20_000));
    assert!(harness.in_flight() as u32 > load.depth - load.pages, "the queue is full");
    looks as f64 / (harness.ended() - before) as f64
}

/// Asserts for every policy that `large` costs at most `factor` times as much as `small`.
fn compare(small: Load, large: Load, factor: impl Fn(CommitPolicy) -> f64) {
    for &policy in CommitPolicy::all() {
        let (few, many) = (looks(policy, small), looks(policy, large));
        assert!(few >= 1.0, "{policy}: a count of nothing shows nothing");
        assert!(many <= factor(policy) * few, "{policy}: {few:.1} for {small:?}, {many:.1} for {large:?}");
    }
}

/// On both sides, 16 requests wait for each chip. The permitted differences are one or two more levels of
/// words in the search for the next chip to visit, and, for I/O requests of 8 pages on 4096 chips, the
/// additional pages that PAS examines before it meets a busy chip.
#[test]
fn more_chips_do_not_make_scheduling_dearer() {
    for pages in [1, 8] {
        let load = |chips| Load { chips, depth: 16 * chips, pages, fua: 0 };
        compare(load(64), load(4096), |_| 1.5);
    }
}

/// From 64 waiting requests per chip on: see the next test.
#[test]
fn a_longer_queue_does_not_make_scheduling_dearer() {
    for pages in [1, 8] {
        let load = |depth| Load { chips: 64, depth, pages, fua: 0 };
        compare(load(4096), load(65_536), |_| 1.2);
    }
}

/// With a short queue, PAS and FARO compare less than their limits allow (32 I/O requests per chip, and 8
/// sets).
#[test]
fn a_full_choice_costs_a_few_times_as_much_as_none() {
    for pages in [1, 8] {
        let load = |depth| Load { chips: 64, depth, pages, fua: 0 };
        compare(load(32), load(4096), |policy| match policy {
            CommitPolicy::Vas | CommitPolicy::Faro => 1.1,
            CommitPolicy::Pas if pages > 1 => 16.0,
            _ => 2.0,
        });
    }
}

/// One I/O request in a hundred cannot be overtaken.
#[test]
fn requests_that_stand_behind_force_unit_access_cost_the_same_however_many_they_are() {
    let load = |chips, depth| Load { chips, depth, pages: 1, fua: 10_000 };
    compare(load(64, 1024), load(4096, 16_384), |_| 1.5);
}

/// The replay of a recording must behave as the harness with the scheduler.
#[test]
fn a_record_replaces_its_scheduler() {
    for &policy in CommitPolicy::all() {
        let mut harness = Harness::new(policy, Load { chips: 64, depth: 256, pages: 8, fua: 1000 });
        harness.serve(1000);
        let mut bare = harness.clone();
        bare.follow(harness.clone().record(5000));
        let ((), looks) = looks_in(|| bare.serve(5000));
        assert_eq!(looks, 0, "{policy}: no scheduler is asked");
        harness.serve(5000);
        assert_eq!((bare.ended(), bare.in_flight()), (harness.ended(), harness.in_flight()), "{policy}");
    }
}
