//! The latency curve, by kind of request.

use super::Detail;
use crate::format::short_time;
use crate::terminal::{Align, ColorMode, Table};
use tailcut_sim::Report;
use tailcut_sim::report::{Curve, KindReport, PERCENTILES, Point};

/// One row for each kind, the limit of its latency first. A brief table has no columns for percentiles that
/// the run is too short for.
pub fn table(report: &Report, detail: Detail, tone: ColorMode) -> String {
    let places = match detail {
        Detail::Full => PERCENTILES.len(),
        Detail::Brief => resolved_places(report),
    };
    let percentiles = PERCENTILES.map(|p| p.to_string());
    let (percentiles, omitted) = percentiles.split_at(places);
    let mut head = vec![("kind", Align::Left), ("bare", Align::Right), ("mean", Align::Right)];
    head.extend(percentiles.iter().map(|p| (p.as_str(), Align::Right)));
    head.push(("max", Align::Right));
    let mut table = Table::new(&head, tone);
    for kind in report.kinds.iter().skip(1).chain(&report.kinds[..1]) {
        let mark = if report.is_volatile(&kind.kind) { "*" } else { "" };
        table.row(&row(&format!("{}{mark}", kind.kind), &kind.latency, places));
    }
    let unresolved = |kind: &KindReport| kind.latency.points.iter().take(places).any(|point| !point.resolved);
    let mut notes = String::new();
    if report.kinds.iter().any(|kind| report.is_volatile(&kind.kind)) {
        notes += &format!("* {VOLATILE}\n");
    }
    if report.kinds.iter().any(unresolved) {
        notes += "~ fewer than ten requests were slower: little more than chance\n";
    }
    if !omitted.is_empty() {
        notes += &format!("percentiles that need a longer run: {}\n", omitted.join(", "));
    }
    format!("{table}\n{notes}")
}

/// The number of percentiles, from the first, up to the last one that some kind of request is enough for.
fn resolved_places(report: &Report) -> usize {
    let resolved = |kind: &KindReport| kind.latency.points.iter().take_while(|point| point.resolved).count();
    report.kinds.iter().map(resolved).max().unwrap_or_default()
}

/// What latencies of writes mean where a power cut can lose them.
pub const VOLATILE: &str = "writes complete in a volatile cache and are durable only once flushed";

/// A point of a curve: marked where fewer than ten requests were slower, and nothing where none was.
pub(super) fn percentile(point: &Point) -> String {
    match point {
        Point { beyond: true, .. } => "-".into(),
        Point { resolved: true, ns, .. } => short_time(*ns as f64),
        Point { ns, .. } => format!("~{}", short_time(*ns as f64)),
    }
}

fn row(kind: &str, curve: &Curve, places: usize) -> Vec<String> {
    let mut cells = vec![kind.to_string(), short_time(curve.bare_ns), short_time(curve.mean_ns)];
    for point in curve.points.iter().take(places) {
        cells.push(percentile(point));
    }
    cells.push(short_time(curve.max_ns as f64));
    cells
}
