//! `tailcut bench kv`: clients of a key-value server, ours or memcached.
//!
//! Each client is a thread with a connection, which sends a full batch of commands with one system call,
//! waits until all of them are answered, and sends the next. Keys are drawn before the time is taken, so
//! that the measurement covers the server only.

use crate::failure::Failure;
use crate::format::{per_second, short_time};
use crate::output::is_stdout;
use crate::output::write_json;
use clap::Args;
use serde::Serialize;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;
use tailcut_base::histogram::LatencyHistogram;
use tailcut_base::quantity::parse_time;
use tailcut_base::random::Stream;
use tailcut_base::{Nanos, Time};
use tailcut_rt::Clock;
use tailcut_rt::wait_readable;
use tailcut_workload::zipf::Zipf;

/// `tailcut bench kv`.
#[derive(Clone, Debug, Args)]
pub struct KvBench {
    /// TCP address of the server
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:11211", conflicts_with = "unix")]
    pub tcp: SocketAddr,
    /// Unix socket of the server instead
    #[arg(long, value_name = "PATH")]
    pub unix: Option<PathBuf>,
    /// Number of clients, each with a connection and a thread
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=256))]
    pub clients: u32,
    /// Commands in flight per client
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub depth: u32,
    /// Number of items, drawn from a Zipf distribution with θ = 0.99
    #[arg(
        long,
        value_name = "N",
        default_value_t = 100_000,
        value_parser = clap::value_parser!(u32).range(1..1 << 31)
    )]
    pub items: u32,
    /// Bytes per value
    #[arg(long, value_name = "BYTES", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=1 << 20))]
    pub value: u32,
    /// Percentage of gets; the other commands are sets
    #[arg(long, value_name = "N", default_value_t = 90, value_parser = clap::value_parser!(u32).range(0..=100))]
    pub gets: u32,
    /// Store all items first
    #[arg(long)]
    pub load: bool,
    /// Store items that a get misses, as cache clients do
    #[arg(long)]
    pub fill: bool,
    /// PID of the server, to report its processor time
    #[arg(long, value_name = "PID")]
    pub pid: Option<u32>,
    /// Duration
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = time)]
    pub time: Nanos,
    /// Seed of the random choices
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
    commands_per_s: f64,
    commands: u64,
    gets: u64,
    hits: u64,
    /// Sets that were refused.
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
    let measured = measure(arguments).map_err(|error| {
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
        if let Some(rate) = measured.commands_per_cpu_s {
            writeln!(out, "{} for each second of the server's processor time", per_second(rate))?;
        }
    }
    match &arguments.json {
        Some(file) => write_json(&serde_json::to_value(&measured).expect("figures are JSON"), file, out),
        None => Ok(()),
    }
}

