//! The make-up of a percentile.

use super::arguments::ExplainArguments;
use super::kept::{SavedRun, Slow};
use super::selection::Selection;
use crate::failure::Failure;
use crate::format::{counted, short_time};
use crate::show::{held_up, waits};
use crate::terminal::{Align, ColorMode, Table, TextRole, window};
use serde::Serialize;
use std::io::Write;
use std::path::Path;
use tailcut_base::config::Choice;
use tailcut_base::quantity::show_time;
use tailcut_base::{Cause, Nanos};
use tailcut_sim::report::{Tail, Wait};
use tailcut_sim::world::Attribution;

/// How many requests around a percentile are looked at where there are plenty.
const AROUND: u64 = 100;
/// How many of the slowest requests are listed.
const LISTED: usize = 5;

/// The composition of a percentile.
#[derive(Debug, Serialize)]
struct MakeUp {
    /// The percentile.
    percentile: f64,
    /// Requests in all.
    requests: u64,
    /// Its latency.
    latency_ns: u64,
    /// How many requests of about that latency are described, bounds of their latencies, and what they waited
    /// for. Where few are close to it, the bounds are far from it.
    around: u64,
    around_from_ns: u64,
    around_to_ns: u64,
    /// The percentiles between which they are.
    around_from_percentile: f64,
    around_to_percentile: f64,
    around_waits: Vec<Wait>,
    /// All slower ones.
    slower: Tail,
    /// What all requests waited for once they were in the drive, if the slower ones waited mostly to get
    /// there.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    in_drive: Vec<Wait>,
    /// Numbers of the slowest requests.
    slowest: Vec<u64>,
}

/// Prints the make-up of the requests around a percentile and of all slower ones.
pub(super) fn explain(arguments: &ExplainArguments, out: &mut dyn Write) -> Result<(), Failure> {
    let kept = SavedRun::open(arguments.folder())?;
    let selection = Selection::new(arguments);
    let attribution = kept.attribution(selection)?;
    if let (0, Selection::Class(class)) = (attribution.count(), selection) {
        return Err(Failure::Input(format!(
            "{}: no reads of class {} beside reads of another class; leave --class out",
            arguments.folder().display(),
            class.number()
        )));
    }
    if attribution.count() == 0 {
        let kind = arguments.kind.map_or("request", |kind| kind.name());
        return Err(Failure::Input(format!("{}: the run measured no {kind}", arguments.folder().display())));
    }
    let latencies = kept.latencies(selection)?;
    let report = &kept.saved.report;
    let selected = report.kinds.iter().find(|kind| kind.kind == selection.name()).unwrap_or(report.all());
    // Latencies are kept in buckets, whose ends may lie beyond the slowest request.
    let slowest_ns = selected.latency.max_ns;
    let latency = latencies.percentile(arguments.percentile).min(Nanos(slowest_ns));
    let count = attribution.count();
    let around = attribution.around(latency, width_around(arguments.percentile, count));
    let percentile_behind = |slower: u64| (count - slower) as f64 / count as f64 * 100.0;
    let slower = 1.0 - arguments.percentile / 100.0;
    let mut slowest = kept.slowest()?;
    slowest.retain(|slow| selection.holds_slow(slow));
    let mut tail = Tail::slowest(&attribution, slower, &latencies, &[]);
    // The run has kept the waits of its slowest requests one by one.
    if let Some(exact) = selected.slowest.iter().find(|exact| exact.requests == tail.requests) {
        tail.waits.clone_from(&exact.waits);
        tail.held_up.clone_from(&exact.held_up);
    }
    tail.from_ns = tail.from_ns.min(slowest_ns);
    let in_drive = match tail.waits.first() {
        Some(wait) if is_outside(wait) => in_drive(&kept.attribution(Selection::All)?),
        _ => Vec::new(),
    };
    let make_up = MakeUp {
        percentile: arguments.percentile,
        requests: count,
        latency_ns: latency.0,
        around: around.count(),
        around_from_ns: around.from.0.min(slowest_ns),
        around_to_ns: around.to.0.min(slowest_ns),
        around_from_percentile: percentile_behind(around.ranks.end),
        around_to_percentile: percentile_behind(around.ranks.start),
        around_waits: Wait::list(&around.shares),
        slower: tail,
        in_drive,
        slowest: slowest.iter().map(|slow| slow.number).collect(),
    };
    let bare_ns = selected.latency.bare_ns;
    let text = if arguments.json {
        serde_json::to_string_pretty(&make_up).expect("plain data") + "\n"
    } else {
        show(
            &make_up,
            &slowest,
            arguments.folder(),
            (bare_ns, report.is_volatile(&selection.name())),
            selection,
        )
    };
    out.write_all(text.as_bytes())?;
    Ok(out.flush()?)
}

