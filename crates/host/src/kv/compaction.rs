//! Compaction of memory: dead records give way to live ones.
//!
//! Without flash, an evicted item is lost and a store refuses new ones, so the space of records that were
//! replaced, deleted or have expired is used first. When few segments are free, the live records of the
//! segment with the most dead bytes are moved together. The cost is bounded, because a segment with few of
//! them is left alone: at a share of one in n, freeing a byte moves at most n - 1. With flash, eviction is
//! cheaper: the records of the oldest segment are on flash, or are written there.

use super::engine::{Engine, Refused};
use super::front::{Queue, Victim};
use super::place::FrontUnit;
use super::settings::Keep;
use tailcut_base::cast::to_u32;

impl Engine {
    /// Chooses a segment to empty unless one is being emptied. False if nothing can be freed.
    pub(super) fn choose_segment(&mut self) -> bool {
        self.chooses_segment(true)
    }

    fn chooses_segment(&mut self, may_compact: bool) -> bool {
        self.front.pace().is_some()
            || may_compact && self.begin_compaction()
            || self.may_evict() && self.begin_eviction()
    }

    /// Chooses a segment to empty for a record of `bytes` bytes; `is_late` if many were emptied for it.
    fn chooses_segment_for(&mut self, bytes: u64, is_late: bool) -> bool {
        if !self.front.takes_run(to_u32(bytes)) {
            return self.chooses_segment(!is_late);
        }
        let may_begin = self.may_evict();
        let is_begun = self.front.pace().is_some()
            || may_begin && (self.begin_eviction_for(bytes) || self.begin_eviction());
        if is_late {
            // What is moved could take the segments that have become free.
            self.move_budget = 0;
        }
        is_begun
    }

    /// Reserves memory for a record at once, whole segments at a time.
    ///
    /// # Errors
    /// [`Refused::Full`] if nothing may be evicted and little can be gained by compaction.
    pub(super) fn reserve_now(&mut self, queue: Queue, bytes: u64) -> Result<FrontUnit, Refused> {
        let mut compacted = 0;
        loop {
            if let Some(unit) = self.front.reserve(queue, bytes, false) {
                return Ok(unit);
            }
            if !self.chooses_segment_for(bytes, compacted >= MOST_COMPACTED) {
                return Err(Refused::Full);
            }
            compacted += 1;
            self.empty_segment();
        }
    }

    fn begin_compaction(&mut self) -> bool {
        match (self.settings.keep, self.flash.is_some()) {
            (_, true) => false,
            (Keep::WhatIsUsed, _) => self.front.begin_compaction(SHARE),
            (Keep::Everything, _) => {
                self.front.begin_compaction(SHARE)
                    || self.drop_some_expired() && self.front.begin_compaction(SHARE)
            }
        }
    }

    /// Moves a record of the segment being compacted, if it is live.
    pub(super) fn gather(&mut self, victim: Victim) {
        self.look_ahead();
        let Some((hash, entry, header)) = self.live(victim.unit) else { return };
        if header.is_expired(self.unix) {
            self.tiers.expired_evicted += 1;
            return self.drop_expired(hash, entry);
        }
        // New records leave half of the reserve free, and the live records of a segment fit in one.
        let to = self.front.reserve_beside(victim.bytes).expect("the reserve has a segment for copies");
        self.move_to(to, hash, victim, entry.heat);
    }

    /// Drops expired items among the next few records in turn; false if there are none.
    fn drop_some_expired(&mut self) -> bool {
        let mut has_dropped = false;
        for unit in self.front.expired(self.unix) {
            if let Some((hash, entry, _)) = self.live(unit) {
                self.tiers.expired_evicted += 1;
                self.drop_expired(hash, entry);
                has_dropped = true;
            }
        }
        has_dropped
    }
}

/// Segments that are compacted at most for one write. Records of more than an eighth of a segment may leave
/// so much of each segment empty that little is gained.
const MOST_COMPACTED: u32 = 32;
/// Segments are compacted of which one byte in this many is dead. A cache evicts if there are none, a store
/// refuses new items.
const SHARE: usize = 16;
