//! The latency curve, by kind of request.

use crate::format::short_time;
use crate::terminal::{Align, ColorMode, Table};
use tailcut_sim::Report;
use tailcut_sim::report::{Curve, PERCENTILES, Point};

/// One row for each kind, the limit of its latency first.
pub fn table(report: &Report, tone: ColorMode) -> String {
    let percentiles = PERCENTILES.map(|p| p.to_string());
    let mut head = vec![("kind", Align::Left), ("bare", Align::Right), ("mean", Align::Right)];
    head.extend(percentiles.iter().map(|p| (p.as_str(), Align::Right)));
    head.push(("max", Align::Right));
    let mut table = Table::new(&head, tone);
    for kind in report.kinds.iter().skip(1).chain(&report.kinds[..1]) {
        let mark = if report.is_volatile(&kind.kind) { "*" } else { "" };
        table.row(&row(&format!("{}{mark}", kind.kind), &kind.latency));
    }
    let unresolved = report.kinds.iter().any(|kind| kind.latency.points.iter().any(|point| !point.resolved));
    let mut notes = String::new();
    if report.kinds.iter().any(|kind| report.is_volatile(&kind.kind)) {
        notes += &format!("* {VOLATILE}\n");
    }
    if unresolved {
        notes += "~ fewer than ten requests were slower: little more than chance\n";
    }
    format!("{table}\n{notes}")
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

fn row(kind: &str, curve: &Curve) -> Vec<String> {
    let mut cells = vec![kind.to_string(), short_time(curve.bare_ns), short_time(curve.mean_ns)];
    for point in &curve.points {
        cells.push(percentile(point));
    }
    cells.push(short_time(curve.max_ns as f64));
    cells
}
