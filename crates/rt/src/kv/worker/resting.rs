//! Idle worker: it busy-polls for a while, and then sleeps.

use super::ending::Stopping;
use super::{ARRIVING, DATAGRAMS, DRIVE, LISTENERS, LOOK_EVERY, MESSAGE, Worker};
use crate::ctl::Steered;
use crate::drive::Drive;
use crate::serve::poll::poll;
use crate::serve::spin::{self, Look};
use rustix::event::epoll::{Event, EventFlags};
use std::mem::MaybeUninit;
use tailcut_base::{Nanos, Time};

impl<D: Steered> Worker<D> {
    /// Busy-polls, then sleeps in epoll, until there is work.
    pub(super) fn rest(&mut self) {
        if self.has_work() {
            if self.turns.is_multiple_of(LOOK_EVERY) {
                self.poll(Some(Nanos::ZERO));
            }
            return;
        }
        let patience = self.spin.patience();
        if patience > Nanos::ZERO {
            let end = spin::look_out(self.clock, patience, || {
                self.poll(Some(Nanos::ZERO));
                match self.has_work() {
                    true => Look::Work,
                    false if self.slots.len() == self.vacant.len() => Look::Nobody,
                    false => Look::Nothing,
                }
            });
            self.spin.judge(end);
            if self.has_work() {
                return;
            }
        }
        if self.drive.as_mut().is_none_or(Drive::arm) {
            self.poll(self.sleep_for());
        }
    }

    /// True if another iteration has work.
    fn has_work(&self) -> bool {
        let has_heard = self.is_told || !self.listed.is_empty() || !self.answering.is_empty();
        has_heard || self.next_event() <= self.clock.now()
    }

    /// When the drive or a shard has work due; `Time::NEVER` in all threads but the first.
    fn next_event(&self) -> Time {
        if self.thread != 0 {
            return Time::NEVER;
        }
        let of_drive = self.drive.as_ref().map_or(Time::NEVER, Drive::next_event);
        of_drive.min(self.shards.common().next_event())
    }

    /// Maximum time to sleep; `None` if there is no deadline.
    fn sleep_for(&self) -> Option<Nanos> {
        let mut until =
            self.next_event().min(self.acceptor.opens()).min(self.idle_check).min(self.checkup.next_event());
        until = until.min(self.slowed_check).min(self.pressure.due());
        match self.stopping {
            Stopping::Emptying { deadline, quiet } => until = until.min(deadline).min(quiet),
            Stopping::Settling { deadline, .. } => until = until.min(deadline),
            Stopping::Not | Stopping::Done { .. } => {}
        }
        (until != Time::NEVER).then(|| Nanos(until.0.saturating_sub(self.clock.now().0)))
    }

    /// Handles events that are pending or occur within `patience`.
    fn poll(&mut self, patience: Option<Nanos>) {
        let mut events = [MaybeUninit::uninit(); EVENTS];
        poll(&self.epoll, patience, &mut events).iter().for_each(|event| self.note_event(*event));
    }

    fn note_event(&mut self, event: Event) {
        let (flags, data) = (event.flags, event.data.u64());
        match data {
            MESSAGE => self.receive_messages(),
            // The next iteration polls the drive.
            DRIVE => self.is_told = true,
            DATAGRAMS.. => self.receive_datagrams(data),
            LISTENERS.. => self.accept_connections(data),
            _ => self.note_client(data as u32, data, flags),
        }
    }

    fn note_client(&mut self, slot: u32, token: u64, flags: EventFlags) {
        let place = &mut self.slots[slot as usize];
        let is_the_same = super::token(slot, place.generation) == token;
        let Some(client) = place.client.as_mut().filter(|_| is_the_same) else { return };
        // The receive detects a disconnect; data that came before it counts.
        let is_gone = flags.intersects(EventFlags::HUP | EventFlags::ERR);
        client.is_writable |= is_gone || flags.contains(EventFlags::OUT);
        client.is_hung |= is_gone || flags.contains(EventFlags::RDHUP);
        if (is_gone || flags.intersects(ARRIVING)) && !client.has_ended {
            client.is_readable = true;
            self.list(slot);
        }
        if is_gone || flags.contains(EventFlags::OUT) {
            self.note_answer(slot);
        }
    }
}

/// Maximum number of events per poll.
const EVENTS: usize = 64;
