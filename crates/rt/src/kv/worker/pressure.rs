//! Handling of exhausted client memory: further clients wait for it in FIFO order, and if that takes long,
//! clients that neither read their replies nor complete their requests are disconnected, starting with the
//! one that has held memory longest.

use super::super::events::Event;
use super::Worker;
use crate::ctl::Steered;
use std::collections::VecDeque;
use tailcut_base::{Nanos, Time};

/// Clients that wait for memory.
#[derive(Debug)]
pub(super) struct Pressure {
    /// Slots of waiting clients, in order of arrival.
    waiting: VecDeque<u32>,
    /// When the queue last became non-empty; `Time::NEVER` while memory is not short.
    since: Time,
    /// When to look next for clients that hold memory without progress.
    due: Time,
    /// How long memory may be short before a client is disconnected.
    patience: Nanos,
}

impl Pressure {
    /// No client waits.
    pub(super) fn new(patience: Nanos) -> Pressure {
        Pressure { waiting: VecDeque::new(), since: Time::NEVER, due: Time::NEVER, patience }
    }

    /// When `Worker::relieve` has to run, even without other events.
    pub(super) fn due(&self) -> Time {
        self.due
    }

    /// Removes a client that has disconnected.
    pub(super) fn remove(&mut self, slot: u32) {
        self.waiting.retain(|&other| other != slot);
    }

    /// Queues a client that waits for memory.
    pub(super) fn add(&mut self, slot: u32, now: Time) {
        if self.waiting.is_empty() && self.since == Time::NEVER {
            (self.since, self.due) = (now, now + self.patience);
        }
        self.waiting.push_back(slot);
    }
}

impl<D: Steered> Worker<D> {
    /// Resumes as many waiting clients as there is memory for, and frees memory if it is short for too long.
    pub(super) fn relieve(&mut self, now: Time) {
        if self.pressure.since == Time::NEVER {
            return;
        }
        if self.pressure.due <= now {
            self.disconnect_hoarders(now);
            self.pressure.due = now + self.pressure.patience;
        }
        let vacancies = self.clients.vacancies().min(self.pressure.waiting.len());
        for slot in self.pressure.waiting.drain(..vacancies).collect::<Vec<_>>() {
            if let Some(client) = self.slots.get_mut(slot) {
                client.awaits_memory = false;
                self.list(slot);
            }
        }
        // Listed clients have their turn first: a client that queues again then has waited all the time.
        if self.pressure.waiting.is_empty() && vacancies == 0 {
            (self.pressure.since, self.pressure.due) = (Time::NEVER, Time::NEVER);
        }
    }

    /// Disconnects clients until memory is no longer short, or no client qualifies.
    fn disconnect_hoarders(&mut self, now: Time) {
        while self.clients.is_short_of_memory()
            && let Some(slot) = self.longest_hoarder(now)
        {
            self.traffic.hoarding += 1;
            self.shards.common().log(Event::Hoarding);
            self.close(slot);
        }
    }

    /// The client that has held memory longest, among those that could have released it.
    fn longest_hoarder(&self, now: Time) -> Option<u32> {
        let since = |slot: u32| {
            let client = self.slots.get(slot)?;
            let holding = self.clients.holding(client.name)?;
            let is_hoarding = holding.is_storing || holding.has_replies && !client.socket.has_room;
            let since = holding.since.max(self.pressure.since);
            (is_hoarding && since + self.pressure.patience <= now).then_some((holding.since, slot))
        };
        self.slots.all().filter_map(since).min().map(|(_, slot)| slot)
    }
}
