//! Accepts and closes connections.

use super::super::client::Client;
use super::super::connections::Connection;
use super::super::events::Event;
use super::super::shards::Message;
use super::super::throttle::Peer;
use super::{IDLE_EVERY, LISTENERS, Origin, Stopping, Worker};
use crate::ctl::Steered;
use crate::reactor::Accepted;
use crate::serve::tls::Gate;
use rustix::net::SendFlags;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use tailcut_base::Time;
use tailcut_host::wire::memcached::Login;

impl<D: Steered> Worker<D> {
    /// Accepts connections from a listening socket.
    pub(super) fn accept_connections(&mut self, source: u32) {
        for _ in 0..AT_ONCE {
            match self.listeners.accept(source) {
                Accepted::Connection(socket) => self.let_in(socket, source),
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

    /// Distributes connections to the threads round-robin; behind TLS where that listening socket has it.
    fn let_in(&mut self, mut socket: OwnedFd, source: u32) {
        let common = self.shards.common();
        if !common.let_in(self.limits.connections) {
            self.traffic.turned_away += 1;
            common.log(Event::Refused);
            // The connection is closed whether the message can be sent or not.
            let _ = rustix::net::send(&socket, TOO_MANY, SendFlags::NOSIGNAL);
            return;
        }
        let has_tls = |(_, plain): &&(Gate, Vec<bool>)| !plain[(source - LISTENERS) as usize];
        let mut peer = None;
        if let Some((gate, _)) = self.gate.as_ref().filter(has_tls) {
            peer = Some(Peer::of(&socket));
            if gate.cross(&mut socket).is_err() {
                self.traffic.turned_away += 1;
                common.log(Event::Refused);
                return common.let_out();
            }
        }
        let thread = self.next_thread;
        self.next_thread = (thread + 1) % common.threads();
        match thread == self.thread {
            true => self.welcome(socket, peer),
            false => common.post(thread, Message::Connection(socket, peer)),
        }
    }

    /// Takes over a connection that was assigned to this thread.
    pub(super) fn welcome(&mut self, socket: OwnedFd, peer: Option<Peer>) {
        let now = self.clock.now();
        // Clients that have disconnected may still wait for replies, and count.
        if self.stopping != Stopping::Not || self.clients.count() >= self.limits.connections {
            self.traffic.turned_away += 1;
            self.shards.common().log(Event::Refused);
            return self.shards.common().let_out();
        }
        let name = self.name(Origin::Nobody);
        let login = self.users.is_some().then(Login::default);
        let connection = Connection::new(peer.unwrap_or_else(|| Peer::of(&socket)), &socket, now);
        self.shards.common().open_connections().add(&socket, Arc::clone(&connection));
        let slot = self.slots.insert(Client::new(socket, connection, name, login, now));
        if self.slots[slot].socket.watch(&self.reactor, self.slots.token(slot)).is_err() {
            self.drop_client(slot);
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

    /// Frees a slot. The connection is closed with its client, when its descriptor is in no list any more.
    fn drop_client(&mut self, slot: u32) -> Option<Client> {
        let client = self.slots.remove(slot)?;
        self.shards.common().open_connections().remove(&client.socket);
        Some(client)
    }

    /// Closes a connection and frees its slot.
    pub(super) fn close(&mut self, slot: u32) {
        let Some(client) = self.drop_client(slot) else { return };
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
