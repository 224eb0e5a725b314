//! The memory that the clients of one place may take together.
//!
//! Replies that are not sent, values that have come in part, and operations that wait for a shard or for
//! flash are charged to the client that they are for. A client begins a command only if there is room for the
//! largest reply and value that a command can need; so the sum stays below the limit whatever clients do. In
//! the upper half only those begin one that hold nothing, so that clients with many commands under way leave
//! room for those with one.

use super::shard::ServiceSettings;
use tailcut_base::Time;

/// What the clients of one place hold, and may hold.
#[derive(Debug)]
pub(super) struct Pool {
    /// Bytes for all of them.
    limit: usize,
    /// Bytes that a command can need.
    command: usize,
    /// Bytes that are held.
    held: usize,
    /// The most that ever were.
    most_held: usize,
}

/// What one client holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Holding {
    /// Bytes of memory.
    pub bytes: usize,
    /// When it began to hold some, after it had held none.
    pub since: Time,
    /// Some of it is a value that has come in part.
    pub is_storing: bool,
    /// Some of it are replies that can be sent.
    pub has_replies: bool,
}

/// Room for one client, besides what the others hold.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    /// It may begin a command if it holds nothing.
    for_one: bool,
    /// It may begin commands while it holds less.
    for_more: usize,
}

impl Pool {
    /// For one of `places` among which the memory is divided; enough for some commands, however little that
    /// is.
    pub fn new(settings: &ServiceSettings, places: u32) -> Pool {
        let command = usize::try_from(settings.most_command()).unwrap_or(usize::MAX / LEAST_COMMANDS);
        let limit = usize::try_from(settings.client_memory / u64::from(places)).unwrap_or(usize::MAX);
        Pool { limit: limit.max(command * LEAST_COMMANDS), command, held: 0, most_held: 0 }
    }

    /// Bytes for all clients.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// Bytes that are held.
    pub fn held(&self) -> usize {
        self.held
    }

    /// The most that ever were.
    pub fn most_held(&self) -> usize {
        self.most_held
    }

    /// How many clients that hold nothing may begin a command.
    pub fn vacancies(&self) -> usize {
        self.limit.saturating_sub(self.held) / self.command
    }

    /// Room for a client that holds `mine` of what is held.
    #[inline]
    pub fn room_beside(&self, mine: usize) -> Room {
        let needed = self.held - mine + self.command;
        Room { for_one: needed <= self.limit, for_more: (self.limit / 2).saturating_sub(needed) }
    }

    /// A client that has held `before` holds `now`.
    #[inline]
    pub fn note(&mut self, before: usize, now: usize) {
        self.held = self.held - before + now;
        self.most_held = self.most_held.max(self.held);
    }
}

impl Room {
    /// True if a client that holds so much may begin a command.
    #[inline]
    pub fn is_enough(self, held: usize) -> bool {
        if held == 0 { self.for_one } else { held < self.for_more }
    }
}

/// A place has memory for at least this number of commands with the largest values.
pub(super) const LEAST_COMMANDS: usize = 4;