/// How many of `count` requests are taken for those around a percentile: at most half as many as are beyond
/// it, or below it if these are fewer, so that those of a short run do not blur into all of its tail.
fn width_around(percentile: f64, count: u64) -> u64 {
    let side = percentile.min(100.0 - percentile) / 100.0 * count as f64;
    ((side / 2.0) as u64).clamp(1, AROUND)
}

/// True for a wait before the drive takes a request.
fn is_outside(wait: &Wait) -> bool {
    [Cause::HostQueue, Cause::Tag].iter().any(|cause| cause.label() == wait.cause)
}

/// What requests waited for once they were in the drive, as shares of that time.
fn in_drive(attribution: &Attribution) -> Vec<Wait> {
    let mut waits = Wait::list(&attribution.all());
    waits.retain(|wait| !is_outside(wait));
    let all: f64 = waits.iter().map(|wait| wait.mean_ns).sum();
    waits.iter_mut().for_each(|wait| wait.share = wait.mean_ns / all);
    waits
}

/// The text. `limit` is the latency of a request on an idle drive, and whether latencies are those of a
/// volatile cache.
fn show(
    make_up: &MakeUp,
    slowest: &[Slow],
    folder: &Path,
    limit: (f64, bool),
    selection: Selection,
) -> String {
    let (bare_ns, is_volatile) = limit;
    let (tone, width) = (ColorMode::of_stdout(), usize::from(window()));
    let heading = |text: &str| format!("\n{}\n", tone.paint(TextRole::Heading, text));
    let requests = counted(make_up.requests, "request");
    let latency = if make_up.requests as f64 * (1.0 - make_up.percentile / 100.0) < 1.0 {
        format!("fewer than one of {requests} is beyond {} %, so it has no figure", make_up.percentile)
    } else {
        let latency = show_time(make_up.latency_ns as f64);
        format!("{} % of {requests} took no more than {latency}", make_up.percentile)
    };
    let least = match selection {
        Selection::All => "requests on an idle drive take",
        _ => "a request on an idle drive takes",
    };
    let on_average = if selection == Selection::All { " on average" } else { "" };
    let mut text = format!("{latency}; {least} at least {}{on_average}\n", show_time(bare_ns));
    if is_volatile {
        text += "latencies of writes are those of a volatile cache: a power cut loses them until they are \
            flushed\n";
    }
    text += &heading(&format!(
        "around {} %: {} ({}) {}",
        make_up.percentile,
        counted(make_up.around, "request"),
        percentile_range(make_up.around_from_percentile, make_up.around_to_percentile),
        time_range(Nanos(make_up.around_from_ns), Nanos(make_up.around_to_ns))
    ));
    text += &waits::bars(&make_up.around_waits, width, tone);
    let tail = &make_up.slower;
    // The sum of nothing is -0.
    let mean: f64 = tail.waits.iter().map(|wait| wait.mean_ns).sum::<f64>() + 0.0;
    text += &heading(&format!(
        "all slower ones: {} from {} on, mean {}",
        counted(tail.requests, "request"),
        show_time(tail.from_ns as f64),
        show_time(mean)
    ));
    text += &waits::bars(&tail.waits, width, tone);
    text += &held_up(tail).map_or_else(String::new, |line| format!("  {line}\n"));
    if !make_up.in_drive.is_empty() {
        let held: f64 = make_up.in_drive.iter().map(|wait| wait.mean_ns).sum();
        text += &heading(&format!(
            "in the drive, once it has taken them: all requests, mean {}",
            show_time(held)
        ));
        text += &waits::bars(&make_up.in_drive, width, tone);
    }
    text += &heading("what that means");
    text += &waits::meanings(&tail.waits, width);
    text += &waits::meanings(&make_up.in_drive, width);
    text += &heading("the slowest");
    if slowest.is_empty() {
        // Of each kind the slowest are kept, and those of a class may be faster than all of them.
        text += &format!(
            "the run kept none of {}: all are faster than the slowest that it kept\n",
            selection.name()
        );
    } else {
        text += &listed(slowest, tone);
    }
    if let Some(slow) = slowest.first() {
        let hint =
            format!("its whole timeline: tailcut explain {} --request {}", folder.display(), slow.number);
        text += &format!("{}\n", tone.paint(TextRole::Faint, &hint));
    }
    text
}

