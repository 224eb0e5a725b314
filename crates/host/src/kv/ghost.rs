//! Keys that were given up lately.

use super::hash::KeyHash;
use prefetch_index::prefetch_index;

/// Remembers the last keys that were not kept (S3-FIFO's ghost queue, Yang and others 2023, §4.1), by 32 bits
/// of their hashes in a table in which a newer one takes the place of an older one. Errors cost an
/// unnecessary write or a miss.
#[derive(Debug)]
pub struct Ghost {
    marks: Vec<u32>,
}

impl Ghost {
    /// For about so many keys.
    pub fn new(keys: u64) -> Ghost {
        Ghost { marks: vec![0; keys.clamp(64, 1 << 28).next_power_of_two() as usize] }
    }

    /// A key was given up.
    pub fn remember(&mut self, hash: KeyHash) {
        let (at, mark) = self.split(hash);
        self.marks[at] = mark;
    }

    /// True if a key was given up lately; it is forgotten.
    pub fn recall(&mut self, hash: KeyHash) -> bool {
        let (at, mark) = self.split(hash);
        let is_there = self.marks[at] == mark;
        if is_there {
            self.marks[at] = 0;
        }
        is_there
    }

    /// Fetches what is known of a key from memory to the processor, for who asks for it soon.
    #[inline]
    pub fn prefetch(&self, hash: KeyHash) {
        prefetch_index(&self.marks, self.split(hash).0);
    }

    fn split(&self, hash: KeyHash) -> (usize, u32) {
        let bits = (hash.0 >> 20) as u64;
        (bits as usize & (self.marks.len() - 1), (bits >> 32) as u32 | 1)
    }
}
