//! Replies from the service to sockets.

use super::super::client::Transfer;
use super::{ARRIVING, Stopping, Worker, token};
use crate::ctl::Steered;
use rustix::event::epoll::{self, EventData, EventFlags};
use std::sync::atomic::Ordering;
use tailcut_host::wire::memcached::Reason;

impl<D: Steered> Worker<D> {
    /// A client may have replies to send, or be complete.
    pub(super) fn note_answer(&mut self, slot: u32) {
        let Some(client) = &mut self.slots[slot as usize].client else { return };
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
        let Some(client) = &mut self.slots[slot as usize].client else { return };
        client.is_answering = false;
        let send_queue = self.clients.send_queue(client.name);
        let Transfer::Bytes(sent) = client.send(send_queue) else { return self.close(slot) };
        let is_sent = sent == send_queue.bytes();
        self.clients.note_sent(client.name, sent);
        self.traffic.sent += sent as u64;
        self.note_reading(sent > 0);
        if is_sent && self.is_finished(slot) {
            return self.close(slot);
        }
        self.watch_for_room(slot);
        if sent > 0 {
            self.list(slot);
        }
    }

    /// True if all its requests are answered, and no more will arrive.
    fn is_finished(&self, slot: u32) -> bool {
        let Some(client) = &self.slots[slot as usize].client else { return false };
        let is_silent = client.has_ended || self.stopping != Stopping::Not;
        let closing = self.clients.closing(client.name);
        if closing == Some(Reason::Shutdown) {
            self.shards.common().is_asked_to_stop.store(true, Ordering::Relaxed);
        }
        let is_closing = closing.is_some();
        is_closing || is_silent && !client.is_held && self.clients.is_answered(client.name)
    }

    fn watch_for_room(&mut self, slot: u32) {
        let place = &mut self.slots[slot as usize];
        let Some(client) = &mut place.client else { return };
        if client.awaits_room == client.is_writable {
            client.awaits_room = !client.is_writable;
            let room = if client.awaits_room { EventFlags::OUT } else { EventFlags::empty() };
            let token = EventData::new_u64(token(slot, place.generation));
            epoll::modify(&self.epoll, &client.socket, token, ARRIVING | room)
                .expect("a socket that is watched can be watched otherwise");
        }
    }
}