/// `between 2.41 ms and 2.50 ms`; to the nanosecond where both would be the same in the usual digits.
fn time_range(least: Nanos, most: Nanos) -> String {
    let [from, to] = [least, most].map(|time| show_time(time.0 as f64));
    match (least == most, from == to) {
        (true, _) => format!("of {from}"),
        (false, false) => format!("between {from} and {to}"),
        (false, true) => format!("between {} and {} ns", least.0, most.0),
    }
}

/// `98.96 % to 99.04 %`: both with the decimals that their distance needs.
fn percentile_range(from: f64, to: f64) -> String {
    let distance = to - from;
    if distance < 1e-7 {
        return format!("{} %", digits(to));
    }
    let decimals = (1.0 - distance.log10().floor()).clamp(0.0, 7.0) as usize;
    let [mut from, mut to] = [from, to].map(|percentile| format!("{percentile:.decimals$}"));
    while from.contains('.') && from.ends_with(['0', '.']) && to.ends_with(['0', '.']) {
        from.pop();
        to.pop();
    }
    format!("{from} % to {to} %")
}

/// A percentile, with as many digits as its distance from 100 % needs for two of its own.
fn digits(percentile: f64) -> String {
    let beyond = (100.0 - percentile).max(1e-9);
    let decimals = (1.0 - beyond.log10().floor()).clamp(0.0, 7.0) as usize;
    let text = format!("{percentile:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

fn listed(slowest: &[Slow], tone: ColorMode) -> String {
    let head = [
        ("request", Align::Right),
        ("kind", Align::Left),
        ("due at", Align::Right),
        ("latency", Align::Right),
        ("waited most for", Align::Left),
    ];
    let mut table = Table::new(&head, tone);
    for slow in slowest.iter().take(LISTED) {
        let (cause, time) = slow.most;
        table.row(&[
            slow.number.to_string(),
            slow.op.clone(),
            format!("{:.6} s", slow.due.as_secs_f64()),
            short_time(slow.latency.0 as f64),
            match slow.held_up_by.as_str() {
                "" => format!("{}, {}", cause.label(), short_time(time.0 as f64)),
                by => format!("{}, {}; {by}", cause.label(), short_time(time.0 as f64)),
            },
        ]);
    }
    format!("{table}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_requests_around_a_percentile_are_few_where_few_are_beyond_it() {
        assert_eq!(width_around(99.9, 1_000_000), AROUND);
        assert_eq!((width_around(99.0, 1000), width_around(1.0, 1000)), (5, 5));
        assert_eq!((width_around(99.9, 100), width_around(0.0, 100)), (1, 1));
    }

    #[test]
    fn percentiles_are_shown_as_exactly_as_they_are_apart() {
        assert_eq!(
            (digits(98.96), digits(99.999), digits(100.0)),
            ("99".into(), "99.999".into(), "100".into())
        );
        assert_eq!((digits(99.42), digits(50.0), digits(0.0)), ("99.42".into(), "50".into(), "0".into()));
    }

    #[test]
    fn the_ends_of_a_range_are_told_apart() {
        assert_eq!(percentile_range(98.96, 99.04), "98.96 % to 99.04 %");
        assert_eq!(percentile_range(99.895, 99.905), "99.895 % to 99.905 %");
        assert_eq!(percentile_range(40.0, 60.0), "40 % to 60 %");
        assert_eq!(percentile_range(99.0, 100.0), "99 % to 100 %");
        assert_eq!(percentile_range(99.9, 99.9), "99.9 %");
        assert_eq!(time_range(Nanos(2_410_000), Nanos(2_500_000)), "between 2.41 ms and 2.50 ms");
        assert_eq!(time_range(Nanos(2_410_100), Nanos(2_410_900)), "between 2410100 and 2410900 ns");
        assert_eq!(time_range(Nanos(1_040), Nanos(1_040)), "of 1.04 µs");
    }
}
