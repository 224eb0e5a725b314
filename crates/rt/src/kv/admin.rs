//! Status and metrics of a server, for its operator and Prometheus.

use super::figures::Traffic;
use super::shards::{Common, Message};
use crate::ctl::{AdminRequest, Answer, histogram};
use crate::serve::control_server::{AdminTarget, wait_for};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::Sender;
use tailcut_base::quantity::{show_bytes, show_time};
use tailcut_host::kv::session::Sums;
use tailcut_host::kv::session::latency::Latencies;
use tailcut_host::wire::ctl::Ask;
use tailcut_host::wire::metrics::{Kind, Metrics};

/// A server as its control server sees it. Requests about the drive go to the first thread; the counters of
/// shards and threads are collected by the control server itself, so that no serving thread waits for
/// another.
#[derive(Debug)]
pub(super) struct Store {
    common: Arc<Common>,
}

/// Counters that a thread reports.
#[derive(Debug)]
pub(super) struct ThreadReport {
    /// Command latencies since the previous report.
    pub latencies: Latencies,
    /// Traffic on its sockets.
    pub traffic: Traffic,
}

impl Store {
    /// The store whose threads share `common`.
    pub(super) fn new(common: Arc<Common>) -> Store {
        Store { common }
    }

    /// Merges the latencies of all threads into those of the server, and returns their traffic.
    fn collect(&self) -> Result<Traffic, String> {
        let mut all = Traffic::default();
        for thread in 0..self.common.threads() {
            let post = |answer: Sender<ThreadReport>| self.common.post(thread, Message::Report(answer));
            let told = wait_for(NAME, post)?;
            all.add(&told.traffic);
            self.common.latencies().merge(told.latencies);
        }
        Ok(all)
    }

    fn ask_first(&self, ask: Ask) -> Result<Answer, String> {
        wait_for(NAME, |answer| self.common.post(0, Message::AdminRequest(AdminRequest { ask, answer })))
    }

    fn connections(&self) -> u64 {
        self.common.connections.load(Ordering::Relaxed) as u64
    }

    fn status(&self, of_drive: &str) -> Result<String, String> {
        let sums = self.common.sums();
        self.collect()?;
        let mut text = format!(
            "{of_drive}connections {}\nitems {}\nmemory {}, {} used\n{}gets {} ({} found)\nsets {}\n",
            self.connections(),
            sums.items,
            show_bytes(sums.memory as f64),
            show_bytes(sums.memory_used as f64),
            sums.flash.map_or(String::new(), |flash| {
                let bytes = |segments: u64| show_bytes((segments * flash.segment_bytes) as f64);
                let (all, used) = (flash.free_segments + flash.used_segments, flash.used_segments);
                format!("flash {}, {} used\n", bytes(all), bytes(used))
            }),
            sums.statistics.gets(),
            sums.statistics.gets_found(),
            sums.statistics.cmd_set,
        );
        for (kind, source, times) in self.common.latencies().iter() {
            let [half, p99, p999] = [50.0, 99.0, 99.9].map(|p| show_time(times.percentile(p).0 as f64));
            let (kind, source, count) = (kind.name(), source.name(), times.count());
            text += &format!("{kind} {source} {count}; p50 {half}, p99 {p99}, p99.9 {p999}\n");
        }
        let (panics, failed) = (self.common.panics(), self.common.failed_shards());
        if panics > 0 {
            let of = self.common.shards();
            text += &format!(
                "warning: {panics} internal errors, {failed} of {of} shards have failed: see the log, and \
                    restart it\n"
            );
        }
        let (open, most) = (self.connections(), self.common.tallied().sockets.most_connections);
        if most > 0 && open >= most - most / 10 {
            text += &format!(
                "warning: {open} of {most} connections are open; more clients are turned away: raise -c\n"
            );
        }
        if sums.full_shards > 0 {
            text += "warning: the drive is full, and nothing is written until it has room: it is tried again \
                every second\n";
        }
        let lost = sums.engine.damaged + sums.engine.failed_reads;
        if lost > 0 {
            text += &format!("warning: {lost} items could not be read\n");
        }
        Ok(text)
    }

    fn count(&self, metrics: &mut Metrics) -> Result<(), String> {
        let (sums, traffic) = (self.common.sums(), self.collect()?);
        count_sums(&sums, metrics);
        count_traffic(&traffic, metrics);
        let connected = self.connections() as f64;
        metrics.add(Kind::Gauge, "connections", "Clients that are connected.", &[], connected);
        let most = self.common.tallied().sockets.most_connections as f64;
        metrics.add(Kind::Gauge, "connections_limit", "Most clients at a time (-c).", &[], most);
        let panics = self.common.panics() as f64;
        metrics.add(Kind::Counter, "panics_total", "Invariants that did not hold: bugs.", &[], panics);
        let failed = self.common.failed_shards() as f64;
        let about = "Shards that are not used any more after a panic.";
        metrics.add(Kind::Gauge, "kv_failed_shards", about, &[], failed);
        let held = self.common.tallied().client_memory as f64;
        metrics.add(Kind::Gauge, "kv_client_memory_bytes", CLIENT_MEMORY, &[], held);
        for (kind, source, times) in self.common.latencies().iter() {
            let labels = [("kind", kind.name()), ("source", source.name())];
            histogram("kv_command_seconds", LATENCY, &labels, times, metrics);
        }
        Ok(())
    }
}

impl AdminTarget for Store {
    fn what(&self) -> &'static str {
        "store"
    }

    fn name(&self) -> &str {
        NAME
    }

    fn ask(&mut self, ask: Ask) -> Result<Answer, String> {
        match (self.ask_first(ask.clone())?, ask) {
            (Answer::Text(text), Ask::Status) => Ok(Answer::Text(self.status(&text)?)),
            (Answer::Metrics(mut metrics), _) => {
                self.count(&mut metrics)?;
                Ok(Answer::Metrics(metrics))
            }
            (answer, _) => Ok(answer),
        }
    }
}

