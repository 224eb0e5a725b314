//! Eviction from memory: which records stay, which move to flash, and which are dropped (S3-FIFO, Yang and
//! others 2023).

use super::admission::NotAdmitted;
use super::engine::Engine;
use super::front::{Emptying, Queue, Victim};
use super::hash::KeyHash;
use super::index::Entry;
use super::log::AppendPurpose;
use super::place::{FrontUnit, Place, UNIT};
use super::record::{Header, State};
use super::settings::Keep;

impl Engine {
    /// Reserves memory for a cached copy of an item on flash.
    pub(super) fn reserve_for_copy(&mut self, bytes: u64) -> Option<FrontUnit> {
        self.make_room(bytes);
        self.front.reserve(Queue::Main, bytes, false)
    }

    /// False for a store without flash: it must keep every item.
    pub(super) fn may_evict(&self) -> bool {
        self.settings.keep == Keep::WhatIsUsed || self.flash.is_some()
    }

    /// Frees memory in small steps, so that no request waits for a whole segment.
    pub(super) fn make_room(&mut self, bytes: u64) {
        if !self.front.is_short() || !self.choose_segment() {
            return;
        }
        let mut left = self.front.pace().map_or(0, |pace| pace * bytes) + STEP_BYTES;
        while self.front.is_short() && left > 0 {
            let Some(victim) = self.front.next_victim() else { break };
            left = left.saturating_sub(u64::from(victim.bytes));
            self.empty(victim);
        }
    }

    /// Frees the segment chosen.
    pub(super) fn empty_segment(&mut self) {
        while let Some(victim) = self.front.next_victim() {
            self.empty(victim);
        }
    }

    fn empty(&mut self, victim: Victim) {
        match victim.emptying {
            Emptying::Eviction => self.evict(victim),
            Emptying::Compaction => self.gather(victim),
        }
    }

    /// Begins to evict the oldest segment. False if there is none.
    pub(super) fn begin_eviction(&mut self) -> bool {
        // At least half of each segment is freed.
        self.move_budget = self.front.segment_bytes() / 2;
        self.front.begin_eviction()
    }

    /// Begins to evict a segment that is in the way of a record of `bytes` bytes, longer than a segment.
    pub(super) fn begin_eviction_for(&mut self, bytes: u64) -> bool {
        self.move_budget = self.front.segment_bytes() / 2;
        self.front.begin_eviction_for(bytes)
    }

    /// The queue of a new record, by its length in bytes. What leaves memory for flash is chosen among all.
    pub(super) fn queue_of_new(&mut self, bytes: u64) -> Queue {
        let queue = self.front.queue_of_new(bytes);
        if self.flash.is_some() { Queue::Small } else { queue }
    }

    /// Evicts a record from its segment (S3-FIFO, Yang and others 2023, algorithm 1). One read is enough to
    /// leave the small queue for the main one; the algorithm asks for two, which finds fewer items. A large
    /// record needs more reads than others to stay in the main queue.
    fn evict(&mut self, victim: Victim) {
        self.look_ahead();
        let Some((hash, entry, header)) = self.live(victim.unit) else { return };
        if header.is_expired(self.unix) {
            self.tiers.expired_evicted += 1;
            return self.drop_expired(hash, entry);
        }
        let (stays, heat) = match victim.queue {
            Queue::Small | Queue::Large => (entry.heat > 0, 0),
            Queue::Main => {
                let is_large = self.flash.is_none() && self.front.is_large(victim.bytes.into());
                let least = if is_large { LARGE_HEAT } else { 1 };
                (entry.heat >= least, entry.heat.saturating_sub(1))
            }
        };
        if stays && self.front.takes_run(victim.bytes) {
            self.front.keep_run(&victim);
            self.index.set(hash, Entry { heat, ..entry });
            return;
        }
        if stays && self.move_within(hash, victim, heat) {
            return;
        }
        self.leave(hash, victim, entry, &header);
    }

    /// The key, index entry and header of a record in memory, if it is live.
    pub(super) fn live(&self, unit: FrontUnit) -> Option<(KeyHash, Entry, Header)> {
        let item = self.front.item(unit);
        let hash = KeyHash::of(self.seed, item.key);
        let entry = self.index.find(hash).filter(|entry| entry.place == Place::Front { unit })?;
        Some((hash, entry, item.header))
    }

    /// Prefetches the index entries of the next victims while this one is moved.
    pub(super) fn look_ahead(&mut self) {
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
        self.move_to(to, hash, victim, heat);
        true
    }

    /// Moves a live record to the place reserved for it at unit `to`.
    pub(super) fn move_to(&mut self, to: FrontUnit, hash: KeyHash, victim: Victim, heat: u8) {
        self.front.copy(&victim, to);
        self.front.discard(victim.unit);
        self.index.set(hash, Entry { place: Place::Front { unit: to }, heat });
    }

    /// A record leaves memory: its place on flash becomes the item, or it is written there, or it is dropped.
    fn leave(&mut self, hash: KeyHash, victim: Victim, entry: Entry, header: &Header) {
        if header.home != 0 {
            self.front.discard(victim.unit);
            self.index.set(hash, Entry { place: Place::decode(header.home), heat: 0 });
            return;
        }
        let is_used = victim.queue == Queue::Main || entry.heat > 0 || self.has_unused_flash();
        let is_admitted = is_used && self.admits(header);
        if is_admitted && let Some(place) = self.append_from_front(hash, victim.unit, AppendPurpose::User) {
            self.front.discard(victim.unit);
            self.index.set(hash, Entry { place, heat: 0 });
            self.figures.moved_to_flash += 1;
            return;
        }
        self.forget(hash);
        self.ghost.remember(hash, self.index.items());
        self.figures.evicted += 1;
        self.figures.not_admitted += u64::from(!is_admitted);
        self.tiers.evicted_unfetched += u64::from(!header.state.has(State::FETCHED));
    }

    /// True if an operator's bounds let an item onto flash. Those that they keep off are counted.
    fn admits(&mut self, header: &Header) -> bool {
        let refused = match self.admission.refuses(self.now, self.unix, header) {
            None => return true,
            Some(NotAdmitted::Small) => &mut self.tiers.refused_small,
            Some(NotAdmitted::Expiring) => &mut self.tiers.refused_expiring,
            Some(NotAdmitted::OverBudget) => &mut self.tiers.refused_over_budget,
        };
        *refused += u64::from(self.flash.is_some());
        false
    }

    /// True while flash has unused segments: then every item is admitted.
    fn has_unused_flash(&self) -> bool {
        self.flash.as_ref().is_some_and(|flash| !flash.log.wants_victim(0) && !flash.log.is_busy())
    }
}

/// Reads that a large record in the main queue needs to stay there.
const LARGE_HEAT: u8 = 2;
/// Bytes of eviction per step beyond the bytes needed.
const STEP_BYTES: u64 = 16 * UNIT;
