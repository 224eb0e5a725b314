//! What was served.

use tailcut_host::kv::session::Sums;

/// What a server has done until its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// What clients asked for, since one of them has said `stats reset` or from the start, and what the
    /// engines did.
    pub sums: Sums,
    /// About sockets.
    pub traffic: Traffic,
    /// Everything that was written to the drive is there for good; false where the drive has failed, or did
    /// not answer any more.
    pub is_durable: bool,
    /// This block of the drive could not be read, so what is on it could not be found, and the server has
    /// ended.
    pub unreadable: Option<u64>,
}

/// What a running server does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Glance {
    /// Connections at the moment.
    pub connections: u64,
    /// So far.
    pub sums: Sums,
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
    /// Of the connections, closed because others waited for the memory that they held.
    pub hoarding: u64,
    /// Attempts to log in that have failed.
    pub not_let_in: u64,
    /// Requests that came as datagrams.
    pub datagrams: u64,
    /// Datagrams that were dropped: no requests, or too many at a time.
    pub dropped: u64,
    /// Requests that came as datagrams whose reply did not fit into one.
    pub too_long_for_udp: u64,
    /// Bytes received.
    pub received: u64,
    /// Bytes sent.
    pub sent: u64,
}

impl Traffic {
    /// That of another thread, too.
    pub(super) fn add(&mut self, other: &Traffic) {
        let Traffic {
            connections,
            turned_away,
            idle,
            hoarding,
            not_let_in,
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
        self.datagrams += datagrams;
        self.dropped += dropped;
        self.too_long_for_udp += too_long_for_udp;
        self.received += received;
        self.sent += sent;
    }
}
