//! Memory and room of a session: when it takes the next bytes.

use super::Session;
use super::pool::{Holding, Room};
use crate::wire::memcached::Reason;
use tailcut_base::cast::to_usize;

impl Session {
    /// True while the session accepts input, given `room`.
    #[inline]
    pub(super) fn can_accept(&self, room: Room) -> bool {
        let replies = self.reply_memory();
        let held = self.memory_beside(replies);
        self.is_ready_with(replies) && (self.has_room(room, held) || self.has_small_room(room, held))
    }

    /// True if a session that holds `held` bytes may go on with its next command because it is small.
    #[inline]
    pub(super) fn has_small_room(&self, room: Room, held: usize) -> bool {
        !self.needs_memory && room.is_enough_for_small(held)
    }

    /// True if a session that holds `held` bytes may go on with a command of any size. Memory for a value
    /// being received is reserved already.
    #[inline]
    pub(super) fn has_room(&self, room: Room, held: usize) -> bool {
        self.storing.is_some() || room.is_enough(held)
    }

    /// True while the session accepts input, regardless of the memory of others.
    pub(super) fn is_ready(&self) -> bool {
        self.is_ready_with(self.reply_memory())
    }

    #[inline]
    pub(super) fn is_ready_with(&self, replies: usize) -> bool {
        !self.is_blocked
            && self.closing.is_none()
            && self.waiting.len() < MOST_WAITING
            && replies < MOST_OUT
            && self.awaited < MOST_AWAITED
    }

    /// Memory of complete and pending replies in bytes.
    #[inline]
    pub(super) fn reply_memory(&self) -> usize {
        let behind = self.waiting.back().map_or(0, |last| last.behind.capacity());
        self.out.memory() + self.set_aside + behind
    }

    /// Memory of the session in bytes.
    #[inline]
    pub(super) fn memory(&self) -> usize {
        self.memory_beside(self.reply_memory())
    }

    /// Memory of the session in bytes, whose replies take `replies` of it.
    #[inline]
    pub(super) fn memory_beside(&self, replies: usize) -> usize {
        replies + to_usize(self.awaited) + self.incoming
    }

    /// Drops the value being received; later input is ignored.
    pub(super) fn drop_value(&mut self) {
        self.closing = Some(Reason::Quit);
        (self.storing, self.data, self.incoming) = (None, Vec::new(), 0);
    }

    /// The memory that the session holds; None if it holds none.
    pub(super) fn holding(&self) -> Option<Holding> {
        let (bytes, since) = (self.charged, self.since);
        let (is_storing, has_replies) = (self.storing.is_some(), !self.out.is_empty());
        (bytes > 0).then_some(Holding { bytes, since, is_storing, has_replies })
    }
}

/// Largest number of pending replies per client.
const MOST_WAITING: usize = 128;

/// A client starts no further read while its pending requests take this many bytes; so there is always at
/// least one, however long.
const MOST_AWAITED: u64 = 4 << 20;

/// A client with this many bytes of unsent replies is not served.
const MOST_OUT: usize = 1 << 20;
