//! Keys that were evicted recently.

use super::hash::KeyHash;
use prefetch_index::prefetch_index;
use tailcut_base::cast::{low_u8, low_u32, low_u64, to_usize};

/// Remembers the keys evicted last, about as many as there are items (the ghost queue of S3-FIFO, Yang and
/// others 2023, §4.1), by 24 bits of their hashes, in a table where a newer key overwrites an older one. An
/// error costs an unnecessary write or a miss.
#[derive(Debug)]
pub(super) struct Ghost {
    /// 24 bits of a hash, and in the lowest 8 the period in which it was remembered.
    marks: Vec<u32>,
    period: u8,
    /// Keys remembered in this period.
    remembered: u64,
}

impl Ghost {
    /// A ghost for at most about `keys` keys.
    pub(super) fn new(keys: u64) -> Ghost {
        let marks = vec![0; to_usize(keys.clamp(64, 1 << 28).next_power_of_two())];
        Ghost { marks, period: PERIODS, remembered: 0 }
    }

    /// Remembers an evicted key, until about `items` more have been.
    pub(super) fn remember(&mut self, hash: KeyHash, items: u64) {
        self.remembered += 1;
        if self.remembered > items / u64::from(PERIODS) {
            (self.period, self.remembered) = (self.period.wrapping_add(1), 0);
        }
        let (at, mark) = split(hash, self.marks.len());
        self.marks[at] = mark | u32::from(self.period);
    }

    /// True if the key was evicted recently; removes it.
    pub(super) fn recall(&mut self, hash: KeyHash) -> bool {
        let (at, mark) = split(hash, self.marks.len());
        let found = self.marks[at];
        let age = self.period.wrapping_sub(low_u8(u64::from(found)));
        let is_there = found & !PERIOD == mark && age <= PERIODS;
        if is_there {
            self.marks[at] = 0;
        }
        is_there
    }

    /// Prefetches a key's slot into the processor's cache.
    #[inline]
    pub(super) fn prefetch(&self, hash: KeyHash) {
        prefetch_index(&self.marks, split(hash, self.marks.len()).0);
    }
}

/// The place of a key in a table, and its mark.
fn split(hash: KeyHash, places: usize) -> (usize, u32) {
    let bits = low_u64(hash.0 >> 20);
    // Never that of an empty place.
    (to_usize(bits) & (places - 1), low_u32(bits >> 32) & !PERIOD | 1 << 8)
}

/// The bits of a period in a mark.
const PERIOD: u32 = 0xFF;
/// Periods for which a key is remembered; a number of a period comes again after 256.
const PERIODS: u8 = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_keys_are_remembered_as_there_are_items() {
        let hash = |key: u64| KeyHash(u128::from(key.wrapping_mul(0x9E37_79B9_7F4A_7C15)) << 20);
        let mut ghost = Ghost::new(1 << 20);
        (0..10_000).for_each(|key| ghost.remember(hash(key), 1000));
        let found = (0..10_000).filter(|&key| ghost.recall(hash(key))).collect::<Vec<_>>();
        assert!((1000..1300).contains(&found.len()) && found[0] >= 8700, "{} from {}", found.len(), found[0]);
        assert!(found.iter().all(|&key| !ghost.recall(hash(key))), "once");
    }
}
