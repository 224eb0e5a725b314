//! A log-structured merge store at work.

use super::{per_cent, per_second, short_time};
use crate::terminal::{Align, Table, Tone};
use tailcut_base::quantity::{show_bytes, show_count, show_time};
use tailcut_sim::report::{Curve, StoreReport};

/// What the store did, each figure with its limit.
pub fn table(store: &StoreReport, tone: Tone) -> String {
    let head =
        [("figure", Align::Left), ("measured", Align::Right), ("least", Align::Right), ("", Align::Left)];
    let mut table = Table::new(&head, tone);
    for row in rows(store) {
        table.row(&row);
    }
    format!("{table}\n")
}

type Row = [String; 4];

fn row(figure: &str, measured: String, least: &str, remark: String) -> Row {
    [figure.into(), measured, least.into(), remark]
}

fn rows(store: &StoreReport) -> Vec<Row> {
    let mut rows = Vec::new();
    if store.gets > 0 {
        rows.extend(gets(store));
    }
    if store.puts > 0 {
        rows.extend(puts(store));
    }
    let levels: Vec<String> = store.levels.iter().map(|level| level.files.to_string()).collect();
    let bytes: u64 = store.levels.iter().map(|level| level.bytes).sum();
    rows.push(row("files", show_bytes(bytes as f64), "-", format!("by level: {}", levels.join(" "))));
    rows
}

fn gets(store: &StoreReport) -> Vec<Row> {
    let latency = &store.get_latency;
    vec![
        row("gets per second", per_second(store.gets_per_s), "-", format!("{} gets", count(store.gets))),
        row(
            "get latency",
            show_time(latency.mean_ns),
            &show_time(latency.bare_ns),
            format!("99 %: {}, 99.9 %: {}", point(latency, 99.0), point(latency, 99.9)),
        ),
        row(
            "blocks per get",
            format!("{:.3}", store.blocks_per_get),
            "1",
            format!(
                "{} in the cache, {} by mistake of a filter",
                per_cent(store.cache_hit_share),
                per_cent(store.false_positive_share)
            ),
        ),
    ]
}

fn point(latency: &Curve, percentile: f64) -> String {
    let point = latency.points.iter().find(|point| point.percentile == percentile);
    point.map_or_else(String::new, |point| {
        let mark = if point.resolved { "" } else { "~" };
        format!("{mark}{}", short_time(point.ns as f64))
    })
}

fn puts(store: &StoreReport) -> Vec<Row> {
    let bytes = |bytes: u64| show_bytes(bytes as f64);
    vec![
        row(
            "puts per second",
            per_second(store.puts_per_s),
            "-",
            format!("{} puts, {}", count(store.puts), bytes(store.put_bytes)),
        ),
        row(
            "write stalls",
            show_time(store.stalled_ns as f64),
            "0",
            format!("and {} slowed down", show_time(store.delayed_ns as f64)),
        ),
        row(
            "write amplification",
            format!("{:.2}", store.write_amplification),
            "1",
            format!("{} flushed in {} files", bytes(store.flushed_bytes), store.flushes),
        ),
        row(
            "compactions",
            count(store.compactions),
            "-",
            format!(
                "{} read, {} written; {} files moved",
                bytes(store.compaction_read_bytes),
                bytes(store.compaction_written_bytes),
                store.moved_files
            ),
        ),
        row("log", bytes(store.log_bytes), "-", String::new()),
    ]
}

fn count(count: u64) -> String {
    show_count(count as f64)
}
