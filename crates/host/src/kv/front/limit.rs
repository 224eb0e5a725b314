//! The limit on memory, while items are in it.

use super::{Front, RESERVE};
use tailcut_base::cast::to_usize;
use tailcut_base::ids::Id;

impl Front {
    /// Limits the segments in use to those that fit `bytes`, up to the size that the front was made with.
    /// Memory beyond becomes free as records are evicted. False, and nothing is changed, if that is too
    /// little or too much.
    pub fn set_limit(&mut self, bytes: u64) -> bool {
        let limit = to_usize(bytes / self.segment_bytes());
        if limit < self.least || bytes > self.memory.len() as u64 {
            return false;
        }
        self.limit = limit;
        while self.active() < limit
            && let Some(segment) = self.retired.pop()
        {
            self.make_free(segment);
        }
        self.returned = self.returned.min(self.retired.len());
        self.retire_free();
        true
    }

    /// Retires free segments beyond the limit, but for the reserve, which copies need.
    pub(super) fn retire_free(&mut self) {
        while self.active() > self.limit && self.free.len() > RESERVE {
            self.retired.extend(self.free.pop());
        }
    }

    /// The memory of a segment that was retired, which may be returned to the system: its content is not
    /// needed. Each once.
    pub fn next_retired(&mut self) -> Option<&mut [u8]> {
        let at = self.retired.get(self.returned)?.index() * self.segment;
        self.returned += 1;
        Some(&mut self.memory[at..at + self.segment])
    }

    /// Segments that are in use or free.
    pub(super) fn active(&self) -> usize {
        self.fills.len() - self.retired.len()
    }
}
