//! A server's status on the terminal: how to reach it, its condition, and its counters.

use super::arguments::{BlockArguments, TlsMode};
use super::punctuality::{self, LateReport};
use crate::ctl::DEFAULT_CONTROL;
use crate::format::{counted, per_second, short_time};
use crate::terminal::{Align, ColorMode, Table, TextRole};
use serde::Serialize;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tailcut_base::quantity::{show_bytes, show_count, show_number_of, show_rate};
use tailcut_rt::AnyDrive;
use tailcut_rt::serve::server::Served;
use tailcut_rt::serve::tls::Handshakes;
use tailcut_rt::serve::{Address, Figures, Kind, Server};

/// Where it is and how to connect: to each drive by its name, with a description.
pub fn greeting(
    address: &Address,
    what: &[(String, String)],
    metrics: Option<&Address>,
    arguments: &BlockArguments,
) -> String {
    let mode = if arguments.read_only { ", read-only" } else { "" };
    let tls = match (&arguments.tls_certificates, arguments.tls) {
        (None, _) => "",
        (Some(_), TlsMode::Require) => ", TLS required",
        (Some(_), TlsMode::Allow) => ", TLS allowed",
    };
    let mut text = String::new();
    for (place, (name, what)) in what.iter().enumerate() {
        let uri = match arguments.tls_certificates {
            None => address.uri(name),
            Some(_) => address.encrypted_uri(name),
        };
        text += &format!("serving {what}{mode} as '{name}' at {address}{tls}\n  {uri}\n");
        if let Some(number) = arguments.ublk(place) {
            text += &format!("  /dev/ublkb{number}\n");
        }
    }
    if let Some(scale) = arguments.time_scale {
        text += &format!("its clock runs {scale} times slower: divide the latencies of clients by {scale}\n");
    }
    if let Some(metrics) = metrics {
        text += &format!("metrics at http://{metrics}/metrics\n");
    }
    if arguments.run.is_some() {
        return text;
    }
    let name = &what[0].0;
    let attempts = match &arguments.tls_certificates {
        None => attempts(address, name),
        Some(folder) => encrypted_attempts(address, name, folder),
    };
    let control = arguments.control();
    // The default of the command is where a server is by default.
    let control =
        if control == Path::new(DEFAULT_CONTROL) { String::new() } else { format!(" {}", control.display()) };
    text + &format!("try\n{attempts}  tailcut status{control}\nCtrl-C stops it\n")
}

/// What to try first with a drive.
fn attempts(address: &Address, name: &str) -> String {
    let uri = address.uri(name);
    format!(
        "  nbdinfo '{uri}'\n  fio --name=try --ioengine=nbd --uri='{uri}' --rw=randread --bs=4k --iodepth=32 \
         --time_based --runtime=5\n"
    )
}

/// Commands to try for a client with TLS, which finds its authority, and its own certificate if it needs
/// one, in the server's folder. fio takes no certificates with its URI.
fn encrypted_attempts(address: &Address, name: &str, folder: &Path) -> String {
    let uri = address.encrypted_uri_with(name, folder);
    format!("  nbdinfo '{uri}'\n  nbdcopy '{uri}' null:\n")
}

/// The state of a server at a moment.
#[derive(Clone, Copy, Debug)]
pub struct ServerState {
    requests: u64,
    bytes: u64,
    connections: u64,
}

impl ServerState {
    /// The counters of a running server at this moment, summed over its drives.
    pub fn of(server: &Server<AnyDrive>) -> ServerState {
        let mut glance = ServerState { requests: 0, bytes: 0, connections: 0 };
        for live in server.live() {
            glance.requests += live.requests.load(Ordering::Relaxed);
            glance.bytes += live.bytes.load(Ordering::Relaxed);
            glance.connections += live.connections.load(Ordering::Relaxed);
        }
        glance
    }

    /// Number of open connections.
    pub fn connections(&self) -> u64 {
        self.connections
    }

    /// In words, with the rates since `before`.
    pub fn line(&self, before: &ServerState, passed: Duration) -> String {
        let rate = |now: u64, before: u64| (now - before) as f64 / passed.as_secs_f64();
        format!(
            "{}, {} requests/s, {}, {} in all",
            show_number_of(self.connections, "connection"),
            per_second(rate(self.requests, before.requests)),
            show_rate(rate(self.bytes, before.bytes)),
            counted(self.requests, "request"),
        )
    }
}

/// The final statistics of a server.
pub fn report(served: &Served<AnyDrive>, tone: ColorMode) -> String {
    let mut text = String::new();
    for (name, figures, drive) in &served.drives {
        text += &format!("\n{}\n", tone.paint(TextRole::Heading, &format!("served '{name}'")));
        text += &table(figures, tone);
        text += &remarks(figures, served.turned_away);
        text += &punctuality::show(&drive.latenesses(), tone);
    }
    text + &served.handshakes.as_ref().map(encryption).unwrap_or_default()
}

