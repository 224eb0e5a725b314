//! A key-value server's status on the terminal: how to reach it, its condition, and its counters.

use super::store::Store;
use super::windows::Open;
use crate::format::{counted, per_second, short_time};
use crate::serve::punctuality;
use crate::terminal::{Align, ColorMode, Table, TextRole};
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::time::Duration;
use tailcut_base::histogram::LatencyHistogram;
use tailcut_base::quantity::{show_bytes, show_count, show_number_of};
use tailcut_host::kv::session::Sums;
use tailcut_host::kv::session::latency::{Kind, Latencies, Source};
use tailcut_rt::AnyDrive;
use tailcut_rt::emulated::Lateness;
use tailcut_rt::kv::{CurrentCounters, Figures, Server};
use tailcut_rt::serve::Address;

/// The message of a server that has started: where it listens, and how to connect.
pub fn greeting(server: &Server<AnyDrive>, store: &Store, open: &Open) -> String {
    let netcat = match server.addresses().first() {
        Some(Address::Tcp(at)) => format!("nc -N {} {}", at.ip(), at.port()),
        Some(Address::Unix(path)) => format!("nc -NU {}", path.display()),
        None => String::from("a client"),
    };
    let mut text = format!("serving {} at {}\n", store.description(), places(server).join(", "));
    if let Some(metrics) = &open.metrics {
        text += &format!("metrics at http://{metrics}/metrics\n");
    }
    text += &format!("try\n  printf 'set greeting 0 0 5\\r\\nhello\\r\\nget greeting\\r\\n' | {netcat}\n");
    if let Some(control) = &open.control {
        text += &format!("  tailcut status {}\n", control.display());
    }
    text + "Ctrl-C stops it\n"
}

/// The addresses at which clients connect, as text; those for datagrams are marked.
pub fn places(server: &Server<AnyDrive>) -> Vec<String> {
    let tcp = server.addresses().iter().map(Address::to_string);
    let udp = server.datagrams().iter().map(|at: &SocketAddr| format!("{at} (UDP)"));
    tcp.chain(udp).collect()
}

/// A server's status in words, with the rates since `before`.
pub fn line(now: &CurrentCounters, before: &CurrentCounters, passed: Duration) -> String {
    let commands = |glance: &CurrentCounters| glance.sums.statistics.gets() + glance.sums.statistics.cmd_set;
    // Less than before after `stats reset`.
    let rate = commands(now).saturating_sub(commands(before)) as f64 / passed.as_secs_f64();
    let items = counted(now.sums.items, "item");
    let recovering = now
        .sums
        .recovered
        .map_or(String::new(), |(known, segments)| format!(", recovering: {known} of {segments} segments"));
    format!(
        "{}, {} gets and sets/s, {items}{recovering}",
        show_number_of(now.connections, "connection"),
        per_second(rate)
    )
}

/// The final statistics of a server, whose emulated drives were `late`.
pub fn report(
    figures: &Figures,
    latencies: &Latencies,
    late: &[(usize, Lateness)],
    tone: ColorMode,
) -> String {
    let mut text = format!("\n{}\n", tone.paint(TextRole::Heading, "served"));
    let mut table = Table::new(&[("what", Align::Left), ("how much", Align::Right)], tone);
    for (name, value) in rows(figures) {
        table.row(&[name.to_string(), value]);
    }
    text += &format!("{table}\n{}\n{}", times(latencies, tone), punctuality::show(late, tone));
    if let Some(block) = figures.unreadable {
        let warning = format!("block {block} of the drive cannot be read: what is on it could not be found");
        text += &format!("{}\n", tone.paint(TextRole::Warning, &warning));
    }
    text
}

