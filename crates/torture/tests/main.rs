//! Crash and fault search in the tests: a share of the seeds that `tailcut torture` runs in CI.

#![allow(missing_docs)]

mod above;
mod arrays;
mod digests;
mod members;
mod steps;

use tailcut_torture::{Plan, Reached, Tally, attempt};

/// `TAILCUT_CASES` seeds from `TAILCUT_SEED` on.
fn cases(least: u64) -> std::ops::Range<u64> {
    let number =
        |name: &str, default| std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default);
    let first = number("TAILCUT_SEED", 1);
    first..first + number("TAILCUT_CASES", least)
}

/// Runs the plans of `count` seeds, none of which may show a violation. Returns what they reached.
fn all_hold(subject: &str, count: u64, plan: impl Fn(u64) -> Plan) -> Tally {
    let mut tally = Tally::default();
    for seed in cases(count) {
        let outcome = attempt(&plan(seed), None);
        if let Some(wrong) = outcome.wrong {
            panic!("{wrong}\nsee it again with: tailcut torture --subject {subject} --seed {seed}");
        }
        tally.merge(&outcome.tally);
    }
    tally
}

fn reaches(tally: &Tally, expected: &[Reached]) {
    for &what in expected {
        assert!(tally.reached(what) > 0, "{what} was not reached");
    }
}
