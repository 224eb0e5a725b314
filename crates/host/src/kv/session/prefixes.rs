//! Counters by key prefix (`stats detail`). The rules are those of memcached's `stats_prefix.c`: only classic
//! commands count, and only keys with a [`DELIMITER`].

use crate::wire::memcached::{Key, reply};
use memchr::memchr;
use std::collections::BTreeMap;

/// Counters of each key prefix, in the order of the prefixes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PrefixCounters {
    prefixes: BTreeMap<Box<[u8]>, PrefixCounts>,
}

/// Counters of one key prefix.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PrefixCounts {
    /// Keys with the prefix that were retrieved, found or not.
    pub gets: u64,
    /// Keys with the prefix that were retrieved and found.
    pub hits: u64,
    /// Storage commands on keys with the prefix, successful or not.
    pub sets: u64,
    /// Deletions of keys with the prefix, whether the item existed or not.
    pub deletes: u64,
}

counters!(PrefixCounts: gets, hits, sets, deletes);

impl PrefixCounters {
    /// Adds to the counters of a key's prefix. A prefix beyond the first [`MOST_PREFIXES`] is not counted.
    pub fn count(&mut self, key: Key<'_>, counts: PrefixCounts) {
        let Some(end) = memchr(DELIMITER, key.as_bytes()) else { return };
        self.add_to(&key.as_bytes()[..end], &counts);
    }

    /// Adds the counters of another shard.
    pub fn add(&mut self, other: &PrefixCounters) {
        other.prefixes.iter().for_each(|(prefix, counts)| self.add_to(prefix, counts));
    }

    fn add_to(&mut self, prefix: &[u8], counts: &PrefixCounts) {
        if let Some(known) = self.prefixes.get_mut(prefix) {
            known.add(counts);
        } else if self.prefixes.len() < MOST_PREFIXES {
            self.prefixes.insert(prefix.into(), *counts);
        }
    }

    /// Writes the reply to `stats detail dump`.
    pub fn write(&self, out: &mut Vec<u8>) {
        for (prefix, counts) in &self.prefixes {
            let PrefixCounts { gets, hits, sets, deletes } = *counts;
            reply::prefix(out, prefix, [gets, hits, sets, deletes]);
        }
        reply::end(out);
    }
}

/// The byte that ends a prefix (`-D` of memcached).
pub const DELIMITER: u8 = b':';

/// Most prefixes of a shard, and of a reply.
pub const MOST_PREFIXES: usize = 4096;
