//! Connection slots: arrival, waiting, eviction and release.

use super::super::connection::Connection;
use super::{
    ARRIVING, Arrival, ConnectionSlot, LOOK_EVERY, Message, NOBODY, Pending, Service, Stopping, token,
};
use crate::ctl::Steered;
use rustix::event::epoll::{self, EventData};
use std::sync::atomic::Ordering;
use tailcut_base::{Class, Nanos, Time};
use tailcut_host::unaligned::{self, Ask};
use tailcut_host::wire::nbd::standard::NBD_CMD_FLUSH;
use tailcut_host::wire::nbd::{Command, Header};

impl<D: Steered> Service<D> {
    pub(super) fn list(&mut self, slot: u32) {
        let Some(connection) = &mut self.slots[slot as usize].connection else { return };
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
            if let Some(connection) = &mut self.slots[slot as usize].connection {
                connection.is_blocked = false;
                self.list(slot);
            }
        }
    }

    /// Closes connections that hold memory without progress while others wait for it. A client whose requests
    /// are with the drive can make none.
    pub(super) fn expel_idle(&mut self, now: Time) {
        if !self.turns.is_multiple_of(LOOK_EVERY) && !self.listed.is_empty() {
            return;
        }
        for slot in 0..self.slots.len() as u32 {
            let ConnectionSlot { connection, held, with_drive, .. } = &self.slots[slot as usize];
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
        let place = &mut self.slots[slot as usize];
        let Some(connection) = place.connection.take() else { return };
        place.generation = place.generation.wrapping_add(1);
        self.budget.give_back(&mut place.held, connection.abandoned());
        self.has_released = true;
        self.vacate(slot);
        self.open_connections.fetch_sub(1, Ordering::Relaxed);
        self.live.connections.store(self.connected() as u64, Ordering::Relaxed);
    }

    /// Frees a slot once its connection is closed and the drive has none of its requests in flight.
    pub(super) fn vacate(&mut self, slot: u32) {
        let ConnectionSlot { connection, held, with_drive, .. } = &self.slots[slot as usize];
        if connection.is_none() && *with_drive == 0 {
            assert_eq!(*held, 0, "who is gone holds nothing");
            self.vacant.push(slot);
        }
    }

    /// Number of connections, including closed ones with requests in flight.
    pub(super) fn connected(&self) -> usize {
        self.slots.len() - self.vacant.len()
    }

    pub(super) fn receive_messages(&mut self) {
        for message in self.mailbox.empty() {
            match message {
                Message::Arrival(arrival) if self.stopping == Stopping::Not => self.slot(arrival),
                Message::Arrival(_) => {
                    self.open_connections.fetch_sub(1, Ordering::Relaxed);
                }
                Message::AdminRequest(request) => self.answer(request),
                Message::Stop => self.stop(),
            }
        }
    }

    fn slot(&mut self, arrival: Arrival) {
        let Arrival { socket, rules, class, leftover } = arrival;
        let slot = self.vacant.pop().unwrap_or_else(|| {
            self.slots.push(ConnectionSlot::default());
            self.slots.len() as u32 - 1
        });
        let place = &mut self.slots[slot as usize];
        let token = EventData::new_u64(token(slot, place.generation));
        if epoll::add(&self.epoll, &socket, token, ARRIVING).is_err() {
            // The system is out of memory for epoll; the client finds its connection closed.
            self.vacant.push(slot);
            self.open_connections.fetch_sub(1, Ordering::Relaxed);
            return;
        }
        place.connection = Some(Connection::new(socket, rules, class, leftover, self.clock.now()));
        self.figures.connections += 1;
        self.live.connections.store(self.connected() as u64, Ordering::Relaxed);
        self.list(slot);
    }

    fn stop(&mut self) {
        if self.stopping == Stopping::Not {
            self.stopping = Stopping::Until(Time(self.clock.now().0 + self.limits.patience.0));
            self.machine.abandon_trims();
            self.drive.abandon_trims();
        }
    }

    /// Closes connections without requests in flight; when none is left, flushes the drive.
    pub(super) fn wind_down(&mut self, now: Time) {
        let Stopping::Until(deadline) = self.stopping else { return };
        for slot in 0..self.slots.len() as u32 {
            let Some(connection) = &mut self.slots[slot as usize].connection else { continue };
            connection.is_ending = true;
            // A client that reads no replies gets only as much time as it may need to be scheduled. Those that
            // get their first reply later, when others have given up its memory, get less.
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

/// How long shutdown waits for a client that reads none of its replies.
const STOP_PATIENCE: Nanos = Nanos::millis(500);
/// How long it waits after that for a client that has stopped reading.
const LATE_PATIENCE: Nanos = Nanos::millis(50);
/// Number of connections that retry when resources were released.
const TRIES_AT_ONCE: usize = 4;
