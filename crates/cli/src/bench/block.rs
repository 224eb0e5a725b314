//! `tailcut bench block`: a client of a block server that sends and receives in batches.
//!
//! fio's NBD engine spends more on a request than a quick server does, and so hides how quick it is. This
//! client asks for as many blocks as there is room for with one system call, takes all replies that have come
//! with another, and does nothing with the data.

use crate::failure::Failure;
use crate::format::{per_second, short_time};
use crate::output::is_stdout;
use crate::output::write_json;
use clap::Args;
use serde::Serialize;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::PathBuf;
use tailcut_base::histogram::LatencyHistogram;
use tailcut_base::quantity::parse_time;
use tailcut_base::random::Stream;
use tailcut_base::{Nanos, Time};
use tailcut_host::wire::nbd::Header;
use tailcut_host::wire::nbd::standard::{NBD_CMD_DISC, NBD_CMD_READ};
use tailcut_rt::serve::Address;
use tailcut_rt::{Client, Clock};

/// `tailcut bench block`.
#[derive(Debug, Args)]
pub struct BlockBench {
    /// Unix socket of the server
    #[arg(long, value_name = "PATH", default_value = "tailcut.sock", conflicts_with = "tcp")]
    pub unix: PathBuf,
    /// TCP address of the server instead
    #[arg(long, value_name = "ADDR")]
    pub tcp: Option<SocketAddr>,
    /// Name of the export; default: the server's
    #[arg(long, value_name = "NAME", default_value = "")]
    pub export: String,
    /// Requests in flight
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub depth: u32,
    /// Duration
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = time)]
    pub time: Nanos,
    /// The --time-scale of the server: times are those of its drives
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1,
        value_parser = clap::value_parser!(u32).range(1..=1000)
    )]
    pub time_scale: u32,
    /// Seed of the addresses
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Write the results as JSON to a file, or with '-' to standard output
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}

fn time(text: &str) -> Result<Nanos, String> {
    parse_time(text).map_err(|bad| bad.message)
}

/// The results of a benchmark.
#[derive(Debug, Serialize)]
struct Measured {
    iops: f64,
    requests: u64,
    requests_per_call: f64,
    mean_ns: f64,
    p50_ns: u64,
    p99_ns: u64,
    p999_ns: u64,
    max_ns: u64,
}

/// Does what the arguments ask and prints to `out`.
///
/// # Errors
/// No block server at the address, an error of the connection, or results that cannot be written.
#[expect(clippy::missing_panics_doc, reason = "plain data becomes JSON")]
pub fn block(arguments: &BlockBench, out: &mut dyn Write) -> Result<(), Failure> {
    let address = match arguments.tcp {
        Some(address) => Address::Tcp(address),
        None => Address::Unix(arguments.unix.clone()),
    };
    let measured = Client::connect(&address, &arguments.export)
        .and_then(|client| Load::new(client, arguments)?.run(arguments.time))
        .map_err(|error| Failure::Operation(format!("{address}: {error}")))?;
    if !arguments.json.as_deref().is_some_and(is_stdout) {
        writeln!(
            out,
            "4 KiB random reads, {} under way: {}/s, {:.1} per call; mean {}, p50 {}, p99 {}, p99.9 {}, max \
                {}",
            arguments.depth,
            per_second(measured.iops),
            measured.requests_per_call,
            short_time(measured.mean_ns),
            short_time(measured.p50_ns as f64),
            short_time(measured.p99_ns as f64),
            short_time(measured.p999_ns as f64),
            short_time(measured.max_ns as f64),
        )?;
    }
    match &arguments.json {
        Some(file) => write_json(&serde_json::to_value(&measured).expect("figures are JSON"), file, out),
        None => Ok(()),
    }
}

/// Reads under way; each has a place whose number is its name.
struct Load {
    client: Client,
    clock: Clock,
    random: Stream,
    blocks: u64,
    since: Vec<Time>,
    idle: Vec<u64>,
    latency: LatencyHistogram,
    calls: u64,
}

impl Load {
    fn new(client: Client, arguments: &BlockBench) -> io::Result<Load> {
        let blocks = client.bytes() / BLOCK;
        if blocks == 0 {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "the export is smaller than a block of 4 KiB",
            ));
        }
        Ok(Load {
            client,
            clock: Clock::start().slowed(arguments.time_scale),
            random: Stream::new(arguments.seed, "places"),
            blocks,
            since: vec![Time::ZERO; arguments.depth as usize],
            idle: (0..u64::from(arguments.depth)).collect(),
            latency: LatencyHistogram::new(),
            calls: 0,
        })
    }

    fn run(mut self, length: Nanos) -> io::Result<Measured> {
        let begin = self.clock.now();
        let mut now = begin;
        while now.since(begin) < length {
            self.ask(now);
            self.client.send()?;
            self.client.receive()?;
            now = self.clock.now();
            self.calls += 1;
            self.take(now)?;
        }
        let (requests, seconds) = (self.latency.count(), now.since(begin).as_secs_f64());
        self.end()?;
        let latency = &self.latency;
        let percentile = |percent| latency.percentile(percent).0;
        Ok(Measured {
            iops: requests as f64 / seconds,
            requests,
            requests_per_call: requests as f64 / self.calls.max(1) as f64,
            mean_ns: latency.mean(),
            p50_ns: percentile(50.0),
            p99_ns: percentile(99.0),
            p999_ns: percentile(99.9),
            max_ns: latency.max().0,
        })
    }

    /// Waits for what is under way, and takes its leave: servers do not expect clients to vanish.
    fn end(&mut self) -> io::Result<()> {
        while self.idle.len() < self.since.len() {
            self.client.receive()?;
            self.take(self.clock.now())?;
        }
        self.client.ask(&Header { command: NBD_CMD_DISC, ..Header::default() }, &[]);
        self.client.send()
    }

    fn ask(&mut self, now: Time) {
        while let Some(place) = self.idle.pop() {
            self.since[place as usize] = now;
            let offset = self.random.below(self.blocks) * BLOCK;
            let (command, length) = (NBD_CMD_READ, BLOCK as u32);
            self.client.ask(&Header { flags: 0, command, cookie: place, offset, length }, &[]);
        }
    }

    fn take(&mut self, now: Time) -> io::Result<()> {
        while let Some(replied) = self.client.received(BLOCK as usize, |_| {})? {
            let since = self.since.get(replied.cookie as usize).copied();
            let Some(since) = since.filter(|_| replied.error == 0) else {
                let why =
                    format!("the server answers request {} with error {}", replied.cookie, replied.error);
                return Err(io::Error::new(io::ErrorKind::InvalidData, why));
            };
            self.latency.record(now.since(since));
            self.idle.push(replied.cookie);
        }
        Ok(())
    }
}

const BLOCK: u64 = 4096;
