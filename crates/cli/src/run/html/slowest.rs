//! The slowest requests one by one, and what each waited for.

use super::super::slowest::SlowRow;
use crate::format::per_cent;
use crate::html::markup::{Column, Table, chart, escape};
use tailcut_base::quantity::show_time;

/// What the chart shows of a run whose chips were recorded.
const IN_TIME: &str = "Moments since the request was due. Above, what it waited for and its own work; below, \
    what its chips did, the one that was ready last first, framed where it was for this request. A request \
    without work on a chip of its own: its time by cause, not in the order of time.";
/// What it shows of any other.
const BY_CAUSE: &str = "The time of one request by cause, in the order of the path through host and drive.";

/// A table of requests, and a chart of the one that was chosen in it.
pub(super) fn section(slowest: &[SlowRow]) -> Option<String> {
    let first = slowest.first()?;
    let head = [
        ("request", Column::Number),
        ("kind", Column::Text),
        ("due at", Column::Number),
        ("latency", Column::Number),
        ("waited most for", Column::Text),
        ("share", Column::Number),
    ];
    let mut table = Table::new("The slowest requests of each kind", &head);
    for row in slowest {
        let (cause, share) = row.longest().map_or((String::new(), String::new()), |(cause, ns)| {
            (escape(cause), per_cent(*ns as f64 / row.latency_ns() as f64))
        });
        table.row_of(&[
            (pick(row.number(), row == first), ""),
            (escape(row.kind()), ""),
            (show_time(row.due_ns() as f64), ""),
            (show_time(row.latency_ns() as f64), ""),
            (cause, ""),
            (share, ""),
        ]);
    }
    let number = first.number().to_string();
    let shown = if slowest.iter().any(SlowRow::has_lanes) { IN_TIME } else { BY_CAUSE };
    let caption = format!(
        "{shown} Every transaction of its chips, with pages and suspensions: \
         <code>tailcut explain DIR --request <code class=\"request\">{number}</code></code>, where DIR is \
         the folder of the run."
    );
    Some(chart("request", "The slowest of each kind", &caption, &[("request", &number)], &table.html()))
}

fn pick(number: u64, is_chosen: bool) -> String {
    format!(
        "<button type=\"button\" class=\"pick\" value=\"{number}\" aria-pressed=\"{is_chosen}\">{number}</button>"
    )
}
