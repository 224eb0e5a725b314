//! What scheduling a request costs, in things that the scheduler looks at: not more because there
//! are more chips, and not more because the queue is longer.

use tailcut_base::config::Choice;
use tailcut_ssd::controller::commit::CommitPolicy;
use tailcut_ssd::controller::commit::rig::{Load, Rig};
use tailcut_ssd::planted::looks_in;

/// Things that a scheduler with a full queue looks at for each memory request.
fn looks(policy: CommitPolicy, load: Load) -> f64 {
    let mut rig = Rig::new(policy, load);
    rig.settle();
    let before = rig.ended();
    let ((), looks) = looks_in(|| rig.serve(20_000));
    assert!(rig.in_flight() as u32 > load.depth - load.pages, "the queue is full");
    looks as f64 / (rig.ended() - before) as f64
}

/// Asserts for every policy that `large` costs at most so many times as much as `small`.
fn compare(small: Load, large: Load, factor: impl Fn(CommitPolicy) -> f64) {
    for &policy in CommitPolicy::all() {
        let (few, many) = (looks(policy, small), looks(policy, large));
        assert!(few >= 1.0, "{policy}: a count of nothing shows nothing");
        assert!(many <= factor(policy) * few, "{policy}: {few:.1} for {small:?}, {many:.1} for {large:?}");
    }
}

/// 16 requests wait for each chip on both sides. What may differ: one or two more levels of words
/// in the search for the next chip to visit; and of an I/O request of 8 pages among 4096 chips PAS
/// looks at more before it meets a busy one.
#[test]
fn more_chips_do_not_make_scheduling_dearer() {
    for pages in [1, 8] {
        let load = |chips| Load { chips, depth: 16 * chips, pages, fua: 0 };
        compare(load(64), load(4096), |_| 1.5);
    }
}

/// From 64 waiting requests for each chip on: see the next test.
#[test]
fn a_longer_queue_does_not_make_scheduling_dearer() {
    for pages in [1, 8] {
        let load = |depth| Load { chips: 64, depth, pages, fua: 0 };
        compare(load(4096), load(65_536), |_| 1.2);
    }
}

/// A short queue leaves less to compare than PAS (32 I/O requests for a chip) and FARO (8 sets)
/// allow themselves.
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

/// One I/O request in a hundred lets nothing pass it.
#[test]
fn requests_that_stand_behind_force_unit_access_cost_the_same_however_many_they_are() {
    let load = |chips, depth| Load { chips, depth, pages: 1, fua: 10_000 };
    compare(load(64, 1024), load(4096, 16_384), |_| 1.5);
}

/// The rig that follows a record must do what the one with the scheduler does.
#[test]
fn a_record_replaces_its_scheduler() {
    for &policy in CommitPolicy::all() {
        let mut rig = Rig::new(policy, Load { chips: 64, depth: 256, pages: 8, fua: 1000 });
        rig.serve(1000);
        let mut bare = rig.clone();
        bare.follow(rig.clone().record(5000));
        let ((), looks) = looks_in(|| bare.serve(5000));
        assert_eq!(looks, 0, "{policy}: no scheduler is asked");
        rig.serve(5000);
        assert_eq!((bare.ended(), bare.in_flight()), (rig.ended(), rig.in_flight()), "{policy}");
    }
}
