//! The worker as an event loop: what wakes it, and for how long it sleeps.

use super::super::shards::Message;
use super::ending::Stopping;
use super::{DATAGRAMS, LISTENERS, Worker};
use crate::ctl::Steered;
use crate::drive::Drive;
use crate::reactor::{Event, EventLoop, Reactor};
use tailcut_base::Time;

impl<D: Steered> EventLoop for Worker<D> {
    type Message = Message;

    fn reactor(&mut self) -> &mut Reactor<Message> {
        &mut self.reactor
    }

    fn iterate(&mut self, now: Time) {
        self.serve(now);
    }

    fn is_done(&mut self) -> bool {
        matches!(self.stopping, Stopping::Done { .. })
    }

    fn note_event(&mut self, event: Event) {
        match event.token().as_source() {
            None => self.note_client(event),
            Some(source @ DATAGRAMS..) => self.receive_datagrams(source),
            Some(source @ LISTENERS..) => self.accept_connections(source),
            // The drive: the next iteration polls it.
            Some(_) => self.is_told = true,
        }
    }

    fn has_work(&mut self, now: Time) -> bool {
        let has_any = self.is_told || !self.listed.is_empty() || !self.answering.is_empty();
        has_any || self.next_event() <= now
    }

    fn deadline(&mut self, _: Time) -> Time {
        let mut until = self.next_event().min(self.listeners.resumes());
        until = until.min(self.idle_check).min(self.checkup.next_event());
        until = until.min(self.slowed_check).min(self.pressure.due());
        match self.stopping {
            Stopping::Emptying { deadline, quiet } => until.min(deadline).min(quiet),
            Stopping::Settling { deadline, .. } => until.min(deadline),
            Stopping::Not | Stopping::Done { .. } => until,
        }
    }

    fn arm(&mut self) -> bool {
        self.drive.as_mut().is_none_or(Drive::arm)
    }

    fn has_clients(&self) -> bool {
        !self.slots.is_empty()
    }
}

impl<D: Steered> Worker<D> {
    /// When the drive or a shard has work due; `Time::NEVER` in all threads but the first.
    fn next_event(&self) -> Time {
        if self.thread != 0 {
            return Time::NEVER;
        }
        let of_drive = self.drive.as_ref().map_or(Time::NEVER, Drive::next_event);
        of_drive.min(self.shards.common().next_event())
    }

    fn note_client(&mut self, event: Event) {
        let Some(slot) = self.slots.find(event.token()) else { return };
        let client = &mut self.slots[slot];
        // The receive detects a disconnect; data that came before it counts.
        client.socket.note(event);
        if client.has_ended {
            client.socket.is_readable = false;
        } else if event.has_arrived() {
            self.list(slot);
        }
        if event.is_gone() || event.has_room() {
            self.note_answer(slot);
        }
    }
}
