//! Crash and fault search in array membership: a replaced drive returns, and an array is opened in two parts.
//! The guarantees are in `docs/decisions/array-membership.md`.

use crate::cases;
use tailcut_host::array::mutation::{Invariant, broken};
use tailcut_torture::{FaultKind, Plan, Reached, Step, Tally, Violation, ViolationKind, attempt, seeds};

/// Runs the seeds whose plans contain one of these faults.
fn holds(subject: &str, faults: &[FaultKind], count: u64) -> Tally {
    let layouts = seeds::layouts(subject).expect("it is there");
    let mut tally = Tally::default();
    for seed in cases(count) {
        let plan = seeds::plan(seed, &layouts);
        if !has(&plan, faults) {
            continue;
        }
        let outcome = attempt(&plan, None);
        if let Some(wrong) = outcome.wrong {
            panic!("{wrong}\nsee it again with: tailcut torture --subject {subject} --seed {seed}");
        }
        tally.merge(&outcome.tally);
    }
    tally
}

fn has(plan: &Plan, faults: &[FaultKind]) -> bool {
    plan.steps.iter().any(|step| matches!(step, Step::Fault(fault) if faults.contains(&fault.kind)))
}

fn reaches(tally: &Tally, expected: &[Reached]) {
    for &what in expected {
        assert!(tally.reached(what) > 0, "{what} was not reached");
    }
}

const REDUNDANT: [&str; 7] = ["raid4", "raid5", "log-raid4", "log-raid5", "swan4", "swan5", "epochs"];

#[test]
fn a_replaced_drive_that_comes_back_is_left_out() {
    for subject in REDUNDANT {
        let tally = holds(subject, &[FaultKind::Return], 60);
        reaches(&tally, &[Reached::PredecessorLeftOut]);
    }
}

#[test]
fn without_its_successor_and_another_drive_the_array_is_refused() {
    let plan = "layout=raid5 drives=4 blocks=160 journal=24; write 0+20; kill 1; write 0+20 fua; wait; \
                replace; write 3+9; flush; rest; kill 2; write 5+5 fua; return 1 0; cut 0; read 0+20; write \
                0+3";
    let outcome = attempt(&plan.parse().expect("a plan"), None);
    assert_eq!(outcome.wrong, None);
    reaches(&outcome.tally, &[Reached::PredecessorRefused]);
}

#[test]
fn parts_of_an_array_with_copies_serve_and_are_refused_together() {
    let tally = holds("epochs", &[FaultKind::Halves], 60);
    reaches(
        &tally,
        &[Reached::PartServed, Reached::PartRefused, Reached::DivergedRefused, Reached::PartKept],
    );
}

#[test]
fn two_parts_of_an_array_without_copies_never_serve_both() {
    for subject in ["raid0", "raid5", "log-raid0", "log-raid5", "swan0", "swan5"] {
        let tally = holds(subject, &[FaultKind::Halves], 100);
        reaches(&tally, &[Reached::PartRefused]);
        assert_eq!(tally.reached(Reached::DivergedRefused), 0, "{subject}");
    }
}

/// The first seed for which the array is not refused, and that shows nothing without the bug. Other seeds
/// show lost data first.
fn first(subject: &str, rule: Invariant, fault: FaultKind) -> Option<(u64, Violation)> {
    let layouts = seeds::layouts(subject).expect("it is there");
    (1..=300).find_map(|seed| {
        let plan = seeds::plan(seed, &layouts);
        if !has(&plan, &[fault]) {
            return None;
        }
        let wrong = broken(rule, || attempt(&plan, None).wrong)?;
        if wrong.kind != ViolationKind::NotRefused {
            return None;
        }
        assert_eq!(attempt(&plan, None).wrong, None, "{subject}, seed {seed}");
        Some((seed, wrong))
    })
}

#[test]
fn identities_that_are_ignored_are_noticed() {
    for subject in REDUNDANT {
        let found = first(subject, Invariant::StaleIsLeftOut, FaultKind::Return);
        println!("{subject}: a drive that was replaced is taken back: found by {found:?}");
        assert!(found.is_some(), "{subject}");
    }
}

#[test]
fn halves_that_are_opened_as_one_are_noticed() {
    let found = first("epochs", Invariant::DivergedIsRefused, FaultKind::Halves);
    println!("epochs: halves are opened as one: found by {found:?}");
    assert!(found.is_some());
}
