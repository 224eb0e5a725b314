//! What a run found, in one sentence: how long the slow requests took, and what held them up.

use crate::format::per_cent;
use crate::terminal::wrapped;
use tailcut_base::Cause;
use tailcut_base::quantity::{show_count, show_time};
use tailcut_sim::Report;
use tailcut_sim::report::{KindReport, Tail};

/// The sentence, or nothing where latencies mean little: of a run without figures, under overload, or with
/// too few requests. It is about reads if there are any, because their time is seldom hidden by a buffer.
pub(super) fn sentence(report: &Report, width: usize) -> String {
    if report.unmeasured().is_some() || report.overload.is_some() {
        return String::new();
    }
    let kinds = report.kinds.iter().skip(1);
    let kind = kinds.clone().find(|kind| kind.kind == "read").or(kinds.max_by_key(|kind| kind.requests));
    let text = kind.and_then(|kind| Some(of_kind(kind, tail(kind)?))).unwrap_or_default();
    if text.is_empty() { text } else { wrapped("", &text, width) }
}

/// The slowest 0.1 %, or of fewer requests 1 %, if they are ten at least.
fn tail(kind: &KindReport) -> Option<&Tail> {
    let is_large = |tail: &&Tail| tail.requests >= LEAST && tail.share >= SHARE;
    kind.slowest.iter().filter(is_large).min_by(|a, b| a.share.total_cmp(&b.share))
}

fn of_kind(kind: &KindReport, tail: &Tail) -> String {
    let (from, bare) = (tail.from_ns as f64, kind.latency.bare_ns);
    let of = if tail.share > SHARE { "hundred" } else { "thousand" };
    let mut text = format!("One {} in a {of} takes {} or longer", kind.kind, show_time(from));
    if bare > 0.0 {
        let times = match from / bare {
            times if times < 10.0 => format!("{times:.1}"),
            times => show_count(times),
        };
        text += &format!(", {times} times the {} of an idle drive", show_time(bare));
    }
    let Some(first) = tail.waits.first() else { return text + "." };
    text += &format!("; {} of that is '{}'", per_cent(first.share), first.cause);
    match Cause::ALL.into_iter().find(|cause| cause.label() == first.cause) {
        Some(cause) => text + ": " + &uncapitalized(cause.meaning()),
        None => text + ".",
    }
}

/// A sentence as the continuation of another. Abbreviations keep their capitals.
fn uncapitalized(sentence: &str) -> String {
    let mut letters = sentence.chars();
    match (letters.next(), letters.clone().next()) {
        (Some(first), Some(second)) if !second.is_uppercase() => {
            first.to_lowercase().chain(letters).collect()
        }
        _ => sentence.to_owned(),
    }
}

/// The share of the requests that the sentence is about, if there are enough of them.
const SHARE: f64 = 0.001;
/// Fewer slow requests than this are little more than chance.
const LEAST: u64 = 10;

#[cfg(test)]
mod tests {
    use super::*;
    use tailcut_sim::report::{Curve, Wait};

    fn reads(tails: &[(f64, u64)]) -> KindReport {
        let wait = Wait { cause: Cause::ChipErase.label().into(), mean_ns: 3e6, share: 0.75 };
        let tail = |&(share, requests)| Tail {
            share,
            requests,
            from_ns: 4_000_000,
            waits: vec![wait.clone()],
            held_up: Vec::new(),
        };
        KindReport {
            kind: "read".into(),
            requests: 20_000,
            errors: 0,
            requests_per_s: 0.0,
            bytes_per_s: 0.0,
            latency: Curve { mean_ns: 0.0, points: Vec::new(), max_ns: 0, bare_ns: 80_000.0 },
            waits: Vec::new(),
            slowest: tails.iter().map(tail).collect(),
        }
    }

    #[test]
    fn the_answer_names_time_factor_and_cause() {
        let reads = reads(&[(0.01, 200), (0.001, 20), (0.0001, 2)]);
        let tail = tail(&reads).expect("twenty are enough");
        assert_eq!(
            of_kind(&reads, tail),
            "One read in a thousand takes 4.00 ms or longer, 50 times the 80.0 µs of an idle drive; 75 % of \
             that is 'chip: erase': the chip was busy with an erase."
        );
    }

    #[test]
    fn of_few_requests_the_answer_is_about_one_in_a_hundred_or_none() {
        let few = reads(&[(0.01, 20), (0.001, 2)]);
        assert!(of_kind(&few, tail(&few).expect("twenty")).starts_with("One read in a hundred takes"));
        assert_eq!(tail(&reads(&[(0.01, 9)])), None);
    }

    #[test]
    fn abbreviations_keep_their_capitals() {
        assert_eq!(uncapitalized("The chip."), "the chip.");
        assert_eq!(uncapitalized("DRAM."), "DRAM.");
    }
}
