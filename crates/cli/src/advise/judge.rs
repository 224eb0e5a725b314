//! Whether a run keeps a promise, and how many requests can tell.

use super::results::{TermResult, Verdict};
use crate::sweep::outcome::{FINER, RESOLUTION};
use crate::sweep::promise::Evaluation;
use crate::sweep::{Outcome, Promise, Quantity, Term};

/// Whether a short run breaks a promise already: a percentile by one below it that enough requests decide,
/// for a higher one is no lower; the maximum as it is; anything else by a quarter, which more requests do not
/// make good.
pub fn is_broken_soon(promise: &Promise, outcome: &Outcome) -> bool {
    promise.terms.iter().any(|term| is_term_broken_soon(term, outcome))
}

fn is_term_broken_soon(term: &Term, outcome: &Outcome) -> bool {
    if let Some(percentile) = term.quantity.percentile() {
        return FINER.iter().filter(|lower| **lower <= percentile).any(|lower| {
            let point = outcome.finer(term.quantity.kind(), *lower);
            point.is_some_and(|point| point.resolved && point.ns as f64 > term.bound)
        });
    }
    let Some(evaluation) = term.evaluate(outcome) else { return false };
    if term.quantity.is_lifetime() && !evaluation.resolved {
        return false;
    }
    evaluation.margin < if term.quantity.is_maximum() { 0.0 } else { -SLACK }
}

/// How a run stands to each term, and what follows.
pub fn judge(promise: &Promise, outcome: &Outcome) -> (Verdict, Vec<TermResult>) {
    let evaluations: Vec<Option<Evaluation>> =
        promise.terms.iter().map(|term| term.evaluate(outcome)).collect();
    let verdict = if evaluations.iter().any(|evaluation| evaluation.is_none_or(|evaluation| !evaluation.kept))
    {
        Verdict::Broken
    } else if evaluations.iter().flatten().all(|evaluation| evaluation.resolved) {
        Verdict::Kept
    } else {
        Verdict::KeptTooFew
    };
    let terms = promise.terms.iter().zip(evaluations).map(|(term, evaluation)| result(term, evaluation));
    (verdict, terms.collect())
}

fn result(term: &Term, evaluation: Option<Evaluation>) -> TermResult {
    TermResult {
        term: term.to_string(),
        value: evaluation.map(|evaluation| evaluation.value),
        shown: evaluation.map_or(String::from("unknown"), |s| term.quantity.unit().show(s.value)),
        margin: evaluation.map(|evaluation| evaluation.margin),
        kept: evaluation.is_some_and(|evaluation| evaluation.kept),
        resolved: evaluation.is_none_or(|evaluation| evaluation.resolved),
    }
}

/// How many requests it takes that ten are slower than each percentile of the promise, with a fifth more,
/// given the share of each kind in `outcome`; at least [`LEAST`].
pub fn requests_needed(promise: &Promise, outcome: &Outcome) -> u64 {
    let all = count(outcome, "all").unwrap_or(1.0).max(1.0);
    let needed = |quantity: &Quantity| {
        let slower = 1.0 - quantity.percentile()? / 100.0;
        let share = count(outcome, quantity.kind()).filter(|count| *count > 0.0)? / all;
        Some((1.2 * RESOLUTION / slower / share).ceil() as u64)
    };
    let most = promise.terms.iter().filter_map(|term| needed(&term.quantity)).max();
    most.unwrap_or(0).max(LEAST)
}

fn count(outcome: &Outcome, kind: &str) -> Option<f64> {
    let requests = Quantity::parse(&format!("requests({})", kind.trim_start_matches("read "))).ok()?;
    requests.of(outcome).map(|figure| figure.value)
}

