//! A key-value server at work.

use crate::format::{counted, per_cent};
use crate::terminal::{Align, ColorMode, Table};
use tailcut_base::quantity::{show_bytes, show_count, show_time};
use tailcut_sim::report::{Curve, KvReport};

/// What clients had of it, and what it had to do.
pub(super) fn part(server: &KvReport, tone: ColorMode) -> String {
    let head = [
        ("command", Align::Left),
        ("number", Align::Right),
        ("mean", Align::Right),
        ("50", Align::Right),
        ("99", Align::Right),
        ("99.9", Align::Right),
        ("max", Align::Right),
    ];
    let mut table = Table::new(&head, tone);
    let kinds = [
        ("get, from memory", server.from_memory, &server.from_memory_latency),
        ("get, from flash", server.from_flash, &server.from_flash_latency),
        ("  of that, storage", server.from_flash, &server.flash_latency),
        ("set", server.sets, &server.set_latency),
    ];
    for (kind, number, latency) in kinds.into_iter().filter(|(_, number, _)| *number > 0) {
        table.row(&row(kind, number, latency));
    }
    format!("{table}\n{}", lines(server))
}

fn row(kind: &str, number: u64, latency: &Curve) -> [String; 7] {
    let at = |percentile: f64| {
        let point = latency.points.iter().find(|point| point.percentile == percentile);
        point.map_or_else(|| "-".into(), |point| show_time(point.ns as f64))
    };
    let (number, mean) = (show_count(number as f64), show_time(latency.mean_ns));
    [kind.into(), number, mean, at(50.0), at(99.0), at(99.9), show_time(latency.max_ns as f64)]
}

fn lines(server: &KvReport) -> String {
    let mut text = format!(
        "  {} found nothing, {} refused, {} evicted\n",
        counted(server.misses, "get"),
        counted(server.refused, "command"),
        counted(server.evicted, "item")
    );
    text += &format!(
        "  its threads were busy for {} of the time, wires to it {}, from it {}\n",
        per_cent(server.thread),
        per_cent(server.wire_in),
        per_cent(server.wire_out)
    );
    let shares: Vec<String> =
        server.cpu_time.iter().map(|part| format!("{} {}", part.on, per_cent(part.share))).collect();
    for line in shares.chunks(4) {
        text += &format!("  {}\n", line.join(", "));
    }
    text += &format!(
        "  log: {} written, {} copied, {} freed\n",
        show_bytes(server.written_bytes as f64),
        show_bytes(server.copied_bytes as f64),
        counted(server.reclaimed, "segment")
    );
    text
}