fn measure(arguments: &KvBench) -> io::Result<Measured> {
    let clock = Clock::start();
    let clients: io::Result<Vec<Load>> =
        (0..arguments.clients).map(|number| Load::new(arguments, number, clock)).collect();
    let mut clients = clients?;
    if arguments.load {
        clients[0].store_all(arguments)?;
    }
    let busy_before = arguments.pid.map(processor_time).transpose()?;
    let begin = clock.now();
    let threads: Vec<_> = clients
        .into_iter()
        .map(|client| {
            let until = begin + arguments.time;
            std::thread::spawn(move || client.run(until))
        })
        .collect();
    let (mut latency, mut get_latency) = (LatencyHistogram::new(), LatencyHistogram::new());
    let (mut gets, mut hits, mut refused) = (0, 0, 0);
    for thread in threads {
        let load = thread.join().map_err(|_| io::Error::other("a client has panicked"))??;
        latency.merge(&load.latency);
        get_latency.merge(&load.get_latency);
        gets += load.gets;
        hits += load.hits;
        refused += load.refused;
    }
    let seconds = clock.now().since(begin).as_secs_f64();
    let busy = arguments.pid.map(processor_time).transpose()?.zip(busy_before);
    let busy = busy.map(|(after, before)| (after - before).as_secs_f64());
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

/// What can be spoken through.
trait Line: Read + Write + Send {
    /// Waits until data can be read, as event loops do. A thread that sleeps in a receive call on a unix
    /// socket is also woken when the server takes the sent data, needlessly and at the server's expense.
    fn wait(&self) -> io::Result<()>;
}

impl<T: Read + Write + Send + AsFd> Line for T {
    fn wait(&self) -> io::Result<()> {
        match wait_readable(self.as_fd(), PATIENCE)? {
            true => Ok(()),
            false => Err(io::Error::new(io::ErrorKind::TimedOut, "it says nothing")),
        }
    }
}

fn connect(arguments: &KvBench) -> io::Result<Box<dyn Line>> {
    match &arguments.unix {
        Some(path) => {
            let stream = UnixStream::connect(path)?;
            Ok(Box::new(stream))
        }
        None => {
            let stream = TcpStream::connect(arguments.tcp)?;
            stream.set_nodelay(true)?;
            Ok(Box::new(stream))
        }
    }
}

/// What a client asks for next: an item, and in the highest bit whether it is read.
#[derive(Clone, Copy, Debug)]
struct Choice(u32);

impl Choice {
    fn new(item: u32, is_get: bool) -> Choice {
        Choice(item | u32::from(is_get) << 31)
    }

    fn item(self) -> u32 {
        self.0 & !(1 << 31)
    }

    fn is_get(self) -> bool {
        self.0 >> 31 == 1
    }
}

/// A client.
struct Load {
    line: Box<dyn Line>,
    clock: Clock,
    depth: usize,
    /// The choices, used cyclically: an item, and whether it is read.
    choices: Vec<Choice>,
    next: usize,
    value: Vec<u8>,
    out: Vec<u8>,
    /// Commands under way.
    asked: Vec<PendingCommand>,
    /// Items that were requested and not found, if they are to be stored.
    missed: Vec<u32>,
    fills: bool,
    received: Vec<u8>,
    /// Bytes of `received` that were parsed.
    at: usize,
    latency: LatencyHistogram,
    get_latency: LatencyHistogram,
    gets: u64,
    hits: u64,
    refused: u64,
}

/// A command under way.
#[derive(Clone, Copy, Debug)]
struct PendingCommand {
    item: u32,
    is_get: bool,
}

impl Load {
    fn new(arguments: &KvBench, number: u32, clock: Clock) -> io::Result<Load> {
        let mut random = Stream::new(arguments.seed, &format!("client {number}"));
        let zipf = Zipf::new(arguments.items.into(), 0.99);
        let each = (CHOICES / arguments.clients as usize).clamp(1 << 16, 1 << 20);
        let choices = (0..each).map(|_| {
            let item = zipf.draw(&mut random) as u32;
            Choice::new(item, random.below(100) < u64::from(arguments.gets))
        });
        Ok(Load {
            line: connect(arguments)?,
            clock,
            depth: arguments.depth as usize,
            choices: choices.collect(),
            next: 0,
            value: [&vec![b'v'; arguments.value as usize][..], b"\r\n"].concat(),
            out: Vec::new(),
            asked: Vec::new(),
            missed: Vec::new(),
            fills: arguments.fill,
            received: Vec::new(),
            at: 0,
            latency: LatencyHistogram::new(),
            get_latency: LatencyHistogram::new(),
            gets: 0,
            hits: 0,
            refused: 0,
        })
    }

    fn store_all(&mut self, arguments: &KvBench) -> io::Result<()> {
        for first in (0..arguments.items).step_by(64) {
            for item in first..arguments.items.min(first + 64) {
                self.ask(item, false)?;
            }
            self.exchange()?;
        }
        self.latency = LatencyHistogram::new();
        self.refused = 0;
        Ok(())
    }

    fn run(mut self, until: Time) -> io::Result<Load> {
        while self.clock.now() < until {
            for item in std::mem::take(&mut self.missed) {
                self.ask(item, false)?;
            }
            for _ in 0..self.depth {
                let choice = self.choices[self.next];
                self.next = (self.next + 1) % self.choices.len();
                self.ask(choice.item(), choice.is_get())?;
            }
            self.exchange()?;
        }
        Ok(self)
    }

    fn ask(&mut self, item: u32, is_get: bool) -> io::Result<()> {
        self.asked.push(PendingCommand { item, is_get });
        if is_get {
            self.gets += 1;
            return write!(self.out, "get key:{item:010}\r\n");
        }
        write!(self.out, "set key:{item:010} 0 0 {}\r\n", self.value.len() - 2)?;
        self.out.extend_from_slice(&self.value);
        Ok(())
    }

    /// Sends the pending commands and receives all answers.
    fn exchange(&mut self) -> io::Result<()> {
        let since = self.clock.now();
        self.line.write_all(&self.out)?;
        self.out.clear();
        for number in 0..self.asked.len() {
            while !self.take(self.asked[number])? {
                self.receive()?;
            }
            let took = self.clock.now().since(since);
            self.latency.record(took);
            if self.asked[number].is_get {
                self.get_latency.record(took);
            }
        }
        self.asked.clear();
        Ok(())
    }

    fn receive(&mut self) -> io::Result<()> {
        self.received.drain(..self.at);
        self.at = 0;
        let before = self.received.len();
        self.received.resize(before + RECEIVE_BYTES, 0);
        self.line.wait()?;
        let count = self.line.read(&mut self.received[before..])?;
        self.received.truncate(before + count);
        if count == 0 {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "it has closed the connection"));
        }
        Ok(())
    }

    /// An answer, if it is complete.
    fn take(&mut self, PendingCommand { item, is_get }: PendingCommand) -> io::Result<bool> {
        let rest = &self.received[self.at..];
        let Some(end) = rest.iter().position(|&byte| byte == b'\n') else { return Ok(false) };
        let line = rest[..=end].trim_ascii_end();
        let bytes = match (is_get, line) {
            (false, b"STORED") => end + 1,
            (true, b"END") => {
                if self.fills {
                    self.missed.push(item);
                }
                end + 1
            }
            (false, _) if line.starts_with(b"SERVER_ERROR") => {
                self.refused += 1;
                end + 1
            }
            (true, _) if line.starts_with(b"VALUE key:") => {
                let bytes = end + 1 + self.value.len() + HIT_END.len();
                if rest.len() < bytes {
                    return Ok(false);
                }
                self.hits += 1;
                bytes
            }
            _ => {
                let why = format!("it answers '{}'", line.escape_ascii());
                return Err(io::Error::new(io::ErrorKind::InvalidData, why));
            }
        };
        self.at += bytes;
        Ok(true)
    }
}

const HIT_END: &[u8] = b"END\r\n";
const RECEIVE_BYTES: usize = 64 << 10;
/// Choices of all clients before they come again. Much fewer would leave most of the rare items out, and
/// too many gets would find theirs.
const CHOICES: usize = 1 << 22;
/// A server that sends nothing for this long is taken for dead.
const PATIENCE: Duration = Duration::from_secs(30);
