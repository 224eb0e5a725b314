//! What a key-value server says: how to reach it, how it does, and what it has done.

use super::store::Store;
use crate::show::per_second;
use crate::terminal::{Align, Ink, Table, Tone};
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::time::Duration;
use tailcut_base::quantity::{show_bytes, show_count};
use tailcut_host::kv::session::Sums;
use tailcut_rt::AnyDrive;
use tailcut_rt::kv::{Figures, Glance, Server};
use tailcut_rt::serve::Address;

/// Where it is and how to connect.
pub fn greeting(server: &Server<AnyDrive>, store: &Store) -> String {
    let tcp = server.addresses().iter().map(Address::to_string);
    let udp = server.datagrams().iter().map(|at: &SocketAddr| format!("{at} (UDP)"));
    let places: Vec<String> = tcp.chain(udp).collect();
    let netcat = match server.addresses().first() {
        Some(Address::Tcp(at)) => format!("nc -N {} {}", at.ip(), at.port()),
        Some(Address::Unix(path)) => format!("nc -NU {}", path.display()),
        None => String::from("a client"),
    };
    format!(
        "serving {} at {}\ntry\n  printf 'set greeting 0 0 5\\r\\nhello\\r\\nget greeting\\r\\n' | {netcat}\nCtrl-C stops it\n",
        store.description(),
        places.join(", "),
    )
}

/// What a server does, in words, with what has happened since `before`.
pub fn line(now: &Glance, before: &Glance, passed: Duration) -> String {
    let commands = |glance: &Glance| glance.sums.statistics.cmd_get + glance.sums.statistics.cmd_set;
    // Less than before after `stats reset`.
    let rate = commands(now).saturating_sub(commands(before)) as f64 / passed.as_secs_f64();
    let items = show_count(now.sums.items as f64);
    let recovering = now
        .sums
        .recovered
        .map_or(String::new(), |(known, segments)| format!(", recovering: {known} of {segments} segments"));
    format!(
        "{} connections, {} gets and sets/s, {items} items{recovering}",
        now.connections,
        per_second(rate)
    )
}

/// What was served.
pub fn report(figures: &Figures, tone: Tone) -> String {
    let mut text = format!("\n{}\n", tone.paint(Ink::Heading, "served"));
    let mut table = Table::new(&[("what", Align::Left), ("how much", Align::Right)], tone);
    for (name, value) in rows(figures) {
        table.row(&[name.to_string(), value]);
    }
    text += &format!("{table}\n");
    if let Some(block) = figures.unreadable {
        let warning = format!("block {block} of the drive cannot be read: what is on it could not be found");
        text += &format!("{}\n", tone.paint(Ink::Warning, &warning));
    }
    if !figures.is_durable {
        let warning = "the drive has failed or does not answer: what was changed last may not be on it";
        text += &format!("{}\n", tone.paint(Ink::Warning, warning));
    }
    text
}

fn rows(figures: &Figures) -> Vec<(&'static str, String)> {
    let Figures { sums: Sums { statistics, engine, items, .. }, traffic, .. } = figures;
    let count = |count: u64| show_count(count as f64);
    let bytes = |bytes: u64| show_bytes(bytes as f64);
    let mut rows = vec![
        ("connections", count(traffic.connections)),
        ("gets", count(statistics.cmd_get)),
        ("  found", count(statistics.get_hits)),
        ("  of them on flash", count(engine.hits_on_flash)),
        ("sets and the like", count(statistics.cmd_set)),
        ("deletes", count(statistics.delete_hits + statistics.delete_misses)),
        ("items at the end", count(*items)),
        ("given up for others", count(engine.evicted)),
        ("received", bytes(traffic.received)),
        ("sent", bytes(traffic.sent)),
        ("written to flash", bytes(engine.written)),
        ("copied there for room", bytes(engine.copied)),
    ];
    let rare = [
        ("connections turned away", traffic.turned_away),
        ("connections closed for silence", traffic.idle),
        ("wrong passwords", traffic.not_let_in),
        ("datagrams", traffic.datagrams),
        ("datagrams dropped", traffic.dropped),
        ("items that could not be read", engine.failed_reads + engine.damaged),
    ];
    rows.extend(rare.into_iter().filter(|&(_, value)| value > 0).map(|(name, value)| (name, count(value))));
    rows
}

/// The same for programs.
pub fn to_json(figures: &Figures) -> Value {
    let Figures { sums: Sums { statistics, engine, items, .. }, traffic, is_durable, unreadable } = figures;
    json!({
        "is_durable": is_durable,
        "unreadable_block": unreadable,
        "items": items,
        "gets": statistics.cmd_get,
        "hits": statistics.get_hits,
        "hits_on_flash": engine.hits_on_flash,
        "sets": statistics.cmd_set,
        "deletes": statistics.delete_hits + statistics.delete_misses,
        "evicted": engine.evicted,
        "expired": engine.expired,
        "written_bytes": engine.written,
        "copied_bytes": engine.copied,
        "failed_reads": engine.failed_reads,
        "damaged": engine.damaged,
        "connections": traffic.connections,
        "turned_away": traffic.turned_away,
        "closed_for_silence": traffic.idle,
        "wrong_passwords": traffic.not_let_in,
        "datagrams": traffic.datagrams,
        "datagrams_dropped": traffic.dropped,
        "received_bytes": traffic.received,
        "sent_bytes": traffic.sent,
    })
}
