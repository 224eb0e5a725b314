//! Counters of a server.

use tailcut_host::kv::session::Sums;

/// Final counters of a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Counters of client commands, since the last `stats reset` or the start, and of the engines.
    pub sums: Sums,
    /// Counters of the server's sockets.
    pub traffic: Traffic,
    /// Writes that the server made to its drive and that are not durable; `None` if all are, and without a
    /// drive. Items that were in memory only are not covered.
    pub unwritten: Option<Unwritten>,
    /// A block of the drive that cannot be read, so that recovery failed and the server has ended.
    pub unreadable: Option<u64>,
}

impl Figures {
    /// True if all writes that the server made to its drive are durable.
    pub fn is_durable(&self) -> bool {
        self.unwritten.is_none()
    }
}

/// The last writes of a server, which are not durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unwritten {
    why: Obstacle,
    lost: Option<u64>,
}

impl Unwritten {
    /// Writes that an obstacle has kept back, with the most acknowledged changes that may be lost.
    pub fn new(why: Obstacle, lost: Option<u64>) -> Unwritten {
        Unwritten { why, lost }
    }

    /// The obstacle that kept the writes from becoming durable.
    pub fn why(&self) -> Obstacle {
        self.why
    }

    /// Most acknowledged changes of items that may be lost with them: none if changes are acknowledged when
    /// they are durable. `None` if their number is not known.
    pub fn lost(&self) -> Option<u64> {
        self.lost
    }
}

/// What kept a server from making its last writes durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// The drive had no room.
    Full,
    /// The drive has failed a write or a flush.
    Failed,
    /// The drive has stopped responding.
    Silent,
    /// A broken invariant has ended a shard of the store.
    ShardFailed,
}

/// Current counters of a running server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CurrentCounters {
    /// Number of connections that are open now.
    pub connections: u64,
    /// Counters of all shards since the start.
    pub sums: Sums,
}

/// Counters of the sockets of a server or a thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Connections that were accepted since the start.
    pub connections: u64,
    /// Connections that were refused because the maximum number was open.
    pub turned_away: u64,
    /// Accepted connections that were closed because they were idle for too long.
    pub idle: u64,
    /// Accepted connections that were closed because others waited for memory that they held.
    pub hoarding: u64,
    /// Commands refused because they were no login, or a wrong one.
    pub not_let_in: u64,
    /// Logins with a name and a password, right or wrong.
    pub logins: u64,
    /// Logins with a wrong name or password.
    pub wrong_logins: u64,
    /// Times that accepting was paused for lack of descriptors or memory.
    pub accept_pauses: u64,
    /// Times that a client with further input waited for the turns of others.
    pub yields: u64,
    /// Requests that arrived as datagrams (UDP).
    pub datagrams: u64,
    /// Dropped datagrams: malformed, or beyond the limit.
    pub dropped: u64,
    /// Datagram requests whose reply did not fit into one datagram.
    pub too_long_for_udp: u64,
    /// Bytes received from clients since the start.
    pub received: u64,
    /// Bytes sent to clients since the start.
    pub sent: u64,
}

impl Traffic {
    /// Adds the traffic of another thread.
    pub(super) fn add(&mut self, other: &Traffic) {
        let Traffic {
            connections,
            turned_away,
            idle,
            hoarding,
            not_let_in,
            logins,
            wrong_logins,
            accept_pauses,
            yields,
            datagrams,
            dropped,
            too_long_for_udp,
            received,
            sent,
        } = other;
        self.connections += connections;
        self.turned_away += turned_away;
        self.idle += idle;
        self.hoarding += hoarding;
        self.not_let_in += not_let_in;
        self.logins += logins;
        self.wrong_logins += wrong_logins;
        self.accept_pauses += accept_pauses;
        self.yields += yields;
        self.datagrams += datagrams;
        self.dropped += dropped;
        self.too_long_for_udp += too_long_for_udp;
        self.received += received;
        self.sent += sent;
    }
}
