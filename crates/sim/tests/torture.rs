//! Crash and fault search: the layouts keep their promises, the checkers notice when one is broken, and
//! a run is the same every time.

use tailcut_base::config::Choice;
use tailcut_base::random::Stream;
use tailcut_sim::torture::{Canary, FaultKind, Plan, Reached, Tally, attempt, run, seeds, shrink};

/// `TAILCUT_CASES` seeds from `TAILCUT_SEED` on.
fn cases(least: u64) -> std::ops::Range<u64> {
    let number =
        |name: &str, default| std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default);
    let first = number("TAILCUT_SEED", 1);
    first..first + number("TAILCUT_CASES", least)
}

fn holds(subject: &str, count: u64) -> Tally {
    let layouts = seeds::layouts(subject).expect("it is there");
    let mut tally = Tally::default();
    for seed in cases(count) {
        let outcome = attempt(&seeds::plan(seed, &layouts), None);
        if let Some(wrong) = outcome.wrong {
            panic!("{wrong}\nsee it again with: tailcut torture --subject {subject} --seed {seed}");
        }
        tally.merge(&outcome.tally);
    }
    tally
}

#[test]
fn arrays_keep_their_promises() {
    let tally = holds("arrays", 400);
    for what in [Reached::CutUnderLoad, Reached::CutInRecovery, Reached::TornWrite, Reached::LostCached] {
        assert!(tally.reached(what) > 0, "{what} was not reached");
    }
    assert!(tally.faults(FaultKind::Slow) > 0 && tally.faults(FaultKind::FailWrite) > 0);
}

/// Planted bugs, and the seeds within which each must be found; most are found in the first dozen.
#[test]
fn every_planted_bug_is_found() {
    let layouts = seeds::layouts("arrays").expect("there are arrays");
    for &canary in Canary::all() {
        let found =
            (1..=300).find(|&seed| attempt(&seeds::plan(seed, &layouts), Some(canary)).wrong.is_some());
        let seed = found.unwrap_or_else(|| panic!("{canary} was not found within 300 seeds"));
        println!("{canary}: {seed} seeds");
    }
}

#[test]
fn a_run_is_the_same_every_time() {
    let layouts = seeds::layouts("arrays").expect("there are arrays");
    for seed in 1..20 {
        let plan = seeds::plan(seed, &layouts);
        let first = attempt(&plan, None);
        assert_eq!(first, attempt(&plan, None), "seed {seed}");
        let mut lines = 0;
        assert_eq!(first, run(&plan, None, Some(&mut |_, _| lines += 1)), "seed {seed}, watched");
        assert!(lines > 0);
    }
}

#[test]
fn a_plan_comes_back_from_its_text() {
    let layouts = seeds::layouts("arrays").expect("there are arrays");
    for seed in 1..200 {
        let plan = seeds::plan(seed, &layouts);
        assert_eq!(plan.to_string().parse(), Ok(plan.clone()));
        assert_eq!(plan.in_line().parse(), Ok(plan));
    }
}

#[test]
fn bad_plans_say_where_and_what_would_be_right() {
    let message = |text: &str| text.parse::<Plan>().expect_err("it is wrong").to_string();
    assert!(message("drives=2\nwrite 3+1; rite 4+1").starts_with("statement 3 of the plan, 'rite 4+1'"));
    assert!(message("write 3").contains("BLOCK+COUNT"));
    assert!(message("layout=raid6").contains("raid5"));
    assert!(message("layout=raid5 drives=2").contains("needs at least 3 drives"));
    assert!(message("slow 1 5").contains("xFACTOR"));
}

#[test]
fn a_plan_that_fails_is_made_small() {
    let layouts = seeds::layouts("raid0").expect("there is raid0");
    let canary = Some(Canary::ForgetsFua);
    let fails = |plan: &Plan| attempt(plan, canary).wrong.is_some();
    let plan = (1..300).map(|seed| seeds::plan(seed, &layouts)).find(&fails).expect("it is found");
    let small = shrink(&plan, 1500, &mut |plan| fails(plan));
    assert!(fails(&small));
    assert!(small.steps.len() <= 4, "a write and a cut are enough:\n{small}");
}

/// What drives leave open must not be decided by the way that plans are drawn.
#[test]
fn streams_have_their_own_names() {
    let (mut plan, mut drive) = (Stream::new(1, "torture plan"), Stream::new(1, "torture drive 1"));
    assert_ne!(plan.bits(), drive.bits());
}
