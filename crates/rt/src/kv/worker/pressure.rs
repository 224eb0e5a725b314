//! What happens when clients hold all the memory that there is for them: others wait for it in their order,
//! and if that takes long, those that neither read their answers nor end what they send are disconnected,
//! whoever has held memory for longest first.

use super::super::events::Event;
use super::Worker;
use crate::ctl::Steered;
use std::collections::VecDeque;
use tailcut_base::{Nanos, Time};

/// Clients that wait for memory.
#[derive(Debug)]
pub(super) struct Pressure {
    /// By their slots, in the order in which they came.
    waiting: VecDeque<u32>,
    /// When the first of them began to wait while nobody else did; never if nobody waits.
    since: Time,
    /// When it is looked next for whoever holds memory for nothing.
    due: Time,
    /// How long memory may be short before somebody has to go.
    patience: Nanos,
}

impl Pressure {
    /// Nobody waits.
    pub fn new(patience: Nanos) -> Pressure {
        Pressure { waiting: VecDeque::new(), since: Time::NEVER, due: Time::NEVER, patience }
    }

    /// When something has to be done, whatever else happens.
    pub fn due(&self) -> Time {
        self.due
    }

    /// A client that waits has gone.
    pub fn remove(&mut self, slot: u32) {
        self.waiting.retain(|&other| other != slot);
    }

    /// A client waits.
    pub fn add(&mut self, slot: u32, now: Time) {
        if self.waiting.is_empty() && self.since == Time::NEVER {
            (self.since, self.due) = (now, now + self.patience);
        }
        self.waiting.push_back(slot);
    }
}

impl<D: Steered> Worker<D> {
    /// Lets those go on for whom there is memory, and sees to it that there is some.
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
            if let Some(client) = &mut self.slots[slot as usize].client {
                client.awaits_memory = false;
                self.list(slot);
            }
        }
        // Those that are listed have their turn first: who waits again then has waited all the time.
        if self.pressure.waiting.is_empty() && vacancies == 0 {
            (self.pressure.since, self.pressure.due) = (Time::NEVER, Time::NEVER);
        }
    }

    /// Makes room.
    fn disconnect_hoarders(&mut self, now: Time) {
        while self.clients.is_short_of_memory()
            && let Some(slot) = self.longest_hoarder(now)
        {
            self.traffic.hoarding += 1;
            self.shards.common().tell(Event::Hoarding);
            self.close(slot);
        }
    }

    /// The client that has held memory for longest, and could have let go of it.
    fn longest_hoarder(&self, now: Time) -> Option<u32> {
        let since = |slot: u32| {
            let client = self.slots[slot as usize].client.as_ref()?;
            let holding = self.clients.holding(client.name)?;
            let is_hoarding = holding.is_storing || holding.has_replies && !client.is_writable;
            let since = holding.since.max(self.pressure.since);
            (is_hoarding && since + self.pressure.patience <= now).then_some((holding.since, slot))
        };
        (0..self.slots.len() as u32).filter_map(since).min().map(|(_, slot)| slot)
    }
}
