//! The findings of a run, in sentences.

use crate::format::{counted, per_cent, per_second};
use crate::html::markup::escape;
use crate::run::Saved;
use crate::show::held_up;
use tailcut_base::Cause;
use tailcut_base::quantity::{show_count, show_time};
use tailcut_sim::Report;
use tailcut_sim::report::{KindReport, Tail, Wait};

/// The main findings of a run, for a quick overview.
pub(super) fn list(saved: &Saved) -> String {
    let report = &saved.report;
    let mut findings: Vec<String> = report.all().slowest.iter().filter_map(slow).collect();
    findings.extend(report.kinds.iter().skip(1).filter_map(beside_bare));
    findings.extend(bottleneck(report));
    findings.extend(collection(report));
    if report.all().errors > 0 {
        findings
            .push(format!("{} failed; the figures leave them out.", counted(report.all().errors, "request")));
    }
    let items: String = findings.iter().map(|finding| format!("<li>{finding}</li>\n")).collect();
    format!("<ul class=\"findings\">\n{items}</ul>\n")
}

/// The waits of the slowest of all requests.
fn slow(tail: &Tail) -> Option<String> {
    let [first, rest @ ..] = tail.waits.as_slice() else { return None };
    let mean: f64 = tail.waits.iter().map(|wait| wait.mean_ns).sum();
    let also = match rest {
        [next, ..] if next.share >= 0.1 => format!(", {} {}", fraction(next.share), named(next)),
        _ => String::new(),
    };
    let held_up = held_up(tail).map_or_else(String::new, |line| format!(" They were {line}."));
    Some(format!(
        "<b>Slowest {} %</b> ({} from {} on, mean {}): {} of their time is {}{also}.{held_up} <span \
            class=\"soft\">{}</span>",
        tail.share * 100.0,
        counted(tail.requests, "request"),
        escape(&show_time(tail.from_ns as f64)),
        escape(&show_time(mean)),
        fraction(first.share),
        named(first),
        meaning(first)
    ))
}

fn named(wait: &Wait) -> String {
    format!("<b>{}</b>", escape(&wait.cause))
}

fn meaning(wait: &Wait) -> &'static str {
    Cause::ALL.into_iter().find(|cause| cause.label() == wait.cause).map_or("", Cause::meaning)
}

/// A share in words if a fraction is within three hundredths.
fn fraction(share: f64) -> String {
    const WORDS: [(f64, &str); 7] = [
        (1.0, "nearly all"),
        (0.9, "nine tenths"),
        (0.75, "three quarters"),
        (2.0 / 3.0, "two thirds"),
        (0.5, "half"),
        (1.0 / 3.0, "a third"),
        (0.25, "a quarter"),
    ];
    let word = WORDS.iter().find(|(of, _)| (share - of).abs() < 0.03);
    word.map_or_else(|| per_cent(share), |(_, word)| format!("{word} ({})", per_cent(share)))
}

/// How far half of the requests of a kind, and the slow ones, are from a drive without other work.
fn beside_bare(kind: &KindReport) -> Option<String> {
    let bare = kind.latency.bare_ns;
    let at = |percentile: f64| {
        kind.latency.points.iter().rfind(|point| point.resolved && point.percentile <= percentile)
    };
    let (median, tail) = (at(50.0)?, at(99.99)?);
    let times = |ns: u64| match ns as f64 / bare {
        times if times < 10.0 => format!("{times:.1}"),
        times => show_count(times),
    };
    (bare > 0.0).then(|| {
        format!(
            "<b>{}</b>: at least {} without any other work; half of them take {} ({} times that), {} % take \
                up to {} ({} times).",
            escape(&capital(&kind.kind)),
            escape(&show_time(bare)),
            escape(&show_time(median.ns as f64)),
            times(median.ns),
            tail.percentile,
            escape(&show_time(tail.ns as f64)),
            times(tail.ns)
        )
    })
}

fn capital(text: &str) -> String {
    super::capital(text)
}

fn bottleneck(report: &Report) -> Option<String> {
    let limit = report.bottleneck()?;
    Some(format!(
        "<b>Nearest limit</b>: {}, needed for {} of the time at least; it would be full at {}/s.",
        escape(&limit.name),
        per_cent(limit.busy),
        per_second(limit.requests_per_s)
    ))
}

fn collection(report: &Report) -> Option<String> {
    let drive = &report.drive;
    let whose = if report.array.is_some() { "Drive 0" } else { "The drive" };
    (drive.erases > 0).then(|| {
        format!(
            "<b>Collection</b>: {whose} moved {} and erased {}; write amplification {}.",
            counted(drive.programs.gc, "page"),
            counted(drive.erases, "block"),
            drive.write_amplification.map_or("-".into(), |wa| format!("{wa:.3}"))
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_told_in_words_where_words_fit() {
        assert_eq!(fraction(0.74), "three quarters (74 %)");
        assert_eq!(fraction(0.99), "nearly all (99 %)");
        assert_eq!(fraction(0.61), "61 %");
    }

    #[test]
    fn the_slowest_are_told_with_what_they_waited_for() {
        let wait =
            |cause: Cause, share: f64| Wait { cause: cause.label().into(), mean_ns: share * 4e6, share };
        let waits =
            vec![wait(Cause::ChipErase, 0.75), wait(Cause::ChipUserWrite, 0.2), wait(Cause::Cell, 0.05)];
        let tail = Tail { share: 0.001, requests: 10_000, from_ns: 3_100_000, waits, held_up: Vec::new() };
        let text = slow(&tail).expect("there is something to say");
        assert!(text.contains("Slowest 0.1 %</b> (10.0 k requests from 3.10 ms on, mean 4.00 ms)"), "{text}");
        assert!(text.contains(
            "three quarters (75 %) of their time is <b>chip: erase</b>, 20 % <b>chip: user write</b>."
        ));
        assert!(text.contains("The chip was busy with an erase."));
    }
}
