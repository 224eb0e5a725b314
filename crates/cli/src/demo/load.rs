//! The load of the demo: a client of the block server that keeps a number of requests in flight.

use super::figures::{Figures, Slot};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use tailcut_base::histogram::LatencyHistogram;
use tailcut_base::random::Stream;
use tailcut_base::{Nanos, Time};
use tailcut_host::wire::nbd::Header;
use tailcut_host::wire::nbd::standard::{NBD_CMD_DISC, NBD_CMD_READ, NBD_CMD_WRITE};
use tailcut_rt::{Client, Clock};

/// A closed loop of random requests of 4 KiB, nine tenths of them reads.
#[derive(Debug)]
pub(super) struct Load {
    client: Client,
    clock: Clock,
    random: Stream,
    blocks: u64,
    /// What is in flight, by cookie.
    in_flight: Vec<InFlight>,
    idle: Vec<u64>,
    reads: LatencyHistogram,
    writes: LatencyHistogram,
}

#[derive(Clone, Copy, Debug)]
struct InFlight {
    since: Time,
    is_read: bool,
}

impl Load {
    /// A load over the whole export of `client` with `depth` requests in flight.
    ///
    /// # Errors
    /// The export is smaller than a block of 4 KiB.
    pub(super) fn new(client: Client, depth: u32) -> io::Result<Load> {
        let blocks = client.bytes() / BLOCK;
        if blocks == 0 {
            return Err(invalid("the drive is smaller than a block of 4 KiB".into()));
        }
        Ok(Load {
            client,
            clock: Clock::start(),
            random: Stream::new(1, "demo"),
            blocks,
            in_flight: vec![InFlight { since: Time::ZERO, is_read: true }; depth as usize],
            idle: (0..u64::from(depth)).collect(),
            reads: LatencyHistogram::new(),
            writes: LatencyHistogram::new(),
        })
    }

    /// Issues requests until `stop` is raised, and adds what was measured to `figures` after each
    /// [`SLOT`]. Requests in flight are waited for.
    ///
    /// # Errors
    /// The server has gone, or answers with an error.
    pub(super) fn run(mut self, stop: &AtomicBool, figures: &Mutex<Figures>) -> io::Result<()> {
        let mut begin = self.clock.now();
        while !stop.load(Ordering::Relaxed) {
            self.issue()?;
            self.client.receive()?;
            self.complete()?;
            let now = self.clock.now();
            if now.since(begin) >= SLOT {
                self.publish(now.since(begin), figures);
                begin = now;
            }
        }
        while self.idle.len() < self.in_flight.len() {
            self.client.receive()?;
            self.complete()?;
        }
        self.publish(self.clock.now().since(begin), figures);
        self.client.ask(&Header { command: NBD_CMD_DISC, ..Header::default() }, &[]);
        self.client.send()
    }

    fn issue(&mut self) -> io::Result<()> {
        let now = self.clock.now();
        while let Some(cookie) = self.idle.pop() {
            let is_read = self.random.below(10) < READS_OF_TEN;
            let offset = self.random.below(self.blocks) * BLOCK;
            self.in_flight[cookie as usize] = InFlight { since: now, is_read };
            let command = if is_read { NBD_CMD_READ } else { NBD_CMD_WRITE };
            let header = Header { flags: 0, command, cookie, offset, length: BLOCK as u32 };
            self.client.ask(&header, if is_read { &[] } else { &[0x5a; BLOCK as usize] });
        }
        self.client.send()
    }

    fn complete(&mut self) -> io::Result<()> {
        let now = self.clock.now();
        while let Some(cookie) = self.client.next_cookie() {
            let place = self.in_flight.get(cookie as usize).copied();
            let Some(InFlight { since, is_read }) = place else {
                return Err(invalid(format!("the server answers a request {cookie} that was not sent")));
            };
            let payload = if is_read { BLOCK as usize } else { 0 };
            let Some(replied) = self.client.received(payload, |_| {})? else { break };
            if replied.error != 0 {
                return Err(invalid(format!("the server answers with error {}", replied.error)));
            }
            let latencies = if is_read { &mut self.reads } else { &mut self.writes };
            latencies.record(now.since(since));
            self.idle.push(cookie);
        }
        Ok(())
    }

    fn publish(&mut self, length: Nanos, figures: &Mutex<Figures>) {
        let slot = Slot::of(&self.reads, &self.writes, length);
        let mut figures = figures.lock().unwrap_or_else(PoisonError::into_inner);
        figures.add(&self.reads, &self.writes, slot);
        (self.reads, self.writes) = (LatencyHistogram::new(), LatencyHistogram::new());
    }
}

fn invalid(why: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

const BLOCK: u64 = 4096;
/// How many of ten requests are reads.
const READS_OF_TEN: u64 = 9;
/// Length of the slots that the load is measured in.
const SLOT: Nanos = Nanos::millis(500);
