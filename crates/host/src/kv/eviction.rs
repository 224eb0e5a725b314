//! Room in memory: which records stay there, which go to flash, and which are given up (S3-FIFO, Yang and
//! others 2023).

use super::engine::Engine;
use super::front::{Queue, Victim};
use super::hash::KeyHash;
use super::index::Entry;
use super::log::Purpose;
use super::place::{Place, UNIT};
use super::settings::Keep;

impl Engine {
    /// Room for another copy of what is on flash.
    pub(super) fn reserve_for_copy(&mut self, bytes: u64) -> Option<u32> {
        self.make_room(bytes);
        self.front.reserve(Queue::Main, bytes, false)
    }

    /// A store that keeps everything and has no flash cannot give anything up.
    pub(super) fn may_evict(&self) -> bool {
        self.settings.keep == Keep::WhatIsUsed || self.flash.is_some()
    }

    /// Makes room in memory, a little at a time, so that nobody waits for a whole segment.
    pub(super) fn make_room(&mut self, bytes: u64) {
        let mut left = 2 * bytes + STEP_BYTES;
        while self.front.is_short() && self.may_evict() && left > 0 {
            let Some(victim) = self.front.next_victim() else { break };
            left = left.saturating_sub(u64::from(victim.bytes));
            self.evict(victim);
        }
    }

    pub(super) fn evict_segment(&mut self) {
        while let Some(victim) = self.front.next_victim() {
            self.evict(victim);
        }
    }

    /// A record has to leave its place in memory (S3-FIFO, Yang and others 2023, algorithm 1).
    fn evict(&mut self, victim: Victim) {
        if victim.is_first {
            // At least half of a segment comes free, whatever is in it.
            self.move_budget = self.front.segment_bytes() / 2;
        }
        self.look_ahead();
        let item = self.front.item(victim.unit);
        let (header, hash) = (item.header, KeyHash::of(self.seed, item.key));
        let place = Place::Front { unit: victim.unit };
        let Some(entry) = self.index.find(hash).filter(|entry| entry.place == place) else { return };
        if header.is_expired(self.unix) {
            return self.drop_expired(hash, entry);
        }
        let (stays, heat) = match victim.queue {
            Queue::Small => (entry.heat > 1, 0),
            Queue::Main => (entry.heat > 0, entry.heat.saturating_sub(1)),
        };
        if stays && self.move_within(hash, victim, heat) {
            return;
        }
        self.leave(hash, victim, entry, header.home);
    }

    /// What the index says of the next victims comes from memory while this one is moved.
    fn look_ahead(&mut self) {
        while let Some(unit) = self.front.next_soon() {
            self.index.prefetch(self.hash(self.front.item(unit).key));
        }
    }

    fn move_within(&mut self, hash: KeyHash, victim: Victim, heat: u8) -> bool {
        let bytes = u64::from(victim.bytes);
        if bytes > self.move_budget {
            return false;
        }
        let Some(to) = self.front.reserve(Queue::Main, bytes, true) else { return false };
        self.move_budget -= bytes;
        self.front.copy(victim.unit, to, victim.bytes);
        self.index.set(hash, Entry { place: Place::Front { unit: to }, heat });
        true
    }

    /// A record leaves memory: it has a place on flash, or gets one, or is given up.
    fn leave(&mut self, hash: KeyHash, victim: Victim, entry: Entry, home: u64) {
        if home != 0 {
            self.index.set(hash, Entry { place: Place::decode(home), heat: 0 });
            return;
        }
        let is_admitted = victim.queue == Queue::Main || entry.heat > 0 || self.has_unused_flash();
        if is_admitted && let Some(place) = self.append_from_front(hash, victim.unit, Purpose::User) {
            self.index.set(hash, Entry { place, heat: 0 });
            self.figures.moved_to_flash += 1;
            return;
        }
        self.forget(hash);
        self.ghost.remember(hash);
        self.figures.evicted += 1;
        self.figures.not_admitted += u64::from(!is_admitted);
    }

    /// While there are segments that hold nothing, everything is worth keeping.
    fn has_unused_flash(&self) -> bool {
        self.flash.as_ref().is_some_and(|flash| !flash.log.wants_victim(0) && !flash.log.is_busy())
    }
}

/// Steps of eviction beyond what is needed.
const STEP_BYTES: u64 = 16 * UNIT;
