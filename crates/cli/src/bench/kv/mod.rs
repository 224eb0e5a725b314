//! `tailcut bench kv`: clients of a key-value server, ours or memcached.
//!
//! Each client is a thread with a connection, which sends a full batch of commands with one system call,
//! waits until all of them are answered, and sends the next. Keys are drawn before the time is taken, so
//! that the measurement covers the server only.

mod choice;
mod client;

use crate::failure::Failure;
use crate::format::{per_second, short_time};
use crate::output::is_stdout;
use crate::output::write_json;
use choice::{Command, Item, Plan};
use clap::Args;
use client::Client;
use serde::Serialize;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tailcut_base::Nanos;
use tailcut_base::histogram::LatencyHistogram;
use tailcut_base::quantity::parse_time;
use tailcut_rt::Clock;

/// `tailcut bench kv`.
#[derive(Clone, Debug, Args)]
pub struct KvBench {
    /// TCP address of the server
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:11211", conflicts_with = "unix")]
    tcp: SocketAddr,
    /// Unix socket of the server instead
    #[arg(long, value_name = "PATH")]
    unix: Option<PathBuf>,
    /// Number of clients, each with a connection and a thread
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=256))]
    clients: u32,
    /// Commands in flight per client
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1024))]
    depth: u32,
    /// Number of items, drawn from a Zipf distribution with θ = 0.99; default: 100000, or numKeys of
    /// --cachebench
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..1 << 31))]
    items: Option<u32>,
    /// Bytes per value
    #[arg(long, value_name = "BYTES", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=1 << 20))]
    value: u32,
    /// Percentage of gets; the other commands are sets
    #[arg(long, value_name = "N", default_value_t = 90, value_parser = clap::value_parser!(u32).range(0..=100))]
    gets: u32,
    /// Operations, popularity and sizes of a CacheBench configuration (JSON) instead
    #[arg(long, value_name = "FILE", conflicts_with_all = ["value", "gets"])]
    cachebench: Option<PathBuf>,
    /// Store all items first
    #[arg(long)]
    load: bool,
    /// Store items that a get misses, as cache clients do
    #[arg(long)]
    fill: bool,
    /// PID of the server, to report its processor time
    #[arg(long, value_name = "PID")]
    pid: Option<u32>,
    /// Duration
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = time)]
    time: Nanos,
    /// Commands of all clients together instead, without those that store what was missed
    #[arg(long, value_name = "N", conflicts_with = "time", value_parser = clap::value_parser!(u64).range(1..))]
    commands: Option<u64>,
    /// Seed of the random choices
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Write the results as JSON to a file, or with '-' to standard output
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

fn time(text: &str) -> Result<Nanos, String> {
    parse_time(text).map_err(|bad| bad.message)
}

/// A command, and its item; `None` for a new one that only this command names.
#[derive(Clone, Copy, Debug)]
struct Choice {
    command: Command,
    item: Option<Item>,
}

/// What clients have measured.
#[derive(Debug)]
struct Tally {
    latency: LatencyHistogram,
    get_latency: LatencyHistogram,
    gets: u64,
    hits: u64,
    /// Commands that were refused (`SERVER_ERROR`).
    refused: u64,
}

impl Tally {
    fn new() -> Tally {
        let (latency, get_latency) = (LatencyHistogram::new(), LatencyHistogram::new());
        Tally { latency, get_latency, gets: 0, hits: 0, refused: 0 }
    }

    fn add(&mut self, other: &Tally) {
        self.latency.merge(&other.latency);
        self.get_latency.merge(&other.get_latency);
        self.gets += other.gets;
        self.hits += other.hits;
        self.refused += other.refused;
    }
}

/// The results of a benchmark.
#[derive(Debug, Serialize)]
struct Measured {
    commands_per_s: f64,
    commands: u64,
    gets: u64,
    hits: u64,
    /// Commands that were refused (`SERVER_ERROR`).
    refused: u64,
    mean_ns: f64,
    p50_ns: u64,
    p99_ns: u64,
    p999_ns: u64,
    max_ns: u64,
    /// Of gets alone, whether they found something or not.
    get_p50_ns: u64,
    get_p99_ns: u64,
    get_p999_ns: u64,
    /// For each second of processor time of the server.
    commands_per_cpu_s: Option<f64>,
}

