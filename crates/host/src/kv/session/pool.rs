//! Memory accounting of the clients of one thread.
//!
//! Unsent replies, partially received values, and operations that wait for a shard or for flash are charged
//! to their client. A client starts a command only if there is room for the largest reply and value that a
//! command can need; so the sum stays below the limit whatever clients do. In the upper half of the limit
//! only clients that hold nothing may start one, so that clients with many pending commands leave room for
//! those with one.

use super::shard::ServiceSettings;
use tailcut_base::Time;

/// Memory held by the clients of one thread, and its limit.
#[derive(Debug)]
pub(super) struct Pool {
    /// Limit in bytes.
    limit: usize,
    /// Largest memory of a command in bytes.
    command: usize,
    /// Bytes held.
    held: usize,
    /// Peak of `held` in bytes.
    most_held: usize,
}

/// Memory held by one client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Holding {
    /// Bytes of memory.
    pub bytes: usize,
    /// When its memory became nonzero.
    pub since: Time,
    /// It includes a partially received value.
    pub is_storing: bool,
    /// It includes replies ready to be sent.
    pub has_replies: bool,
}

/// Memory available to one client, given that of all others.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    /// A client that holds nothing may start a command.
    for_one: bool,
    /// A client that holds less than this many bytes may start commands.
    for_more: usize,
}

impl Pool {
    /// A pool for one of `places` threads that share the configured memory; at least enough for
    /// [`LEAST_COMMANDS`] commands.
    pub fn new(settings: &ServiceSettings, places: u32) -> Pool {
        let command = usize::try_from(settings.most_command()).unwrap_or(usize::MAX / LEAST_COMMANDS);
        let limit = usize::try_from(settings.client_memory / u64::from(places)).unwrap_or(usize::MAX);
        Pool { limit: limit.max(command * LEAST_COMMANDS), command, held: 0, most_held: 0 }
    }

    /// Limit in bytes.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// Bytes held.
    pub fn held(&self) -> usize {
        self.held
    }

    /// Peak of the bytes held.
    pub fn most_held(&self) -> usize {
        self.most_held
    }

    /// Number of clients holding nothing that may start a command.
    pub fn vacancies(&self) -> usize {
        self.limit.saturating_sub(self.held) / self.command
    }

    /// Memory available to a client that holds `mine` bytes.
    #[inline]
    pub fn room_beside(&self, mine: usize) -> Room {
        let needed = self.held - mine + self.command;
        Room { for_one: needed <= self.limit, for_more: (self.limit / 2).saturating_sub(needed) }
    }

    /// A client's memory changes from `before` to `now` bytes.
    #[inline]
    pub fn note(&mut self, before: usize, now: usize) {
        self.held = self.held - before + now;
        self.most_held = self.most_held.max(self.held);
    }
}

impl Room {
    /// True if a client that holds `held` bytes may start a command.
    #[inline]
    pub fn is_enough(self, held: usize) -> bool {
        if held == 0 { self.for_one } else { held < self.for_more }
    }
}

/// A thread has memory for at least this many commands with the largest values.
pub(super) const LEAST_COMMANDS: usize = 4;