fn count_sums(sums: &Sums, metrics: &mut Metrics) {
    let (asked, done) = (&sums.statistics, &sums.engine);
    for (kind, count) in [
        ("get", asked.gets()),
        ("store", asked.cmd_set),
        ("touch", asked.touches()),
        ("delete", asked.delete_hits + asked.delete_misses),
        ("incr", asked.incr_hits + asked.incr_misses),
        ("decr", asked.decr_hits + asked.decr_misses),
        ("flush", asked.cmd_flush),
    ] {
        metrics.add(Kind::Counter, "kv_commands_total", COMMANDS, &[("kind", kind)], count as f64);
    }
    for (source, count) in [("dram", done.hits_in_memory), ("flash", done.hits_on_flash)] {
        metrics.add(Kind::Counter, "kv_hits_total", HITS, &[("source", source)], count as f64);
    }
    for (why, count) in [("too_large", asked.store_too_large), ("no_room", asked.store_no_memory)] {
        metrics.add(Kind::Counter, "kv_refused_total", "Values not stored.", &[("why", why)], count as f64);
    }
    for (why, count) in [
        ("size", sums.tiers.refused_small),
        ("ttl", sums.tiers.refused_expiring),
        ("write_budget", sums.tiers.refused_over_budget),
    ] {
        let help = "Items that a bound on writes to flash kept off it.";
        metrics.add(Kind::Counter, "kv_flash_refused_total", help, &[("why", why)], count as f64);
    }
    for (name, help, count) in [
        ("kv_misses_total", "Keys asked for that were not there.", asked.gets() - asked.gets_found()),
        ("kv_evictions_total", "Items evicted.", done.evicted),
        ("kv_not_admitted_total", "Of those, items not found worth writing to flash.", done.not_admitted),
        ("kv_expired_total", "Items whose time was over when they were come across.", done.expired),
        ("kv_moved_to_flash_total", "Items moved from memory to flash.", done.moved_to_flash),
        ("kv_flash_written_bytes_total", "Bytes of records appended to flash for users.", done.written),
        ("kv_flash_copied_bytes_total", "Bytes of records copied on flash for room.", done.copied),
        ("kv_segments_reclaimed_total", "Segments of flash made free.", done.reclaimed),
        ("kv_damaged_records_total", "Records on flash that were not what had been written.", done.damaged),
        (
            "kv_damaged_segments_total",
            "Segments on flash of which an end, the summary or records of unknown keys were not what had \
                been written.",
            done.damaged_segments,
        ),
        ("kv_repaired_total", "Damaged metadata and copies on flash that were written again.", done.repaired),
        ("kv_failed_reads_total", "Reads of items that the drive has failed.", done.failed_reads),
    ] {
        metrics.add(Kind::Counter, name, help, &[], count as f64);
    }
    for (name, help, value) in [
        ("kv_items", "Items that are there.", sums.items),
        ("kv_memory_bytes", "Memory for items.", sums.memory),
        ("kv_memory_used_bytes", "Memory for items that holds some.", sums.memory_used),
        ("kv_index_bytes", "Memory of the index.", sums.index_bytes),
        ("kv_drive_full", "1 while the drive has no room for writes.", u64::from(sums.full_shards > 0)),
        ("kv_recovering", "1 while it finds what is on flash.", u64::from(sums.recovered.is_some())),
    ] {
        metrics.add(Kind::Gauge, name, help, &[], value as f64);
    }
    let Some(flash) = &sums.flash else { return };
    let segments = flash.free_segments + flash.used_segments;
    for (name, help, value) in [
        ("kv_flash_bytes", "Flash for items.", segments * flash.segment_bytes),
        (
            "kv_flash_used_bytes",
            "Flash in segments that hold items.",
            flash.used_segments * flash.segment_bytes,
        ),
        ("kv_flash_items", "Items that are on flash.", flash.items),
    ] {
        metrics.add(Kind::Gauge, name, help, &[], value as f64);
    }
}

fn count_traffic(traffic: &Traffic, metrics: &mut Metrics) {
    for (name, help, count) in [
        ("connections_total", "Clients that have connected.", traffic.connections),
        ("connections_refused_total", "Clients turned away, as there were too many.", traffic.turned_away),
        ("connections_idle_total", "Connections closed, as nothing came.", traffic.idle),
        (
            "connections_hoarding_total",
            "Connections closed, as others waited for the memory that they held.",
            traffic.hoarding,
        ),
        ("logins_failed_total", "Attempts to log in that have failed.", traffic.not_let_in),
        ("datagrams_total", "Requests that came as datagrams.", traffic.datagrams),
        ("datagrams_dropped_total", "Datagrams that were dropped.", traffic.dropped),
        (
            "datagrams_too_long_total",
            "Requests as datagrams whose reply did not fit into one.",
            traffic.too_long_for_udp,
        ),
        ("received_bytes_total", "Bytes received from clients.", traffic.received),
        ("sent_bytes_total", "Bytes sent to clients.", traffic.sent),
    ] {
        metrics.add(Kind::Counter, name, help, &[], count as f64);
    }
}

/// There is one store in a server.
const NAME: &str = "kv";
const CLIENT_MEMORY: &str = "Memory for replies that are not sent, values half sent, and commands that wait.";
const COMMANDS: &str = "Commands by kind; each key of a get is one.";
const HITS: &str = "Items found, by where they were.";
const LATENCY: &str =
    "From the receipt of a command until the sending of answers began with its own among them.";
