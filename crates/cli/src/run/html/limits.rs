//! How far a run was from what physics allows.

use crate::format::{per_cent, per_second};
use crate::html::markup::{Column, Table, bar, escape};
use tailcut_base::quantity::{show_count, show_rate};
use tailcut_sim::Report;

/// Throughput, and the resources that limit it.
pub(super) fn section(report: &Report) -> String {
    let intro = "<p>What each resource had to do at the very least for these requests, and the rate of this \
        mix of requests at which it would have no pause left.</p>\n";
    String::from(intro) + &resources(report) + "<h3>Throughput by kind</h3>\n" + &throughput(report)
}

fn resources(report: &Report) -> String {
    let head = [
        ("resource", Column::Text),
        ("needed", Column::Number),
        ("of its limit", Column::Text),
        ("full at", Column::Number),
    ];
    let mut table = Table::new("Limits", &head);
    for resource in &report.resources {
        table.row_of(&[
            (escape(&resource.name), ""),
            (per_cent(resource.busy), ""),
            (bar(resource.busy), ""),
            (format!("{}/s", per_second(resource.requests_per_s)), ""),
        ]);
    }
    table.html()
}

fn throughput(report: &Report) -> String {
    let number = |title| (title, Column::Number);
    let head = [
        ("kind", Column::Text),
        number("requests"),
        number("per second"),
        number("bandwidth"),
        number("errors"),
    ];
    let mut table = Table::new("Throughput by kind", &head);
    for kind in report.kinds.iter().skip(1).chain(&report.kinds[..1]) {
        table.row(&[
            kind.kind.clone(),
            show_count(kind.requests as f64),
            per_second(kind.requests_per_s),
            show_rate(kind.bytes_per_s),
            show_count(kind.errors as f64),
        ]);
    }
    table.html()
}