/// Does what the arguments ask and prints to `out`.
///
/// # Errors
/// No key-value server at the address, an error of the connection, or results that cannot be written.
#[expect(clippy::missing_panics_doc, reason = "plain data becomes JSON")]
pub fn kv(arguments: &KvBench, out: &mut dyn Write) -> Result<(), Failure> {
    let plan = Plan::of(arguments).map_err(|error| Failure::Input(error.to_string()))?;
    let measured = measure(arguments, plan).map_err(|error| {
        let server = match &arguments.unix {
            Some(path) => path.display().to_string(),
            None => arguments.tcp.to_string(),
        };
        match error.kind() {
            io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound => Failure::Input(format!(
                "no server answers at {server}: start one with 'tailcut serve kv', or name another with \
                    --tcp or --unix"
            )),
            _ => Failure::Operation(format!("the server at {server}: {error}")),
        }
    })?;
    if !arguments.json.as_deref().is_some_and(is_stdout) {
        writeln!(
            out,
            "{} clients, {} in flight each: {}/s, {:.1} % of gets found; mean {}, p50 {}, p99 {}, \
                p99.9 {}, max {}",
            arguments.clients,
            arguments.depth,
            per_second(measured.commands_per_s),
            measured.hits as f64 * 100.0 / measured.gets.max(1) as f64,
            short_time(measured.mean_ns),
            short_time(measured.p50_ns as f64),
            short_time(measured.p99_ns as f64),
            short_time(measured.p999_ns as f64),
            short_time(measured.max_ns as f64),
        )?;
        if measured.refused > 0 {
            writeln!(
                out,
                "{} commands were refused (SERVER_ERROR), those of --load included",
                measured.refused
            )?;
        }
        if let Some(rate) = measured.commands_per_cpu_s {
            writeln!(out, "{} for each second of the server's processor time", per_second(rate))?;
        }
    }
    match &arguments.json {
        Some(file) => write_json(&serde_json::to_value(&measured).expect("figures are JSON"), file, out),
        None => Ok(()),
    }
}

fn measure(arguments: &KvBench, plan: Plan) -> io::Result<Measured> {
    let (clock, plan) = (Clock::start(), Arc::new(plan));
    let clients: io::Result<Vec<Client>> =
        (0..arguments.clients).map(|number| Client::new(arguments, &plan, number, clock)).collect();
    let mut clients = clients?;
    if arguments.load {
        clients[0].store_all()?;
    }
    let busy_before = arguments.pid.map(processor_time).transpose()?;
    let begin = clock.now();
    let until = begin + arguments.time;
    let threads: Vec<_> =
        clients.into_iter().map(|client| std::thread::spawn(move || client.run(until))).collect();
    let mut tally = Tally::new();
    for thread in threads {
        tally.add(&thread.join().map_err(|_| io::Error::other("a client has panicked"))??);
    }
    let seconds = clock.now().since(begin).as_secs_f64();
    let busy = arguments.pid.map(processor_time).transpose()?.zip(busy_before);
    let busy = busy.map(|(after, before)| (after - before).as_secs_f64());
    let Tally { latency, get_latency, gets, hits, refused } = tally;
    let percentile = |percent| latency.percentile(percent).0;
    Ok(Measured {
        commands_per_s: latency.count() as f64 / seconds,
        commands: latency.count(),
        gets,
        hits,
        refused,
        mean_ns: latency.mean(),
        p50_ns: percentile(50.0),
        p99_ns: percentile(99.0),
        p999_ns: percentile(99.9),
        max_ns: latency.max().0,
        get_p50_ns: get_latency.percentile(50.0).0,
        get_p99_ns: get_latency.percentile(99.0).0,
        get_p999_ns: get_latency.percentile(99.9).0,
        commands_per_cpu_s: busy.map(|busy| latency.count() as f64 / busy),
    })
}

/// For how long all threads of a process have run.
fn processor_time(pid: u32) -> io::Result<Duration> {
    let mut all = 0;
    for thread in std::fs::read_dir(format!("/proc/{pid}/task"))? {
        let Ok(text) = std::fs::read_to_string(thread?.path().join("schedstat")) else { continue };
        let run: Option<u64> = text.split_whitespace().next().and_then(|nanos| nanos.parse().ok());
        all += run.ok_or_else(|| io::Error::other(format!("/proc/{pid}: no times in schedstat")))?;
    }
    Ok(Duration::from_nanos(all))
}
