//! What was served, and how quickly.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use tailcut_base::Nanos;
use tailcut_base::histogram::LatencyHistogram;
use tailcut_host::wire::nbd::Command;

/// Kinds of requests that are counted apart.
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

    /// Its name in reports.
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

/// Of one kind of request.
#[derive(Clone, Debug, Default)]
pub struct KindFigures {
    /// From the moment at which a request was received to the one at which its reply was ready to be sent.
    pub latency: LatencyHistogram,
    /// Bytes that they concerned.
    pub bytes: u64,
    /// Requests that failed.
    pub errors: u64,
}

/// What one drive has served.
#[derive(Clone, Debug, Default)]
pub struct Figures {
    /// By kind, in the order of [`Kind::ALL`].
    pub kinds: [KindFigures; Kind::ALL.len()],
    /// Requests that were refused: malformed, out of range, not allowed.
    pub refused: u64,
    /// Requests that did not begin and end on blocks, and cost more for it.
    pub widened: u64,
    /// Connections so far.
    pub connections: u64,
    /// Of these, closed because of what they sent, or because they stood in the way of others.
    pub expelled: u64,
}

impl Figures {
    /// Counts a request that was carried out.
    #[inline]
    pub fn count(&mut self, kind: Kind, bytes: u32, latency: Nanos, is_error: bool) {
        let figures = &mut self.kinds[kind as usize];
        figures.latency.record(latency);
        figures.bytes += u64::from(bytes);
        figures.errors += u64::from(is_error);
    }

    /// Requests of all kinds.
    pub fn requests(&self) -> u64 {
        self.kinds.iter().map(|kind| kind.latency.count()).sum()
    }
}

/// Counters of a running service for monitoring; slightly behind.
#[derive(Debug, Default)]
pub struct Live {
    /// Requests that were answered.
    pub requests: AtomicU64,
    /// Bytes that were read and written.
    pub bytes: AtomicU64,
    /// Connections at the moment.
    pub connections: AtomicU64,
    /// It has panicked, and is not served any more.
    pub has_failed: AtomicBool,
}

impl Live {
    /// Adds to the figures; only one thread may.
    pub(super) fn add(&self, requests: u64, bytes: u64) {
        let add =
            |figure: &AtomicU64, more| figure.store(figure.load(Ordering::Relaxed) + more, Ordering::Relaxed);
        add(&self.requests, requests);
        add(&self.bytes, bytes);
    }
}
