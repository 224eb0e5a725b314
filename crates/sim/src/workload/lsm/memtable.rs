//! Memtables, and the log that makes them durable.

use super::space::Extent;
use super::table::{IN_MEMORY, is_drawn};

/// Puts that are not in a file yet, with their log.
#[derive(Clone, Debug)]
pub struct Memtable {
    /// Its number among the memtables.
    pub id: u32,
    /// Puts that it has taken.
    pub puts: u64,
    /// Extents of its log, in order; blocks that have been written.
    pub log: Vec<Extent>,
    /// Bytes of the log.
    pub log_bytes: u64,
    /// Blocks of the log that have been handed to the device whole.
    pub log_written: u64,
}

impl Memtable {
    /// An empty one.
    pub fn new(id: u32) -> Memtable {
        Memtable { id, puts: 0, log: Vec::new(), log_bytes: 0, log_written: 0 }
    }

    /// How many of `keys` keys it has a version of: `puts` uniform draws hit K(1 − e^(−puts ÷ K))
    /// different ones. Rounded; at least 1 when there was a put.
    pub fn entries(&self, keys: u64) -> u64 {
        let distinct = keys as f64 * -libm::expm1(-(self.puts as f64) / keys as f64);
        (distinct.round() as u64).clamp(self.puts.min(1), self.puts.min(keys))
    }

    /// True when it has a version of `key`, one of `keys`; once true, it stays so.
    pub fn holds(&self, key: u64, keys: u64) -> bool {
        is_drawn(self.id, IN_MEMORY, key, -libm::expm1(-(self.puts as f64) / keys as f64))
    }

    /// Blocks of its log.
    pub fn log_blocks(&self) -> u64 {
        self.log.iter().map(|extent| extent.blocks).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn puts_for_one_key_count_once() {
        let mut memtable = Memtable::new(1);
        assert_eq!(memtable.entries(1000), 0);
        memtable.puts = 1000;
        assert_eq!(memtable.entries(1000), 632);
        assert_eq!(memtable.entries(1), 1);
        let held = (0..100_000).filter(|key| memtable.holds(*key, 100_000)).count() as f64;
        assert!((held - 995.0).abs() < 4.0 * 995.0f64.sqrt(), "{held}");
    }
}
