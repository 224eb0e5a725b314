//! Counters of client commands with memcached's names (`protocol.txt`, "General-purpose statistics").

use crate::kv::{Engine, Figures, FlashUse, Keep, TierFigures};
use crate::wire::memcached::reply::Stored;
use crate::wire::memcached::{Direction, StoreMode};

/// Counters since the start or the last `stats reset`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Retrievals that set no expiry time; see [`Statistics::gets`] for all.
    pub cmd_get: u64,
    /// Storage commands, whether they stored a value or not.
    pub cmd_set: u64,
    /// `flush_all` commands. Each shard gets all of them, so [`Sums`] of shards count the most of one.
    pub cmd_flush: u64,
    /// Touches, successful or not, with retrievals that set the expiry time (`gat`).
    pub cmd_touch: u64,
    /// Keys found among `cmd_get`.
    pub get_hits: u64,
    /// Keys missing among `cmd_get`.
    pub get_misses: u64,
    /// Deletions (`delete`, `md`) of items that existed.
    pub delete_hits: u64,
    /// Deletions (`delete`, `md`) of items that did not exist.
    pub delete_misses: u64,
    /// Increments (`incr`, `ma`) of items that existed.
    pub incr_hits: u64,
    /// Increments (`incr`, `ma`) of items that did not exist.
    pub incr_misses: u64,
    /// Decrements (`decr`, `ma`) of items that existed.
    pub decr_hits: u64,
    /// Decrements (`decr`, `ma`) of items that did not exist.
    pub decr_misses: u64,
    /// Storage commands with a CAS value on items that did not exist.
    pub cas_misses: u64,
    /// Storage commands with a CAS value that matched.
    pub cas_hits: u64,
    /// Storage commands with a CAS value other than the item's.
    pub cas_badval: u64,
    /// Items found among `cmd_touch`.
    pub touch_hits: u64,
    /// Items missing among `cmd_touch`.
    pub touch_misses: u64,
    /// Hits among the retrievals that set the expiry time, which are in `touch_hits` as well.
    gat_hits: u64,
    /// Misses among the retrievals that set the expiry time, which are in `touch_misses` as well.
    gat_misses: u64,
    /// Values refused because they exceed the largest item.
    pub store_too_large: u64,
    /// Values refused for lack of memory.
    pub store_no_memory: u64,
}

/// Counters of a shard; those of several can be added.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    /// Counters of client commands since the start or the last `stats reset`.
    pub statistics: Statistics,
    /// Counters of the engine since it was opened; `stats reset` keeps them.
    pub engine: Figures,
    /// Counters of what leaves each tier.
    pub tiers: TierFigures,
    /// Number of items, in memory and on flash.
    pub items: u64,
    /// Size of the index in bytes.
    pub index_bytes: u64,
    /// Size of the memory for items in bytes, in use or not.
    pub memory: u64,
    /// Memory in use in bytes, by records of items and by records that were replaced since their segment was
    /// filled.
    pub memory_used: u64,
    /// Use of flash; None if all items are in memory.
    pub flash: Option<FlashUse>,
    /// True for a store: nothing is evicted.
    pub keeps_everything: bool,
    /// Shards whose disk is out of space.
    pub full_shards: u32,
    /// During recovery, segments recovered and segments in total.
    pub recovered: Option<(u32, u32)>,
}

impl Sums {
    pub(super) fn new(statistics: Statistics, engine: &Engine) -> Sums {
        Sums {
            statistics,
            engine: *engine.figures(),
            tiers: *engine.tiers(),
            items: engine.items(),
            index_bytes: engine.index_bytes(),
            memory: engine.settings().memory,
            memory_used: engine.memory_used(),
            flash: engine.flash_use(),
            keeps_everything: engine.settings().keep == Keep::Everything,
            full_shards: u32::from(engine.is_full()),
            recovered: engine.recovered(),
        }
    }

