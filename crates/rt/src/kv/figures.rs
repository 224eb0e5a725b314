//! What was served.

use std::sync::atomic::{AtomicU64, Ordering};
use tailcut_host::kv;
use tailcut_host::kv::session::Statistics;

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
}

impl Live {
    /// Only one thread may.
    pub(super) fn set(&self, connections: u64, statistics: &Statistics, items: u64) {
        self.connections.store(connections, Ordering::Relaxed);
        self.commands.store(statistics.cmd_get + statistics.cmd_set, Ordering::Relaxed);
        self.items.store(items, Ordering::Relaxed);
    }
}