/// The TLS handshakes, and the reason of the last failure.
fn encryption(handshakes: &Handshakes) -> String {
    let count = |count: u64| show_count(count as f64);
    let mut text = format!("TLS: {} handshakes", count(handshakes.done));
    if let Some(why) = &handshakes.last_failure {
        text += &format!(", {} failed (the last: {why})", count(handshakes.failed));
    }
    text + "\n"
}

fn table(figures: &Figures, tone: ColorMode) -> String {
    if figures.requests() == 0 {
        return String::from("no requests\n");
    }
    let titles = ["requests", "data", "errors", "mean", "50", "99", "99.9", "max"];
    let mut head = vec![("kind", Align::Left)];
    head.extend(titles.map(|title| (title, Align::Right)));
    let mut table = Table::new(&head, tone);
    for (kind, served) in
        Kind::ALL.iter().zip(&figures.kinds).filter(|(_, served)| served.latency.count() > 0)
    {
        let latency = &served.latency;
        let mut cells = vec![
            kind.name().to_string(),
            show_count(latency.count() as f64),
            show_bytes(served.bytes as f64),
            served.errors.to_string(),
            short_time(latency.mean()),
        ];
        cells.extend([50.0, 99.0, 99.9].map(|percent| short_time(latency.percentile(percent).0 as f64)));
        cells.push(short_time(latency.max().0 as f64));
        table.row(&cells);
    }
    format!("{table}\nlatency from the receipt of a request until its reply is ready to be sent\n")
}

fn remarks(figures: &Figures, turned_away: u64) -> String {
    let mut remarks = show_number_of(figures.connections, "connection");
    let more = [
        (figures.expelled, "closed for what they sent or for standing in the way"),
        (turned_away, "turned away before they named an export"),
        (figures.refused, "requests refused"),
        (figures.widened, "writes of parts of blocks (read, changed and written whole)"),
    ];
    for (count, what) in more.into_iter().filter(|&(count, _)| count > 0) {
        remarks += &format!(", {} {what}", show_count(count as f64));
    }
    remarks + "\n"
}

#[derive(Debug, Serialize)]
struct Report {
    exports: Vec<ExportReport>,
    turned_away: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    tls: Option<TlsReport>,
}

#[derive(Debug, Serialize)]
struct TlsReport {
    handshakes: u64,
    failed: u64,
    last_failure: Option<String>,
}

#[derive(Debug, Serialize)]
struct ExportReport {
    name: String,
    connections: u64,
    expelled: u64,
    refused: u64,
    widened: u64,
    kinds: Vec<KindReport>,
    /// Of emulated drives.
    late: Vec<LateReport>,
}

#[derive(Debug, Serialize)]
struct KindReport {
    kind: &'static str,
    requests: u64,
    bytes: u64,
    errors: u64,
    mean_ns: f64,
    p50_ns: u64,
    p99_ns: u64,
    p999_ns: u64,
    max_ns: u64,
}

/// The final statistics as JSON.
#[expect(clippy::missing_panics_doc, reason = "plain data becomes JSON")]
pub fn to_json(served: &Served<AnyDrive>) -> serde_json::Value {
    let exports = served.drives.iter().map(|(name, figures, drive)| export(name, figures, drive)).collect();
    let tls = served.handshakes.as_ref().map(|handshakes| TlsReport {
        handshakes: handshakes.done,
        failed: handshakes.failed,
        last_failure: handshakes.last_failure.clone(),
    });
    let report = Report { exports, turned_away: served.turned_away, tls };
    serde_json::to_value(report).expect("figures are JSON")
}

fn export(name: &str, figures: &Figures, drive: &AnyDrive) -> ExportReport {
    let kinds = Kind::ALL.iter().zip(&figures.kinds).map(|(kind, served)| {
        let percentile = |percent| served.latency.percentile(percent).0;
        KindReport {
            kind: kind.name(),
            requests: served.latency.count(),
            bytes: served.bytes,
            errors: served.errors,
            mean_ns: served.latency.mean(),
            p50_ns: percentile(50.0),
            p99_ns: percentile(99.0),
            p999_ns: percentile(99.9),
            max_ns: served.latency.max().0,
        }
    });
    let &Figures { connections, expelled, refused, widened, .. } = figures;
    let late = punctuality::reports(&drive.latenesses());
    ExportReport { name: name.into(), connections, expelled, refused, widened, kinds: kinds.collect(), late }
}
