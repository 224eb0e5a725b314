//! The service as an event loop: what wakes it, and for how long it sleeps.

use super::{ConnectionSlot, DRIVE, KERNEL, Message, Service, Stopping};
use crate::ctl::Steered;
use crate::reactor::{self, Event, EventLoop, Reactor};
use crate::serve::ublk::Queue;
use tailcut_base::{Nanos, Time};

impl<D: Steered> EventLoop for Service<D> {
    type Message = Message;

    fn reactor(&mut self) -> &mut Reactor<Message> {
        &mut self.reactor
    }

    fn iterate(&mut self, now: Time) {
        self.serve(now);
    }

    fn is_done(&mut self) -> bool {
        self.stopping == Stopping::Done
    }

    fn note_event(&mut self, event: Event) {
        let token = event.token();
        if token == DRIVE {
            // The next iteration polls the drive.
            self.is_told = true;
            return;
        }
        if token == KERNEL {
            self.is_told = true;
            return self.kernel.iter_mut().for_each(Queue::heed);
        }
        let Some(slot) = self.slots.find(token) else { return };
        let Some(connection) = self.slots[slot].open() else { return };
        connection.socket.note(event);
        if event.has_room() && !connection.is_replying {
            connection.is_replying = true;
            self.replying.push(slot);
            self.is_told = true;
        }
        if event.is_gone() && connection.is_waiting() {
            // Its next request waits for admission, and no reply could reach the client.
            self.close(slot);
        } else if event.has_arrived() {
            self.list(slot);
        }
    }

    fn has_work(&mut self, now: Time) -> bool {
        let is_asked = self.has_unfinished || !self.listed.is_empty() || !self.awaiting_lookup.is_empty();
        is_asked || self.is_told || self.kernel_asks() || self.drive.next_event() <= now
    }

    fn deadline(&mut self, now: Time) -> Time {
        let mut until = self.drive.next_event();
        if !self.blocked.is_empty() {
            until = until.min(now + CHECK_AGAIN);
        }
        if let Stopping::Until(deadline) = self.stopping {
            until = until.min(deadline).min(now + CHECK_AGAIN);
        }
        until
    }

    fn arm(&mut self) -> bool {
        self.drive.arm() && self.arm_for_kernel()
    }

    /// A single connection is received from without asking epoll first.
    fn busy_poll(&mut self) {
        let is_alone = self.connected() == 1 && self.kernel.is_none() && self.drive.wakes().is_none();
        if is_alone && self.stopping == Stopping::Not {
            self.receive_from_all();
        } else {
            reactor::poll(self, Some(Nanos::ZERO));
        }
        self.is_told |= !self.replying.is_empty() || self.machine.has_requests();
    }

    fn has_clients(&self) -> bool {
        self.connected() > 0 || self.kernel.is_some()
    }
}

impl<D: Steered> Service<D> {
    /// Receives from all connections, whether an event announced data or not.
    fn receive_from_all(&mut self) {
        let now = self.clock.now();
        for slot in self.slots.all() {
            if let Some(connection) = self.slots.get_mut(slot).and_then(ConnectionSlot::open) {
                connection.socket.is_readable = true;
                self.receive(slot, now);
            }
        }
    }
}

/// Interval of the check for stalled connections, while others wait or the service stops.
const CHECK_AGAIN: Nanos = Nanos::millis(250);
