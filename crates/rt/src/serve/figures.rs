//! Counters and latencies of a drive's service.

use super::heartbeats::Heartbeats;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use tailcut_base::histogram::LatencyHistogram;
use tailcut_base::{Nanos, Status};
use tailcut_host::wire::nbd::Command;

/// Kinds of requests with separate counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Read.
    Read,
    /// Write.
    Write,
    /// Write zeroes.
    Zero,
    /// Trim.
    Trim,
    /// Flush.
    Flush,
    /// Block status and cache.
    Other,
}

impl Kind {
    /// All of them, in the order of reports.
    pub const ALL: [Kind; 6] = [Kind::Read, Kind::Write, Kind::Zero, Kind::Trim, Kind::Flush, Kind::Other];

    /// The kind of a command.
    pub fn of(command: Command) -> Kind {
        match command {
            Command::Read => Kind::Read,
            Command::Write => Kind::Write,
            Command::Zero => Kind::Zero,
            Command::Trim => Kind::Trim,
            Command::Flush => Kind::Flush,
            Command::Cache | Command::Status | Command::Disconnect => Kind::Other,
        }
    }

    /// The kind of request in the words of reports.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Read => "read",
            Kind::Write => "write",
            Kind::Zero => "zero",
            Kind::Trim => "trim",
            Kind::Flush => "flush",
            Kind::Other => "other",
        }
    }
}

/// Counters of one kind of request.
#[derive(Clone, Debug, Default)]
pub struct KindFigures {
    /// Latency from the receipt of a request until its reply is ready to send.
    pub latency: LatencyHistogram,
    /// Bytes that requests of this kind read, wrote, cleared or otherwise covered.
    pub bytes: u64,
    /// Requests of this kind that failed.
    pub errors: u64,
}

/// Counters of one drive.
#[derive(Clone, Debug, Default)]
pub struct Figures {
    /// Counters by kind of request, in the order of [`Kind::ALL`].
    pub kinds: [KindFigures; Kind::ALL.len()],
    /// Rejected requests: malformed, out of range, or not permitted.
    pub refused: u64,
    /// Writes, also of zeros, of parts of blocks: each reads the block, changes it and writes it whole. Reads
    /// of parts of blocks cost no more than others and do not count.
    pub widened: u64,
    /// Connections that used the drive since the start.
    pub connections: u64,
    /// Connections that were closed because of malformed requests, or because they blocked others.
    pub expelled: u64,
    failed_flush: Option<Status>,
}

impl Figures {
    /// Counts a request of this kind that was executed, with its bytes and its latency.
    #[inline]
    pub fn count(&mut self, kind: Kind, bytes: u32, latency: Nanos, is_error: bool) {
        let figures = &mut self.kinds[kind as usize];
        figures.latency.record(latency);
        figures.bytes += u64::from(bytes);
        figures.errors += u64::from(is_error);
    }

    /// Why the flush before shutdown failed, if it did: what no earlier flush made durable may be lost.
    pub fn failed_flush(&self) -> Option<Status> {
        self.failed_flush
    }

    pub(super) fn note_last_flush(&mut self, status: Status) {
        self.failed_flush = (status != Status::Success).then_some(status);
    }

    /// Number of requests of all kinds that were executed.
    pub fn requests(&self) -> u64 {
        self.kinds.iter().map(|kind| kind.latency.count()).sum()
    }
}

/// Counters of a running service for monitoring; slightly behind.
#[derive(Debug, Default)]
pub struct Live {
    /// Requests answered since the start.
    pub requests: AtomicU64,
    /// Bytes read and written since the start.
    pub bytes: AtomicU64,
    /// Number of connections that are open now.
    pub connections: AtomicU64,
    /// Whether the service has panicked, and serves no more.
    pub has_failed: AtomicBool,
    heartbeats: Heartbeats,
}

impl Live {
    /// Heartbeats of the service's thread.
    pub(super) fn heartbeats(&self) -> &Heartbeats {
        &self.heartbeats
    }

    /// Adds to the counters; for a single thread.
    pub(super) fn add(&self, requests: u64, bytes: u64) {
        let add =
            |figure: &AtomicU64, more| figure.store(figure.load(Ordering::Relaxed) + more, Ordering::Relaxed);
        add(&self.requests, requests);
        add(&self.bytes, bytes);
    }
}
