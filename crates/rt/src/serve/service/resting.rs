//! Idle service: it busy-polls for a while, and then sleeps.

use super::super::poll::poll;
use super::super::spin::{self, AWAY, Look, PollResult};
use super::{ARRIVING, DRIVE, KERNEL, LOOK_AFTER, LOOK_EVERY, MAILBOX, Service, Stopping};
use crate::ctl::Steered;
use crate::serve::ublk::Queue;
use crate::system;
use rustix::event::epoll::{Event, EventFlags};
use std::mem::MaybeUninit;
use tailcut_base::{Nanos, Time};

impl<D: Steered> Service<D> {
    /// Busy-polls, then sleeps in epoll, until there is work.
    pub(super) fn rest(&mut self) {
        let is_asked = self.is_asked() || self.kernel_asks();
        let now = self.clock.now();
        let is_busy = is_asked || self.drive.next_event() <= now;
        if is_busy {
            if self.turns.is_multiple_of(LOOK_EVERY) || now.since(self.looked) > LOOK_AFTER {
                self.poll(Some(Nanos::ZERO));
            }
            return;
        }
        let patience = self.spin.patience();
        if patience > Nanos::ZERO {
            let end = self.look_out(patience);
            self.spin.judge(end);
            self.turn_priority();
            if self.has_work() {
                if self.turns.is_multiple_of(LOOK_EVERY) {
                    self.poll(Some(Nanos::ZERO));
                }
                return;
            }
        }
        if self.spin.is_yielding() {
            self.spin.before_sleep();
            self.turn_priority();
        }
        if self.drive.arm() && self.arm_for_kernel() {
            self.poll(self.sleep_for());
        }
    }

    /// Checks whether an iteration that began at `began` was preempted: at idle priority the thread may have
    /// lost its core.
    pub(super) fn heed_absence(&mut self, began: Time) {
        if self.spin.is_yielding() && self.clock.now().since(began) > AWAY {
            self.spin.was_away();
            self.turn_priority();
        }
    }

    fn turn_priority(&mut self) {
        // If the system refuses, the priority stays the same.
        let _ = match self.spin.turn_priority() {
            Some(true) => system::yield_to_all(),
            Some(false) => system::yield_to_none(),
            None => Ok(()),
        };
    }

    /// Busy-polls for work, for at most `patience`.
    fn look_out(&mut self, patience: Nanos) -> PollResult {
        spin::look_out(self.clock, patience, || {
            let is_alone = self.connected() == 1 && self.kernel.is_none() && self.drive.wakes().is_none();
            if is_alone && self.stopping == Stopping::Not {
                self.try_all();
            } else {
                self.poll(Some(Nanos::ZERO));
            }
            match self.has_work() {
                true => Look::Work,
                false if self.connected() == 0 && self.kernel.is_none() => Look::Nobody,
                false => Look::Nothing,
            }
        })
    }

    /// True if the last iteration has left work that waits for no event.
    fn is_asked(&self) -> bool {
        self.has_unfinished || !self.listed.is_empty() || !self.awaiting_lookup.is_empty()
    }

    /// True if another iteration has work.
    pub(super) fn has_work(&mut self) -> bool {
        let has_heard = self.is_told || self.kernel_asks() || self.is_asked() || !self.replying.is_empty();
        has_heard || self.machine.has_requests() || self.drive.next_event() <= self.clock.now()
    }

    /// Receives from all connections, whether an event announced data or not.
    fn try_all(&mut self) {
        let now = self.clock.now();
        for slot in 0..self.slots.len() as u32 {
            if let Some(connection) = &mut self.slots[slot as usize].connection {
                connection.is_readable = true;
                self.receive(slot, now);
            }
        }
    }

    /// Maximum time to sleep; `None` if there is no deadline.
    fn sleep_for(&self) -> Option<Nanos> {
        let now = self.clock.now();
        let mut until = self.drive.next_event();
        if !self.blocked.is_empty() {
            until = until.min(Time(now.0 + LOOK_AGAIN.0));
        }
        if let Stopping::Until(deadline) = self.stopping {
            until = until.min(deadline).min(Time(now.0 + LOOK_AGAIN.0));
        }
        (until != Time::NEVER).then(|| Nanos(until.0.saturating_sub(now.0)))
    }

    /// Handles events that are pending or occur within `patience`.
    pub(super) fn poll(&mut self, patience: Option<Nanos>) {
        let mut events = [MaybeUninit::uninit(); EVENTS];
        self.looked = self.clock.now();
        poll(&self.epoll, patience, &mut events).iter().for_each(|event| self.note_event(*event));
    }

    fn note_event(&mut self, event: Event) {
        let (flags, data) = (event.flags, event.data.u64());
        match data {
            MAILBOX => {
                // A stop message is work as well: the next iteration closes connections that can be closed.
                self.is_told = true;
                return self.receive_messages();
            }
            // The next iteration polls the drive.
            DRIVE => return self.is_told = true,
            KERNEL => {
                self.is_told = true;
                self.kernel.iter_mut().for_each(Queue::heed);
                return;
            }
            _ => {}
        }
        let (slot, generation) = (data as u32, (data >> 32) as u32);
        let place = &mut self.slots[slot as usize];
        let Some(connection) = place.connection.as_mut().filter(|_| place.generation == generation) else {
            return;
        };
        if flags.contains(EventFlags::OUT) {
            connection.set_writable();
            if !connection.is_replying {
                connection.is_replying = true;
                self.replying.push(slot);
            }
        }
        let is_gone = flags.intersects(EventFlags::HUP | EventFlags::ERR);
        connection.is_hung |= is_gone || flags.contains(EventFlags::RDHUP);
        connection.is_gone |= is_gone;
        if is_gone && connection.is_waiting() {
            // Its next request waits for admission, and no reply could reach the client.
            self.close(slot);
        } else if is_gone || flags.intersects(ARRIVING) {
            connection.is_readable = true;
            self.list(slot);
        }
    }
}

/// Maximum number of events per poll.
const EVENTS: usize = 64;
/// Interval of the check for stalled connections, while others wait or the service stops.
const LOOK_AGAIN: Nanos = Nanos::millis(250);
