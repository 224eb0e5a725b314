//! Throughput and what limits it.

use crate::format::{per_cent, per_second};
use crate::terminal::{Align, ColorMode, Table};
use tailcut_base::quantity::{show_count, show_rate};
use tailcut_sim::Report;

/// Requests and bytes per second, by kind.
pub(super) fn kinds(report: &Report, tone: ColorMode) -> String {
    let head = ["", "requests", "per second", "bandwidth", "errors"].map(|title| (title, Align::Right));
    let mut table = Table::new(&[("kind", Align::Left), head[1], head[2], head[3], head[4]], tone);
    for kind in report.kinds.iter().skip(1).chain(&report.kinds[..1]) {
        table.row(&[
            kind.kind.clone(),
            show_count(kind.requests as f64),
            per_second(kind.requests_per_s),
            show_rate(kind.bytes_per_s),
            show_count(kind.errors as f64),
        ]);
    }
    format!("{table}\n")
}

/// The need of this mix of requests for each resource, and the rate at which the resource saturates.
pub(super) fn resources(report: &Report, tone: ColorMode) -> String {
    let head = [("limit of", Align::Left), ("needed at least", Align::Right), ("full at", Align::Right)];
    let mut table = Table::new(&head, tone);
    for resource in &report.resources {
        let most = format!("{}/s", per_second(resource.requests_per_s));
        table.row(&[resource.name.clone(), per_cent(resource.busy), most]);
    }
    if table.is_empty() { String::new() } else { format!("\n{table}\n") }
}
