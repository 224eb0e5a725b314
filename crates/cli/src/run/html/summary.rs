//! The head of a run's page: what ran, and its main figures.

use crate::format::{per_cent, per_second};
use crate::html::markup::escape;
use crate::run::Scenario;
use crate::show;
use crate::terminal::ColorMode;
use tailcut_base::quantity::{show_rate, show_time};
use tailcut_sim::Report;

/// The title of the page.
pub(super) fn title(report: &Report) -> String {
    match &report.array {
        Some(array) => {
            format!("tailcut run: {} over {} x {}", array.layout, array.drives, report.drive_name)
        }
        None => format!("tailcut run: {}", report.drive_name),
    }
}

/// What ran, and figures in tiles.
pub(super) fn lead(report: &Report, scenario: &Scenario) -> String {
    let ran = show::what_ran(report, scenario, ColorMode::Plain);
    let lines: Vec<String> = ran.lines().map(escape).collect();
    let tiles: String = tiles(report)
        .iter()
        .map(|(value, what)| format!("<li><b>{}</b><span>{}</span></li>", escape(value), escape(what)))
        .collect();
    format!("<p class=\"soft\">{}</p>\n<ul class=\"tiles\">{tiles}</ul>\n", lines.join("<br>"))
}

/// Latencies are those of reads, which wait for everything else, or of all requests where nothing is read.
fn tiles(report: &Report) -> Vec<(String, String)> {
    let all = report.all();
    let reads = report.kinds.iter().find(|kind| kind.kind == "read" && kind.requests > 0);
    let (latency, kind) = reads.map_or((&all.latency, "all"), |reads| (&reads.latency, "reads"));
    let mut tiles = vec![
        (format!("{}/s", per_second(all.requests_per_s)), String::from("requests")),
        (show_rate(all.bytes_per_s), String::from("bandwidth")),
        (show_time(latency.mean_ns), format!("{kind}: mean")),
    ];
    for point in latency.points.iter().filter(|point| point.resolved) {
        tiles.push((show_time(point.ns as f64), format!("{kind}: {} %", point.percentile)));
    }
    tiles.push((show_time(latency.max_ns as f64), format!("{kind}: longest")));
    if let Some(limit) = report.bottleneck() {
        tiles.push((per_cent(limit.busy), format!("of the limit of {}", limit.name)));
    }
    tiles
}
