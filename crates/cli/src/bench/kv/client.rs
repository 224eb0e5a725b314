//! A client of a key-value server.

use super::choice::{Command, Item, Plan};
use super::{Choice, KvBench, Tally};
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;
use tailcut_base::Time;
use tailcut_base::random::Stream;
use tailcut_rt::{Clock, wait_readable};

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

/// A client.
pub(super) struct Client {
    line: Box<dyn Line>,
    clock: Clock,
    depth: usize,
    plan: Arc<Plan>,
    /// The choices, used cyclically.
    choices: Vec<Choice>,
    next: usize,
    number: u32,
    /// Items so far that only one command names.
    lone: u32,
    /// Commands that are left; `None` if time ends the run.
    left: Option<u64>,
    out: Vec<u8>,
    /// Commands under way.
    asked: Vec<PendingCommand>,
    /// Items that were requested and not found, if they are to be stored.
    missed: Vec<Item>,
    fills: bool,
    received: Vec<u8>,
    /// Bytes of `received` that were parsed.
    at: usize,
    tally: Tally,
}

/// A command under way.
#[derive(Clone, Copy, Debug)]
struct PendingCommand {
    item: Item,
    command: Command,
}

impl Client {
    pub(super) fn new(
        arguments: &KvBench,
        plan: &Arc<Plan>,
        number: u32,
        clock: Clock,
    ) -> io::Result<Client> {
        let mut random = Stream::new(arguments.seed, &format!("client {number}"));
        let each = (CHOICES / arguments.clients as usize).clamp(1 << 16, 1 << 20);
        let clients = u64::from(arguments.clients);
        let of_this = |all: u64| all / clients + u64::from(u64::from(number) < all % clients);
        Ok(Client {
            line: connect(arguments)?,
            clock,
            depth: arguments.depth as usize,
            plan: plan.clone(),
            choices: (0..each).map(|_| plan.choose(&mut random)).collect(),
            next: 0,
            number,
            lone: 0,
            left: arguments.commands.map(of_this),
            out: Vec::new(),
            asked: Vec::new(),
            missed: Vec::new(),
            fills: arguments.fill,
            received: Vec::new(),
            at: 0,
            tally: Tally::new(),
        })
    }

    pub(super) fn store_all(&mut self) -> io::Result<()> {
        let items = self.plan.items();
        for first in (0..items).step_by(64) {
            for item in first..items.min(first + 64) {
                self.ask(Item::Drawn(item), Command::Set)?;
            }
            self.exchange()?;
        }
        self.tally = Tally { refused: self.tally.refused, ..Tally::new() };
        Ok(())
    }

    pub(super) fn run(mut self, until: Time) -> io::Result<Tally> {
        while self.left.map_or_else(|| self.clock.now() < until, |left| left > 0) {
            for item in std::mem::take(&mut self.missed) {
                self.ask(item, Command::Set)?;
            }
            let batch = self.left.map_or(self.depth, |left| left.min(self.depth as u64) as usize);
            self.left = self.left.map(|left| left - batch as u64);
            for _ in 0..batch {
                let choice = self.choices[self.next];
                self.next = (self.next + 1) % self.choices.len();
                let item = choice.item.unwrap_or(Item::Lone(self.number, self.lone));
                self.lone += u32::from(choice.item.is_none());
                self.ask(item, choice.command)?;
            }
            self.exchange()?;
        }
        Ok(self.tally)
    }

    fn ask(&mut self, item: Item, command: Command) -> io::Result<()> {
        self.asked.push(PendingCommand { item, command });
        let (verb, out) = (command.verb(), &mut self.out);
        out.extend_from_slice(verb);
        self.plan.write_key(item, out)?;
        if command == Command::Set {
            self.plan.write_value(item, out)?;
        } else {
            out.extend_from_slice(b"\r\n");
        }
        self.tally.gets += u64::from(command == Command::Get);
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
            self.tally.latency.record(took);
            if self.asked[number].command == Command::Get {
                self.tally.get_latency.record(took);
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
    fn take(&mut self, PendingCommand { item, command }: PendingCommand) -> io::Result<bool> {
        let rest = &self.received[self.at..];
        let Some(end) = rest.iter().position(|&byte| byte == b'\n') else { return Ok(false) };
        let line = rest[..=end].trim_ascii_end();
        let bytes = match (command, line) {
            (Command::Set, b"STORED") | (Command::Delete, b"DELETED" | b"NOT_FOUND") => end + 1,
            (Command::Get, b"END") => {
                if self.fills {
                    self.missed.push(item);
                }
                end + 1
            }
            _ if line.starts_with(b"SERVER_ERROR") => {
                self.tally.refused += 1;
                end + 1
            }
            (Command::Get, _) if let Some(value) = bytes_of_hit(line) => {
                let bytes = end + 1 + value + VALUE_END.len();
                if rest.len() < bytes {
                    return Ok(false);
                }
                self.tally.hits += 1;
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

/// Bytes of the value of a hit: VALUE, the key, the flags and these.
fn bytes_of_hit(line: &[u8]) -> Option<usize> {
    let fields = std::str::from_utf8(line).ok()?.strip_prefix("VALUE ")?;
    fields.rsplit(' ').next()?.parse().ok()
}

/// What follows the value of a hit.
const VALUE_END: &[u8] = b"\r\nEND\r\n";
const RECEIVE_BYTES: usize = 64 << 10;
/// Choices of all clients before they come again. Much fewer would leave most of the rare items out, and
/// too many gets would find theirs.
const CHOICES: usize = 1 << 22;
/// A server that sends nothing for this long is taken for dead.
const PATIENCE: Duration = Duration::from_secs(30);
