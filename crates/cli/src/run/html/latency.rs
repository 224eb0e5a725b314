//! Latencies: the curve, its percentiles, and what requests of each speed waited for.

use crate::format::per_cent;
use crate::html::markup::{Column, Table, chart, folded};
use crate::run::Saved;
use crate::show::latency::VOLATILE;
use tailcut_base::quantity::{show_count, show_time};
use tailcut_sim::Report;
use tailcut_sim::report::{Band, KindDetail, PERCENTILES};

/// The picture of the tail of reads, or of all requests where nothing is read: the curve over what its
/// requests waited for.
pub(super) fn tail(saved: &Saved) -> Option<String> {
    let kinds = &saved.detail.kinds;
    let takes_time = |kind: &&KindDetail| kind.bands.iter().any(|band| !band.waits.is_empty());
    let of = |name: &str| kinds.iter().filter(takes_time).find(|kind| kind.kind == name);
    let kind = of("read").or(of("all"))?;
    let caption = "Each step to the right leaves a tenth of the requests. Below the curve, the share of each \
        cause in the latency of its band of percentiles (50, 90, 99, …). Dashed: the same request on a drive \
        without any other work.";
    let title = format!("{}: latency by percentile, and its causes", plural(&kind.kind));
    Some(chart("tail", &title, caption, &[("kind", &kind.kind)], ""))
}

/// The curve and the table.
pub(super) fn section(saved: &Saved) -> String {
    if saved.detail.kinds.is_empty() {
        return String::from("<p>No request was measured.</p>\n");
    }
    let caption = "Each step to the right leaves a tenth of the requests. Dashed: fewer than ten requests \
        are slower, so chance decides. Lines across: the same request on a drive without any other work.";
    chart("latency", "Latency by percentile", caption, &[], "") + &percentiles(&saved.report)
}

fn percentiles(report: &Report) -> String {
    let kinds = &report.kinds;
    let titles: Vec<String> = PERCENTILES.iter().map(|p| format!("{p} %")).collect();
    let mut head = vec![("kind", Column::Text)];
    for title in
        ["requests", "bare", "mean"].into_iter().chain(titles.iter().map(String::as_str)).chain(["longest"])
    {
        head.push((title, Column::Number));
    }
    let mut table = Table::new("Latency by kind and percentile", &head);
    for kind in kinds.iter().skip(1).chain(&kinds[..1]) {
        let curve = &kind.latency;
        let mut cells = vec![
            format!("{}{}", kind.kind, if report.is_volatile(&kind.kind) { "*" } else { "" }),
            show_count(kind.requests as f64),
            show_time(curve.bare_ns),
            show_time(curve.mean_ns),
        ];
        for point in &curve.points {
            let mark = if point.resolved { "" } else { "~" };
            let time = format!("{mark}{}", show_time(point.ns as f64));
            cells.push(if point.beyond { "-".into() } else { time });
        }
        cells.push(show_time(curve.max_ns as f64));
        table.row(&cells);
    }
    let volatile = match kinds.iter().any(|kind| report.is_volatile(&kind.kind)) {
        true => format!("<p class=\"soft\">* {VOLATILE}.</p>\n"),
        false => String::new(),
    };
    table.html()
        + &volatile
        + "<p class=\"soft\">~ fewer than ten requests were slower: little more than chance. Bare: the least \
            on a drive without any other work.</p>\n"
}

/// A chart and a table of bands for each kind.
pub(super) fn waits(saved: &Saved) -> String {
    let kinds = &saved.detail.kinds;
    // Of one kind alone, all requests are those of the kind. A drive without a buffer to empty takes no time
    // to be flushed.
    let takes_time = |kind: &&KindDetail| kind.bands.iter().any(|band| !band.waits.is_empty());
    let shown: Vec<&KindDetail> =
        kinds.iter().skip(usize::from(kinds.len() == 2)).filter(takes_time).collect();
    let mut html = String::from("<div class=\"charts\">\n");
    for kind in &shown {
        let title = plural(&kind.kind);
        let caption = "Share of the latency of the requests of each band of percentiles; with the band its \
            mean latency.";
        html += &chart("waits", &title, caption, &[("kind", &kind.kind)], "");
    }
    html += "</div>\n";
    for kind in shown {
        let title = format!("{}: the largest parts in figures", plural(&kind.kind));
        html += &folded(&title, &bands(kind));
    }
    html
}

/// What requests of a kind are called.
pub(super) fn plural(kind: &str) -> String {
    match kind {
        "all" => String::from("All requests"),
        "read" => String::from("Reads"),
        "write" => String::from("Writes"),
        "trim" => String::from("Trims"),
        "flush" => String::from("Flushes"),
        other => other.replacen("read class", "Reads of class", 1),
    }
}

fn bands(kind: &KindDetail) -> String {
    let head = [
        ("band", Column::Text),
        ("requests", Column::Number),
        ("from", Column::Number),
        ("mean", Column::Number),
        ("most of it", Column::Words),
    ];
    let mut table = Table::new(&format!("What requests of kind {} waited for, by band", kind.kind), &head);
    for band in &kind.bands {
        let mean: f64 = band.waits.iter().map(|wait| wait.mean_ns).sum();
        let largest: Vec<String> = band
            .waits
            .iter()
            .take(4)
            .filter(|wait| wait.share >= 0.005)
            .map(|wait| format!("{} {} ({})", wait.cause, show_time(wait.mean_ns), per_cent(wait.share)))
            .collect();
        table.row(&[
            name(band),
            show_count(band.requests as f64),
            show_time(band.from_ns as f64),
            show_time(mean),
            largest.join(", "),
        ]);
    }
    table.html()
}

fn name(band: &Band) -> String {
    match band.to {
        100.0 => format!("above {} %", band.from),
        to => format!("{}–{to} %", band.from),
    }
}
