//! Replies from the service to sockets.

use super::{Stopping, Worker};
use crate::ctl::Steered;
use std::sync::atomic::Ordering;
use tailcut_host::wire::memcached::Reason;

impl<D: Steered> Worker<D> {
    /// A client may have replies to send, or be complete.
    pub(super) fn note_answer(&mut self, slot: u32) {
        let Some(client) = self.slots.get_mut(slot) else { return };
        if !client.is_answering {
            client.is_answering = true;
            self.answering.push(slot);
        }
    }

    /// Sends pending replies.
    pub(super) fn answer(&mut self) {
        let mut answering = std::mem::take(&mut self.answering);
        for slot in answering.drain(..) {
            self.send_to(slot);
        }
        self.answering = answering;
    }

    fn send_to(&mut self, slot: u32) {
        let Some(client) = self.slots.get_mut(slot) else { return };
        client.is_answering = false;
        let send_queue = self.clients.send_queue(client.name);
        let Ok(sent) = client.send(send_queue) else { return self.close(slot) };
        let is_sent = sent == send_queue.bytes() && !client.has_unsent();
        self.clients.note_sent(client.name, sent);
        self.traffic.sent += sent as u64;
        self.note_reading(sent > 0);
        if is_sent && self.is_finished(slot) {
            return self.close(slot);
        }
        if let Some((token, client)) = self.slots.entry(slot) {
            client.socket.watch_for_room(&self.reactor, token);
        }
        if sent > 0 {
            self.list(slot);
        }
    }

    /// True if all its requests are answered, and no more will arrive.
    fn is_finished(&self, slot: u32) -> bool {
        let Some(client) = self.slots.get(slot) else { return false };
        let is_silent = client.has_ended || self.stopping != Stopping::Not;
        let closing = self.clients.closing(client.name);
        if closing == Some(Reason::Shutdown) {
            self.shards.common().is_asked_to_stop.store(true, Ordering::Relaxed);
        }
        let is_closing = closing.is_some();
        is_closing || is_silent && !client.is_held && self.clients.is_answered(client.name)
    }
}
