//! Keys that were evicted recently.

use super::hash::KeyHash;
use prefetch_index::prefetch_index;
use tailcut_base::cast::{low_u64, to_usize};

/// Remembers the keys evicted last (the ghost queue of S3-FIFO, Yang and others 2023, §4.1), by 32 bits of
/// their hashes, in a table where a newer key overwrites an older one. An error costs an unnecessary write or
/// a miss.
#[derive(Debug)]
pub(super) struct Ghost {
    marks: Vec<u32>,
}

impl Ghost {
    /// A ghost for about `keys` keys.
    pub(super) fn new(keys: u64) -> Ghost {
        Ghost { marks: vec![0; to_usize(keys.clamp(64, 1 << 28).next_power_of_two())] }
    }

    /// Remembers an evicted key.
    pub(super) fn remember(&mut self, hash: KeyHash) {
        let (at, mark) = self.split(hash);
        self.marks[at] = mark;
    }

    /// True if the key was evicted recently; removes it.
    pub(super) fn recall(&mut self, hash: KeyHash) -> bool {
        let (at, mark) = self.split(hash);
        let is_there = self.marks[at] == mark;
        if is_there {
            self.marks[at] = 0;
        }
        is_there
    }

    /// Prefetches a key's slot into the processor's cache.
    #[inline]
    pub(super) fn prefetch(&self, hash: KeyHash) {
        prefetch_index(&self.marks, self.split(hash).0);
    }

    fn split(&self, hash: KeyHash) -> (usize, u32) {
        let bits = low_u64(hash.0 >> 20);
        (to_usize(bits) & (self.marks.len() - 1), (bits >> 32) as u32 | 1)
    }
}
