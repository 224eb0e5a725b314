//! Connection slots: arrival, waiting, eviction and release.

use super::super::connection::Connection;
use super::super::server::STOP_PATIENCE;
use super::{Arrival, ConnectionSlot, Message, NOBODY, Pending, Service, Stopping};
use crate::ctl::Steered;
use crate::reactor::EventLoop;
use crate::system::trim_heap;
use std::sync::atomic::Ordering;
use tailcut_base::{Class, Nanos, Time};
use tailcut_host::unaligned::{self, Ask};
use tailcut_host::wire::nbd::standard::NBD_CMD_FLUSH;
use tailcut_host::wire::nbd::{Command, Header};

impl<D: Steered> Service<D> {
    pub(super) fn list(&mut self, slot: u32) {
        let Some(connection) = self.slots.get_mut(slot).and_then(ConnectionSlot::open) else { return };
        if !connection.is_listed {
            connection.is_listed = true;
            self.listed.push_back(slot);
        }
    }

    /// Resources were released: lets some waiting connections retry.
    pub(super) fn unblock(&mut self) {
        self.has_released = false;
        for _ in 0..TRIES_AT_ONCE {
            let Some(slot) = self.blocked.pop_front() else { break };
            if let Some(connection) = self.slots.get_mut(slot).and_then(ConnectionSlot::open) {
                connection.is_blocked = false;
                self.list(slot);
            }
        }
    }

    /// Closes connections that hold memory without progress while others wait for it. A client whose requests
    /// are with the drive can make none.
    pub(super) fn expel_idle(&mut self, now: Time) {
        if !self.iterations.is_multiple_of(Self::POLL_EVERY) && !self.listed.is_empty() {
            return;
        }
        for slot in self.slots.all() {
            let Some(ConnectionSlot { connection, held, with_drive }) = self.slots.get(slot) else {
                continue;
            };
            let is_idle = connection.as_ref().is_some_and(|connection| {
                let others_wait = self.blocked.len() > usize::from(connection.is_blocked);
                others_wait
                    && *held > 0
                    && *with_drive == 0
                    && now.0 > connection.progress.0 + self.limits.patience.0
            });
            if is_idle {
                self.figures.expelled += 1;
                self.close(slot);
            }
        }
        if self.has_released {
            self.unblock();
        }
    }

    pub(super) fn close(&mut self, slot: u32) {
        let Some(place) = self.slots.get_mut(slot) else { return };
        let Some(connection) = place.connection.take() else { return };
        self.budget.give_back(&mut place.held, connection.abandoned());
        self.has_released = true;
        self.vacate(slot);
        self.open_connections.fetch_sub(1, Ordering::Relaxed);
        self.live.connections.store(self.connected() as u64, Ordering::Relaxed);
    }

    /// Frees a slot once its connection is closed and the drive has none of its requests in flight.
    pub(super) fn vacate(&mut self, slot: u32) {
        let ConnectionSlot { connection, held, with_drive } = &self.slots[slot];
        if connection.is_none() && *with_drive == 0 {
            assert_eq!(*held, 0, "who is gone holds nothing");
            self.slots.remove(slot);
            if self.slots.is_empty() {
                trim_heap();
            }
        }
    }

    /// Number of connections, including closed ones with requests in flight.
    pub(super) fn connected(&self) -> usize {
        self.slots.len()
    }

    pub(super) fn receive_messages(&mut self, now: Time) {
        let mut messages = self.reactor.receive();
        for message in messages.drain(..) {
            match message {
                Message::Arrival(arrival) if self.stopping == Stopping::Not => self.slot(arrival, now),
                Message::Arrival(_) => {
                    self.open_connections.fetch_sub(1, Ordering::Relaxed);
                }
                Message::AdminRequest(request) => self.answer(request, now),
                Message::Beat => self.live.heartbeats().confirm(),
            }
        }
        self.reactor.recycle(messages);
        if self.reactor.is_stopping() {
            self.stop(now);
        }
    }

    fn slot(&mut self, arrival: Arrival, now: Time) {
        let Arrival { socket, rules, class, leftover } = arrival;
        let connection = Connection::new(socket, rules, class, leftover, now);
        let slot = self.slots.insert(ConnectionSlot { connection: Some(connection), held: 0, with_drive: 0 });
        let (token, place) = self.slots.entry(slot).expect("it was just added");
        if place.open().is_none_or(|connection| connection.socket.watch(&self.reactor, token).is_err()) {
            // The system is out of memory for epoll; the client finds its connection closed.
            self.slots.remove(slot);
            self.open_connections.fetch_sub(1, Ordering::Relaxed);
            return;
        }
        self.figures.connections += 1;
        self.live.connections.store(self.connected() as u64, Ordering::Relaxed);
        self.list(slot);
    }

    fn stop(&mut self, now: Time) {
        if self.stopping == Stopping::Not {
            self.stopping = Stopping::Until(now + self.limits.patience);
            self.machine.abandon_trims();
            self.drive.abandon_trims();
        }
    }

    /// Closes connections without requests in flight; when none is left, flushes the drive.
    pub(super) fn wind_down(&mut self, now: Time) {
        let Stopping::Until(deadline) = self.stopping else { return };
        for slot in self.slots.all() {
            let Some(connection) = self.slots.get_mut(slot).and_then(ConnectionSlot::open) else { continue };
            connection.is_ending = true;
            // A client that reads no replies gets only as much time as it may need to be scheduled. Those
            // that get their first reply later, when others have given up its memory, get less.
            let asked = Time(deadline.0 - self.limits.patience.0);
            let is_late = now >= asked + STOP_PATIENCE && now >= connection.progress + LATE_PATIENCE;
            let is_deaf = connection.is_stuck() && is_late;
            if connection.is_finished() || is_deaf || now >= deadline {
                self.close(slot);
            }
        }
        let is_idle = self.connected() == 0 && self.machine.in_flight() == 0;
        if is_idle && (self.drive.come_to_rest(now) || now >= deadline) {
            self.stopping = Stopping::Flushing(deadline);
            let header = Header { command: NBD_CMD_FLUSH, ..Header::default() };
            let (command, since) = (Command::Flush, now);
            let name = self.note(Pending { slot: NOBODY, header, command, charge: 0, since });
            let (kind, class) = (unaligned::Kind::Flush, Class::DEFAULT);
            self.machine.submit(Ask { name, kind, fua: false, class, offset: 0, bytes: 0, data: Vec::new() });
            self.carry_out(now);
        }
    }
}

/// How long it waits after that for a client that has stopped reading.
const LATE_PATIENCE: Nanos = Nanos::millis(50);
/// Number of connections that retry when resources were released.
const TRIES_AT_ONCE: usize = 4;
