//! Accepts and closes connections.

use super::super::client::Client;
use super::super::events::Event;
use super::super::shards::Message;
use super::{ARRIVING, ConnectionSlot, IDLE_EVERY, LISTENERS, Origin, Stopping, Worker, token};
use crate::ctl::Steered;
use crate::listener::{Listener, is_exhausted};
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::net::SendFlags;
use std::io;
use std::os::fd::OwnedFd;
use tailcut_base::{Nanos, Time};
use tailcut_host::wire::memcached::Login;

/// The sockets that take connections.
#[derive(Debug, Default)]
pub struct Acceptor {
    listeners: Vec<Listener>,
    /// Accepting is paused until this time, because the system has no descriptor or memory for connections.
    closed_until: Option<Time>,
}

impl Acceptor {
    /// An acceptor for these listeners.
    pub fn new(listeners: Vec<Listener>) -> Acceptor {
        Acceptor { listeners, closed_until: None }
    }

    /// Registers the listeners with epoll.
    pub(super) fn open(&self, epoll: &OwnedFd) -> io::Result<()> {
        for (listener, number) in self.listeners.iter().zip(LISTENERS..) {
            epoll::add(epoll, listener, EventData::new_u64(number), EventFlags::IN)?;
        }
        Ok(())
    }

    fn close_until(&mut self, epoll: &OwnedFd, moment: Time) {
        for listener in &self.listeners {
            // Ignored: a listener that was never registered needs no deregistration.
            let _ = epoll::delete(epoll, listener);
        }
        self.closed_until = Some(moment);
    }

    /// Closes the listeners for good, and removes their Unix sockets.
    pub(super) fn close(&mut self) {
        self.listeners.clear();
        self.closed_until = None;
    }

    /// When accepting resumes; `Time::NEVER` if it is not paused.
    pub(super) fn opens(&self) -> Time {
        self.closed_until.unwrap_or(Time::NEVER)
    }
}

impl<D: Steered> Worker<D> {
    pub(super) fn accept_connections(&mut self, number: u64) {
        let now = self.clock.now();
        for _ in 0..AT_ONCE {
            let Some(listener) = self.acceptor.listeners.get((number - LISTENERS) as usize) else { return };
            match listener.accept() {
                Ok(socket) => self.let_in(socket),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) if is_exhausted(&error) => {
                    self.traffic.accept_pauses += 1;
                    self.shards.common().log(Event::Exhausted);
                    return self.acceptor.close_until(&self.epoll, now + PAUSE);
                }
                // The peer disconnected before it was accepted.
                Err(_) => {}
            }
        }
    }

    pub(super) fn open_door_again(&mut self, now: Time) {
        if self.acceptor.opens() <= now {
            self.acceptor.closed_until = None;
            if self.acceptor.open(&self.epoll).is_err() {
                self.acceptor.close_until(&self.epoll, now + PAUSE);
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
        let slot = self.vacant.pop().unwrap_or_else(|| {
            self.slots.push(ConnectionSlot::default());
            self.slots.len() as u32 - 1
        });
        let token = token(slot, self.slots[slot as usize].generation);
        if epoll::add(&self.epoll, &socket, EventData::new_u64(token), ARRIVING).is_err() {
            self.vacant.push(slot);
            return self.shards.common().let_out();
        }
        let name = self.name(Origin::Connection(slot));
        let login = self.users.is_some().then(Login::default);
        self.slots[slot as usize].client = Some(Client::new(socket, name, login, now));
        self.traffic.connections += 1;
        self.shards.common().log(Event::Connected);
        if self.limits.idle.is_some() && self.idle_check == Time::NEVER {
            self.idle_check = now + IDLE_EVERY;
        }
        self.list(slot);
    }

    /// Closes a connection and frees its slot.
    pub(super) fn close(&mut self, slot: u32) {
        let place = &mut self.slots[slot as usize];
        let Some(client) = place.client.take() else { return };
        place.generation = place.generation.wrapping_add(1);
        self.vacant.push(slot);
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
        for slot in 0..self.slots.len() as u32 {
            let client = self.slots[slot as usize].client.as_ref();
            if client.is_some_and(|client| now.0.saturating_sub(client.heard.0) >= patience.0) {
                self.traffic.idle += 1;
                self.close(slot);
            }
        }
        let is_needed = self.slots.len() > self.vacant.len() && self.stopping == Stopping::Not;
        self.idle_check = if is_needed { now + IDLE_EVERY } else { Time::NEVER };
    }
}

/// Error sent to a connection beyond the limit; the text is memcached's.
const TOO_MANY: &[u8] = b"ERROR Too many open connections\r\n";
/// Maximum number of connections accepted before other events are handled.
const AT_ONCE: usize = 64;
/// How long accepting is paused when the system is out of descriptors or memory.
const PAUSE: Nanos = Nanos::millis(100);