/// Whether a term is about the life of drives, and the run was too short to tell it: nothing was erased yet,
/// or the stock of erased blocks has changed by too much.
pub fn is_life_unknown(promise: &Promise, outcome: &Outcome) -> bool {
    let lifetimes = promise.terms.iter().filter(|term| term.quantity.is_lifetime());
    lifetimes
        .map(|term| term.evaluate(outcome))
        .any(|evaluation| evaluation.is_none_or(|evaluation| !evaluation.resolved))
}

/// How far from its bound a figure of a short run may be and still be good in a long one.
const SLACK: f64 = 0.25;

/// The fewest requests of a long run.
pub const LEAST: u64 = 200_000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sweep::outcome::FinePercentile;
    use serde_json::json;
    use std::collections::BTreeMap;

    fn outcome(points: &[(f64, u64, bool)]) -> Outcome {
        let finer =
            |&(percentile, ns, resolved): &(f64, u64, bool)| FinePercentile { percentile, ns, resolved };
        Outcome {
            report: json!({"kinds": [{"kind": "all", "requests": 1000, "requests_per_s": 50.0, "bytes_per_s": 70.0},
                {"kind": "read", "requests": 250}]}),
            percentiles: BTreeMap::from([("read".to_owned(), points.iter().map(finer).collect())]),
        }
    }

    fn promise(text: &str) -> Promise {
        Promise::parse(text).expect("good")
    }

    #[test]
    fn a_lower_percentile_that_enough_requests_decide_breaks_a_promise_soon() {
        let high = outcome(&[(99.0, 2_000_000, true), (99.9, 3_000_000, false)]);
        assert!(is_broken_soon(&promise("p99.9(read) < 1ms"), &high));
        let chance = outcome(&[(99.0, 500_000, true), (99.9, 3_000_000, false)]);
        assert!(!is_broken_soon(&promise("p99.9(read) < 1ms"), &chance), "that may be chance");
        assert!(!is_broken_soon(&promise("p50(read) < 1ms"), &high), "99 is not below 50");
    }

    #[test]
    fn other_figures_break_it_by_a_quarter() {
        let run = outcome(&[]);
        assert!(!is_broken_soon(&promise("iops >= 60"), &run));
        assert!(is_broken_soon(&promise("iops >= 80"), &run));
    }

    #[test]
    fn a_promise_is_kept_only_as_far_as_its_requests_tell() {
        let verdict = |text: &str, points: &[(f64, u64, bool)]| judge(&promise(text), &outcome(points)).0;
        assert_eq!(verdict("p99(read) < 1ms, iops > 40", &[(99.0, 5, true)]), Verdict::Kept);
        assert_eq!(verdict("p99(read) < 1ms, iops > 40", &[(99.0, 5, false)]), Verdict::KeptTooFew);
        assert_eq!(verdict("p99(read) < 1ms, iops > 60", &[(99.0, 5, true)]), Verdict::Broken);
        assert_eq!(verdict("life >= 3y", &[]), Verdict::Broken, "nothing is known of it");
        assert!(is_life_unknown(&promise("life >= 3y"), &outcome(&[])));
    }

    #[test]
    fn a_life_that_is_not_resolved_takes_a_longer_run() {
        let unknown = |erases: u64, years: f64| {
            let drive = json!({"erases": erases, "erases_least": 100.0, "lifetime": {"years": years}});
            is_life_unknown(&promise("life >= 3y"), &Outcome::bare(json!({"drive": drive})))
        };
        assert!(unknown(20, 9.0));
        assert!(!unknown(95, 9.0) && !unknown(95, 2.0), "erases keep step");
        assert!(unknown(20, 2.0) && unknown(150, 2.0), "it may become longer");
    }

    #[test]
    fn rare_requests_take_a_longer_run() {
        // A quarter of the requests are reads.
        assert_eq!(requests_needed(&promise("p99.99(read) < 1ms"), &outcome(&[])), 480_000);
        assert_eq!(requests_needed(&promise("p99(read) < 1ms"), &outcome(&[])), LEAST);
        assert_eq!(requests_needed(&promise("iops > 1"), &outcome(&[])), LEAST);
    }
}
