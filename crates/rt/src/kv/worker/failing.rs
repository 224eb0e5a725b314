//! Broken invariants: a panic while something is done for a client ends its connection, and the shard if one
//! was in use.
//!
//! A panic anywhere else in the thread ends the server, because its state may be inconsistent.

use super::{BUFFER_BYTES, Origin, Worker};
use crate::ctl::Steered;
use std::panic::{AssertUnwindSafe, catch_unwind};

impl<D: Steered> Worker<D> {
    /// Does something for a client, which goes if it panics; false then.
    pub(super) fn guarded(&mut self, origin: Origin, work: impl FnOnce(&mut Self)) -> bool {
        // The session is not used again, a shard in use is marked as failed, and nothing else is changed
        // while they are at work but queues, to which whole entries are appended, and the buffer.
        let Err(panic) = catch_unwind(AssertUnwindSafe(|| work(self))) else { return true };
        self.shards.common().note_panic(&*panic);
        self.buffer.resize(BUFFER_BYTES, 0);
        match origin {
            Origin::Connection(slot) => {
                if let Some(client) = &self.slots[slot as usize].client {
                    self.clients.discard(client.name);
                }
                self.close(slot);
            }
            Origin::Datagram(id) => self.drop_datagram(id),
            Origin::Nobody => {}
        }
        // What has been done at shards before may leave something to be asked of the drive.
        self.shards.go_on_everywhere();
        self.is_told = true;
        false
    }

    /// A shard has failed: whoever waits for it is told so.
    pub(super) fn fail_shard(&mut self, shard: u32) {
        let mut movers = Vec::new();
        self.clients.fail_shard(shard, &mut movers);
        movers.into_iter().for_each(|name| self.go_on(name));
    }
}
