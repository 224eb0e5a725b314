//! Memory accounting of the clients of one thread.
//!
//! Unsent replies, partially received values, and operations that wait for a shard or for flash are charged
//! to their client. A client starts a command only if there is room for the largest reply and value that a
//! command can need; so the sum stays below the limit whatever clients do. In the upper half of the limit
//! only clients that hold nothing may start one, so that clients with many pending commands leave room for
//! those with one.
//!
//! The last part of the limit ([`SMALL_RESERVE`]) is for small commands: those whose value, sent or returned,
//! has at most [`SMALL_VALUE`] bytes. So clients with small items do not wait for clients that leave large
//! replies unread.

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
    /// Bytes of memory that the client holds in unsent replies, unfinished values and pending operations.
    pub bytes: usize,
    /// Since when the client has held memory without interruption.
    pub since: Time,
    /// Whether the memory includes a partially received value.
    pub is_storing: bool,
    /// Whether the memory includes replies that are ready to be sent.
    pub has_replies: bool,
}

/// Memory available to one client, given that of all others.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    /// A client that holds nothing may start a command.
    for_one: bool,
    /// A client that holds less than this many bytes may start commands.
    for_more: usize,
    /// A client that holds less than this many bytes may start small commands.
    for_small: usize,
}

impl Pool {
    /// A pool for one of `places` threads that share the configured memory; at least enough for
    /// [`LEAST_COMMANDS`] commands and the reserve for small ones.
    pub(super) fn new(settings: &ServiceSettings, places: u32) -> Pool {
        let command = usize::try_from(settings.most_command()).unwrap_or(usize::MAX / LEAST_COMMANDS);
        let limit = usize::try_from(settings.client_memory / u64::from(places)).unwrap_or(usize::MAX);
        let least = (command * LEAST_COMMANDS).saturating_add(SMALL_RESERVE);
        Pool { limit: limit.max(least), command, held: 0, most_held: 0 }
    }

    /// Limit in bytes.
    pub(super) fn limit(&self) -> usize {
        self.limit
    }

    /// Bytes held.
    pub(super) fn held(&self) -> usize {
        self.held
    }

    /// Peak of the bytes held.
    pub(super) fn most_held(&self) -> usize {
        self.most_held
    }

    /// Number of clients holding nothing that may start a command of any size.
    pub(super) fn vacancies(&self) -> usize {
        (self.limit - SMALL_RESERVE).saturating_sub(self.held) / self.command
    }

    /// Memory available to a client that holds `mine` bytes.
    #[inline]
    pub(super) fn room_beside(&self, mine: usize) -> Room {
        let others = self.held - mine;
        let needed = others + self.command;
        Room {
            for_one: needed <= self.limit - SMALL_RESERVE,
            for_more: (self.limit / 2).saturating_sub(needed),
            for_small: self.limit.saturating_sub(others + SMALL_COMMAND).min(SMALL_HELD),
        }
    }

    /// A client takes `bytes` bytes.
    #[inline]
    pub(super) fn charge(&mut self, bytes: usize) {
        self.held += bytes;
        self.most_held = self.most_held.max(self.held);
    }

    /// A client gives back `bytes` bytes.
    #[inline]
    pub(super) fn release(&mut self, bytes: usize) {
        self.held -= bytes;
    }
}

impl Room {
    /// True if a client that holds `held` bytes may start a command.
    #[inline]
    pub(super) fn is_enough(self, held: usize) -> bool {
        if held == 0 { self.for_one } else { held < self.for_more }
    }

    /// True if a client that holds `held` bytes may start a small command.
    #[inline]
    pub(super) fn is_enough_for_small(self, held: usize) -> bool {
        held < self.for_small
    }
}

/// A thread has memory for at least this many commands with the largest values.
pub(super) const LEAST_COMMANDS: usize = 4;
/// Longest value of a small command in bytes, sent or returned; on flash it is in at most two blocks.
pub(super) const SMALL_VALUE: u64 = 8 << 10;
/// A client that holds this many bytes may start no small command that has no room as a command of any size:
/// more than the largest spare part of replies, whose capacity counts.
const SMALL_HELD: usize = 40 << 10;
/// Bound of the memory of a client while it executes a small command, in bytes: what it held before, once
/// more because buffers double, and value and reply.
const SMALL_COMMAND: usize = 128 << 10;
/// Memory of each thread that only small commands may use, in bytes. Most take a few KiB, until the end of
/// the iteration that has executed them.
pub(super) const SMALL_RESERVE: usize = 1 << 20;