    /// Adds the counters of another shard.
    pub fn add(&mut self, other: &Sums) {
        let flushes = self.statistics.cmd_flush.max(other.statistics.cmd_flush);
        self.statistics.add(&other.statistics);
        self.statistics.cmd_flush = flushes;
        self.engine.add(&other.engine);
        self.tiers.add(&other.tiers);
        self.items += other.items;
        self.index_bytes += other.index_bytes;
        self.memory += other.memory;
        self.memory_used += other.memory_used;
        self.flash = match (self.flash, other.flash) {
            (Some(one), Some(other)) => Some(one.plus(&other)),
            (one, other) => one.or(other),
        };
        self.keeps_everything |= other.keeps_everything;
        self.full_shards += other.full_shards;
        self.recovered = match (self.recovered, other.recovered) {
            (Some((known, all)), Some((more, of))) => Some((known + more, all + of)),
            (one, other) => one.or(other),
        };
    }
}

counters!(Statistics: cmd_get, cmd_set, cmd_flush, cmd_touch, get_hits, get_misses, delete_hits, delete_misses, incr_hits,
    incr_misses, decr_hits, decr_misses, cas_misses, cas_hits, cas_badval, touch_hits, touch_misses, gat_hits,
    gat_misses, store_too_large, store_no_memory);

impl Statistics {
    /// Keys retrieved or missed by `get`, `gets`, `gat`, `gats` and `mg`.
    pub fn gets(&self) -> u64 {
        self.cmd_get + self.gat_hits + self.gat_misses
    }

    /// Keys that were found, among [`Statistics::gets`].
    pub fn gets_found(&self) -> u64 {
        self.get_hits + self.gat_hits
    }

    /// Commands that only touch: `touch`.
    pub fn touches(&self) -> u64 {
        self.cmd_touch - self.gat_hits - self.gat_misses
    }

    /// Counts a retrieval. In memcached's counters, one that sets the expiry time is a touch and nothing
    /// else, as in memcached.
    pub(super) fn note_get(&mut self, is_hit: bool, touches: bool) {
        if touches {
            count(is_hit, &mut self.gat_hits, &mut self.gat_misses);
            return self.note_touch(is_hit);
        }
        self.cmd_get += 1;
        count(is_hit, &mut self.get_hits, &mut self.get_misses);
    }

    pub(super) fn note_touch(&mut self, is_hit: bool) {
        self.cmd_touch += 1;
        count(is_hit, &mut self.touch_hits, &mut self.touch_misses);
    }

    pub(super) fn note_delete(&mut self, is_hit: bool) {
        count(is_hit, &mut self.delete_hits, &mut self.delete_misses);
    }

    pub(super) fn note_count(&mut self, direction: Direction, is_hit: bool) {
        match direction {
            Direction::Up => count(is_hit, &mut self.incr_hits, &mut self.incr_misses),
            Direction::Down => count(is_hit, &mut self.decr_hits, &mut self.decr_misses),
        }
    }

    pub(super) fn note_store(&mut self, mode: StoreMode, stored: Stored) {
        self.cmd_set += 1;
        if let StoreMode::Cas(_) = mode {
            match stored {
                Stored::NotFound => self.cas_misses += 1,
                Stored::Exists => self.cas_badval += 1,
                _ => self.cas_hits += 1,
            }
        }
        self.store_too_large += u64::from(stored == Stored::TooLarge);
        self.store_no_memory += u64::from(stored == Stored::NoMemory);
    }
}

fn count(is_hit: bool, hits: &mut u64, misses: &mut u64) {
    *(if is_hit { hits } else { misses }) += 1;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flush_that_every_shard_gets_counts_once() {
        let statistics = Statistics { cmd_flush: 3, cmd_get: 2, ..Statistics::default() };
        let shard = Sums { statistics, ..Sums::default() };
        let mut all = shard;
        all.add(&shard);
        assert_eq!((all.statistics.cmd_flush, all.statistics.cmd_get), (3, 4));
    }
}
