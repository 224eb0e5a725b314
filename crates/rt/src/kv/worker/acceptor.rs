//! Accepts and closes connections.

use super::super::client::Client;
use super::super::events::Event;
use super::super::shards::Message;
use super::{IDLE_EVERY, Origin, Stopping, Worker};
use crate::ctl::Steered;
use crate::reactor::Accepted;
use rustix::net::SendFlags;
use std::os::fd::OwnedFd;
use tailcut_base::Time;
use tailcut_host::wire::memcached::Login;

impl<D: Steered> Worker<D> {
    /// Accepts connections from a listening socket.
    pub(super) fn accept_connections(&mut self, source: u32) {
        for _ in 0..AT_ONCE {
            match self.listeners.accept(source) {
                Accepted::Connection(socket) => self.let_in(socket),
                Accepted::Nothing => return,
                Accepted::Exhausted => {
                    self.traffic.accept_pauses += 1;
                    self.shards.common().log(Event::Exhausted);
                    return self.listeners.pause(&self.reactor, self.clock.now());
                }
                Accepted::Aborted => {}
            }
        }
    }

    /// Distributes connections to the threads round-robin.
    fn let_in(&mut self, socket: OwnedFd) {
        let common = self.shards.common();
        if !common.let_in(self.limits.connections) {
            self.traffic.turned_away += 1;
            common.log(Event::Refused);
            // The connection is closed whether the message can be sent or not.
            let _ = rustix::net::send(&socket, TOO_MANY, SendFlags::NOSIGNAL);
            return;
        }
        let thread = self.next_thread;
        self.next_thread = (thread + 1) % common.threads();
        match thread == self.thread {
            true => self.welcome(socket),
            false => common.post(thread, Message::Connection(socket)),
        }
    }

    /// Takes over a connection that was assigned to this thread.
    pub(super) fn welcome(&mut self, socket: OwnedFd) {
        let now = self.clock.now();
        // Clients that have disconnected may still wait for replies, and count.
        if self.stopping != Stopping::Not || self.clients.count() >= self.limits.connections {
            self.traffic.turned_away += 1;
            self.shards.common().log(Event::Refused);
            return self.shards.common().let_out();
        }
        let name = self.name(Origin::Nobody);
        let login = self.users.is_some().then(Login::default);
        let slot = self.slots.insert(Client::new(socket, name, login, now));
        if self.slots[slot].socket.watch(&self.reactor, self.slots.token(slot)).is_err() {
            self.slots.remove(slot);
            self.forget(name);
            return self.shards.common().let_out();
        }
        self.origins[name as usize] = Origin::Connection(slot);
        self.traffic.connections += 1;
        self.shards.common().log(Event::Connected);
        if self.limits.idle.is_some() && self.idle_check == Time::NEVER {
            self.idle_check = now + IDLE_EVERY;
        }
        self.list(slot);
    }

    /// Closes a connection and frees its slot.
    pub(super) fn close(&mut self, slot: u32) {
        let Some(client) = self.slots.remove(slot) else { return };
        self.forget(client.name);
        if client.awaits_memory {
            self.pressure.remove(slot);
        }
        self.shards.common().log(Event::Disconnected);
        self.shards.common().let_out();
    }

    /// Closes connections that have been idle for too long.
    pub(super) fn see_off_the_idle(&mut self, now: Time) {
        let Some(patience) = self.limits.idle.filter(|_| self.idle_check <= now) else { return };
        for slot in self.slots.all() {
            if self.slots.get(slot).is_some_and(|client| now.0.saturating_sub(client.heard.0) >= patience.0) {
                self.traffic.idle += 1;
                self.close(slot);
            }
        }
        let is_needed = !self.slots.is_empty() && self.stopping == Stopping::Not;
        self.idle_check = if is_needed { now + IDLE_EVERY } else { Time::NEVER };
    }
}

/// Error sent to a connection beyond the limit; the text is memcached's.
const TOO_MANY: &[u8] = b"ERROR Too many open connections\r\n";
/// Maximum number of connections accepted before other events are handled.
const AT_ONCE: usize = 64;
