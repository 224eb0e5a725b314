//! Violated invariants: a panic in work for a client ends its connection, and fails the shard if one was in
//! use.
//!
//! A panic anywhere else in the thread ends the server, because its state may be inconsistent.

use super::{BUFFER_BYTES, Origin, Worker};
use crate::ctl::Steered;
use std::panic::{AssertUnwindSafe, catch_unwind};

impl<D: Steered> Worker<D> {
    /// Runs work for a client; if it panics, disconnects the client and returns false.
    pub(super) fn guarded(&mut self, origin: Origin, work: impl FnOnce(&mut Self)) -> bool {
        // The session is not used again, and a shard in use is marked as failed. Otherwise the work changes
        // only queues, to which whole entries are appended, and the buffer.
        let Err(panic) = catch_unwind(AssertUnwindSafe(|| work(self))) else { return true };
        self.shards.common().note_panic(&*panic);
        self.buffer.resize(BUFFER_BYTES, 0);
        match origin {
            Origin::Connection(slot) => {
                if let Some(client) = self.slots.get(slot) {
                    self.clients.discard(client.name);
                }
                self.close(slot);
            }
            Origin::Datagram(id) => self.drop_datagram(id),
            Origin::Nobody => {}
        }
        // Earlier operations on shards may have left requests for the drive.
        self.shards.go_on_everywhere();
        self.is_told = true;
        false
    }

    /// A shard has failed: sends errors to the clients that wait for it.
    pub(super) fn fail_shard(&mut self, shard: u32) {
        let mut movers = Vec::new();
        self.clients.fail_shard(shard, &mut movers);
        movers.into_iter().for_each(|name| self.resume(name));
    }
}