/// How long commands took.
fn times(latencies: &Latencies, tone: ColorMode) -> Table {
    let head = [("command", Align::Left), ("item", Align::Left), ("commands", Align::Right)];
    let head = [&head[..], &[("p50", Align::Right), ("p99", Align::Right), ("p99.9", Align::Right)]].concat();
    let mut table = Table::new(&head, tone);
    for (kind, source, times) in latencies.iter() {
        let mut row = vec![kind.name().into(), source.name().into(), show_count(times.count() as f64)];
        row.extend([50.0, 99.0, 99.9].map(|p| short_time(times.percentile(p).0 as f64)));
        table.row(&row);
    }
    table
}

fn rows(figures: &Figures) -> Vec<(&'static str, String)> {
    let Figures { sums: Sums { statistics, engine, items, .. }, traffic, .. } = figures;
    let count = |count: u64| show_count(count as f64);
    let bytes = |bytes: u64| show_bytes(bytes as f64);
    let mut rows = vec![
        ("connections", count(traffic.connections)),
        ("gets", count(statistics.gets())),
        ("  found", count(statistics.gets_found())),
        ("  of them on flash", count(engine.hits_on_flash)),
        ("stores", count(statistics.cmd_set)),
        ("deletes", count(statistics.delete_hits + statistics.delete_misses)),
        ("items at the end", count(*items)),
        ("evicted", count(engine.evicted)),
        ("received", bytes(traffic.received)),
        ("sent", bytes(traffic.sent)),
        ("written to flash", bytes(engine.written)),
        ("copied there for room", bytes(engine.copied)),
    ];
    let rare = [
        ("connections turned away", traffic.turned_away),
        ("connections closed for silence", traffic.idle),
        ("connections closed for memory", traffic.hoarding),
        ("wrong passwords", traffic.not_let_in),
        ("datagrams", traffic.datagrams),
        ("datagrams dropped", traffic.dropped),
        ("datagrams with too long replies", traffic.too_long_for_udp),
        ("items that could not be read", engine.failed_reads + engine.damaged),
    ];
    rows.extend(rare.into_iter().filter(|&(_, value)| value > 0).map(|(name, value)| (name, count(value))));
    rows
}

/// The final statistics as JSON.
pub fn to_json(
    figures: &Figures,
    latencies: &Latencies,
    late: &[(usize, Lateness)],
    has_drive: bool,
) -> Value {
    let Figures { sums: Sums { statistics, engine, items, .. }, traffic, unreadable, .. } = figures;
    let of = |(kind, source, times): (Kind, Source, &LatencyHistogram)| {
        let percentile = |percentile| times.percentile(percentile).0;
        json!({
            "kind": kind.name(),
            "source": source.name(),
            "count": times.count(),
            "mean_ns": times.mean() as u64,
            "p50_ns": percentile(50.0),
            "p99_ns": percentile(99.0),
            "p999_ns": percentile(99.9),
            "max_ns": times.max().0,
        })
    };
    json!({
        "latencies": latencies.iter().map(of).collect::<Vec<_>>(),
        "late": punctuality::reports(late),
        "drive_writes_completed": has_drive.then_some(figures.is_durable()),
        "unreadable_block": unreadable,
        "items": items,
        "gets": statistics.gets(),
        "hits": statistics.gets_found(),
        "hits_on_flash": engine.hits_on_flash,
        "sets": statistics.cmd_set,
        "deletes": statistics.delete_hits + statistics.delete_misses,
        "evicted": engine.evicted,
        "expired": engine.expired,
        "written_bytes": engine.written,
        "copied_bytes": engine.copied,
        "failed_reads": engine.failed_reads,
        "damaged": engine.damaged,
        "damaged_segments": engine.damaged_segments,
        "repaired": engine.repaired,
        "connections": traffic.connections,
        "turned_away": traffic.turned_away,
        "closed_for_silence": traffic.idle,
        "closed_for_memory": traffic.hoarding,
        "wrong_passwords": traffic.not_let_in,
        "datagrams": traffic.datagrams,
        "datagrams_dropped": traffic.dropped,
        "datagrams_too_long": traffic.too_long_for_udp,
        "received_bytes": traffic.received,
        "sent_bytes": traffic.sent,
    })
}
