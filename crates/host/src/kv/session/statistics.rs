//! What clients have asked for, under memcached's names (`protocol.txt`, "General-purpose statistics").

use crate::kv::{Engine, Figures, Keep};
use crate::wire::memcached::reply::Stored;
use crate::wire::memcached::{Direction, StoreMode};

/// Counted since the start, or since `stats reset`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Retrievals.
    pub cmd_get: u64,
    /// Commands that store.
    pub cmd_set: u64,
    /// `flush_all`.
    pub cmd_flush: u64,
    /// Items touched, or tried to.
    pub cmd_touch: u64,
    /// Retrievals that found their item.
    pub get_hits: u64,
    /// Those that did not.
    pub get_misses: u64,
    /// Deletions that found their item.
    pub delete_hits: u64,
    /// Those that did not.
    pub delete_misses: u64,
    /// Increments that found their item.
    pub incr_hits: u64,
    /// Those that did not.
    pub incr_misses: u64,
    /// Decrements that found their item.
    pub decr_hits: u64,
    /// Those that did not.
    pub decr_misses: u64,
    /// `cas` without an item.
    pub cas_misses: u64,
    /// `cas` that stored.
    pub cas_hits: u64,
    /// `cas` with another value than the item's.
    pub cas_badval: u64,
    /// Touches that found their item.
    pub touch_hits: u64,
    /// Those that did not.
    pub touch_misses: u64,
    /// Values that were too large.
    pub store_too_large: u64,
    /// Values for which there was no room.
    pub store_no_memory: u64,
}

/// What shards tell; those of several can be added up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    /// What clients have asked for.
    pub statistics: Statistics,
    /// What the engine has done.
    pub engine: Figures,
    /// Items that are there.
    pub items: u64,
    /// Bytes of indexes.
    pub index_bytes: u64,
    /// Bytes of memory for items.
    pub memory: u64,
    /// Nothing is given up for others.
    pub keeps_everything: bool,
    /// While it is found what is on flash: segments that are known, and all of them.
    pub recovered: Option<(u32, u32)>,
}

impl Sums {
    pub(super) fn new(statistics: Statistics, engine: &Engine) -> Sums {
        Sums {
            statistics,
            engine: *engine.figures(),
            items: engine.items(),
            index_bytes: engine.index_bytes(),
            memory: engine.settings().memory,
            keeps_everything: engine.settings().keep == Keep::Everything,
            recovered: engine.recovered(),
        }
    }

    /// Those of another shard, too.
    pub fn add(&mut self, other: &Sums) {
        self.statistics.add(&other.statistics);
        self.engine.add(&other.engine);
        self.items += other.items;
        self.index_bytes += other.index_bytes;
        self.memory += other.memory;
        self.keeps_everything |= other.keeps_everything;
        self.recovered = match (self.recovered, other.recovered) {
            (Some((known, all)), Some((more, of))) => Some((known + more, all + of)),
            (one, other) => one.or(other),
        };
    }
}

counters!(Statistics: cmd_get, cmd_set, cmd_flush, cmd_touch, get_hits, get_misses, delete_hits, delete_misses, incr_hits,
    incr_misses, decr_hits, decr_misses, cas_misses, cas_hits, cas_badval, touch_hits, touch_misses, store_too_large,
    store_no_memory);

impl Statistics {
    pub(super) fn note_get(&mut self, is_hit: bool, touches: bool) {
        self.cmd_get += 1;
        count(is_hit, &mut self.get_hits, &mut self.get_misses);
        if touches {
            self.note_touch(is_hit);
        }
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
