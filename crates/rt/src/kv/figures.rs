//! What was served.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use tailcut_host::kv::session::Statistics;
use tailcut_host::kv::{self, Engine};

/// What a server has done until its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// What clients asked for, since one of them has said `stats reset` or from the start.
    pub statistics: Statistics,
    /// What the engine did.
    pub engine: kv::Figures,
    /// Items that are there.
    pub items: u64,
    /// About sockets.
    pub traffic: Traffic,
    /// Everything that was written to the drive is there for good; false where the drive has failed, or did not answer any more.
    pub is_durable: bool,
    /// This block of the drive could not be read, so what is on it could not be found, and the server has ended.
    pub unreadable: Option<u64>,
}

/// What happened on sockets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Connections.
    pub connections: u64,
    /// Others, turned away because there were too many.
    pub turned_away: u64,
    /// Of the connections, closed because nothing came for too long.
    pub idle: u64,
    /// Attempts to log in that have failed.
    pub not_let_in: u64,
    /// Requests that came as datagrams.
    pub datagrams: u64,
    /// Datagrams that were dropped: no requests, or too many at a time.
    pub dropped: u64,
    /// Bytes received.
    pub received: u64,
    /// Bytes sent.
    pub sent: u64,
}

/// A few figures of a running server, for whoever wants to look; a little behind.
#[derive(Debug, Default)]
pub struct Live {
    /// Connections at the moment.
    pub connections: AtomicU64,
    /// Retrievals and commands that store so far.
    pub commands: AtomicU64,
    /// Items at the moment.
    pub items: AtomicU64,
    /// While it finds what is on the drive: segments of which it knows what they hold.
    pub known: AtomicU32,
    /// And all of them; 0 when everything is known.
    pub segments: AtomicU32,
}

impl Live {
    /// Only one thread may.
    pub(super) fn set(&self, connections: u64, statistics: &Statistics, engine: &Engine) {
        self.connections.store(connections, Ordering::Relaxed);
        self.commands.store(statistics.cmd_get + statistics.cmd_set, Ordering::Relaxed);
        self.items.store(engine.items(), Ordering::Relaxed);
        let (known, segments) = engine.recovered().unwrap_or_default();
        self.known.store(known, Ordering::Relaxed);
        self.segments.store(segments, Ordering::Relaxed);
    }
}
