//! Memtables, and the log that makes them durable.

use super::law::{Key, Law};
use super::space::Extent;
use super::table::{IN_MEMORY, is_drawn};
use std::ops::Range;

/// Puts that are not in a file yet, with their log.
#[derive(Clone, Debug)]
pub struct Memtable {
    /// Number of the memtable among all memtables.
    pub id: u32,
    /// Number of puts that the memtable has taken.
    pub puts: u64,
    /// Of a store that grows: how many keys were inserted before its first.
    pub born: u64,
    /// Extents of the memtable's log, in order: the blocks that have been written.
    pub log: Vec<Extent>,
    /// Length of the memtable's log in bytes.
    pub log_bytes: u64,
    /// Blocks of the log that have been handed to the device whole.
    pub log_written: u64,
}

impl Memtable {
    /// An empty one, after `born` inserts.
    pub fn new(id: u32, born: u64) -> Memtable {
        Memtable { id, puts: 0, born, log: Vec::new(), log_bytes: 0, log_written: 0 }
    }

    /// The inserts that it has taken, counted from the first of the store.
    pub fn births(&self) -> Range<u64> {
        self.born..self.born + self.puts
    }

    /// How many of `keys` keys it has a version of; at least 1 when there was a put.
    pub fn entries(&self, keys: u64, law: &Law) -> u64 {
        law.distinct(self.puts, keys)
    }

    /// True when it has a version of `key`, one of `keys`; once true, it stays so.
    pub fn holds(&self, key: Key, keys: u64, law: &Law) -> bool {
        let probability = match law {
            Law::Uniform => -libm::expm1(-(self.puts as f64) / keys as f64),
            Law::Skewed(_) => Law::hit(self.puts as f64, key.weight),
            Law::Growing => return self.births().contains(&key.age),
        };
        is_drawn(self.id, IN_MEMORY, key.place, probability)
    }

    /// Number of blocks of the memtable's log.
    pub fn log_blocks(&self) -> u64 {
        self.log.iter().map(|extent| extent.blocks).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn puts_for_one_key_count_once() {
        let mut memtable = Memtable::new(1, 0);
        assert_eq!(memtable.entries(1000, &Law::Uniform), 0);
        memtable.puts = 1000;
        assert_eq!(memtable.entries(1000, &Law::Uniform), 632);
        assert_eq!(memtable.entries(1, &Law::Uniform), 1);
        let key = |place| Key { place, age: place, weight: 0.0 };
        let holds = |place: &u64| memtable.holds(key(*place), 100_000, &Law::Uniform);
        let held = (0..100_000).filter(holds).count() as f64;
        assert!((held - 995.0).abs() < 4.0 * 995.0f64.sqrt(), "{held}");
    }
}
