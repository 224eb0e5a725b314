//! A log-structured merge store at work.

use super::latency;
use crate::format::{per_cent, per_second};
use crate::terminal::{Align, ColorMode, Table};
use tailcut_base::quantity::{show_bytes, show_count, show_number_of, show_time};
use tailcut_sim::report::{Curve, OperationReport, StoreReport};

/// The statistics of the store, each figure beside its ideal value.
pub(super) fn table(store: &StoreReport, tone: ColorMode) -> String {
    let head =
        [("figure", Align::Left), ("measured", Align::Right), ("ideal", Align::Right), ("", Align::Left)];
    let mut table = Table::new(&head, tone);
    for row in rows(store) {
        table.row(&row);
    }
    format!("{table}\n")
}

type Row = [String; 4];

fn row(figure: &str, measured: String, ideal: &str, remark: String) -> Row {
    [figure.into(), measured, ideal.into(), remark]
}

fn rows(store: &StoreReport) -> Vec<Row> {
    let mut rows = Vec::new();
    if store.gets > 0 {
        rows.extend(gets(store));
    }
    if !store.operations.is_empty() {
        rows.extend(operations(store));
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
        row("get latency", show_time(latency.mean_ns), &show_time(latency.bare_ns), tail(latency)),
        blocks("blocks per get", store),
    ]
}

fn tail(latency: &Curve) -> String {
    format!("99 %: {}, 99.9 %: {}", point(latency, 99.0), point(latency, 99.9))
}

fn blocks(figure: &str, store: &StoreReport) -> Row {
    let paged = store.page_cache_hit_share;
    let paged = paged
        .map_or_else(String::new, |share| format!(", {} of the rest in the page cache", per_cent(share)));
    let remark = format!(
        "{} in the cache{paged}, {} by false positives of a filter",
        per_cent(store.cache_hit_share),
        per_cent(store.false_positive_share)
    );
    row(figure, format!("{:.3}", store.blocks_per_get), "1", remark)
}

/// Of each kind what the application sees, and what the disk does for it.
fn operations(store: &StoreReport) -> Vec<Row> {
    let all: u64 = store.operations.iter().map(|of| of.count).sum();
    let per_s: f64 = store.operations.iter().map(|of| of.per_s).sum();
    let shares: Vec<String> = store
        .operations
        .iter()
        .map(|of| format!("{} {}s", per_cent(of.count as f64 / all as f64), of.kind))
        .collect();
    let remark = format!("{} operations: {}", count(all), shares.join(", "));
    let mut rows = vec![row("operations per second", per_second(per_s), "-", remark)];
    rows.extend(store.operations.iter().flat_map(operation));
    if store.blocks_per_get > 0.0 {
        rows.push(blocks("blocks per read", store));
    }
    rows
}

fn operation(of: &OperationReport) -> Vec<Row> {
    let line = |figure: String, latency: &Curve| {
        row(&figure, show_time(latency.mean_ns), &show_time(latency.bare_ns), tail(latency))
    };
    let mut rows = vec![line(format!("{} latency", of.kind), &of.latency)];
    if of.disk_reads > 0 {
        let mut disk = line(String::from("  of a read of the disk"), &of.disk_latency);
        disk[3] += &format!("; {:.3} for each", of.disk_reads as f64 / of.count as f64);
        rows.push(disk);
    }
    rows
}

fn point(latency: &Curve, percentile: f64) -> String {
    let point = latency.points.iter().find(|point| point.percentile == percentile);
    point.map_or_else(String::new, latency::percentile)
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
            format!("{} flushed in {}", bytes(store.flushed_bytes), show_number_of(store.flushes, "file")),
        ),
        row(
            "compactions",
            count(store.compactions),
            "-",
            format!(
                "{} read, {} written; {} moved",
                bytes(store.compaction_read_bytes),
                bytes(store.compaction_written_bytes),
                show_number_of(store.moved_files, "file")
            ),
        ),
        row("log", bytes(store.log_bytes), "-", String::new()),
    ]
}

fn count(count: u64) -> String {
    show_count(count as f64)
}
