//! Allocation of transactions in the ring of the journal.
//!
//! A transaction is *complete* when its blocks have been written in place, *durable* when the drives have
//! been flushed since, and *reusable* when a later transaction that records this is on the drives. So
//! whatever a power loss destroys, the latest complete transaction gives a tail from which on everything is
//! present.

use super::mutation::{Invariant, holds};
use std::collections::VecDeque;
use std::ops::Range;
use tailcut_base::cast::to_usize;

/// A transaction that occupies space.
#[derive(Clone, Copy, Debug)]
struct RingTransaction {
    sequence: u64,
    position: u64,
    blocks: u64,
    /// Batches that are not written in place yet.
    pending: u32,
}

impl RingTransaction {
    fn at(place: Range<u64>, sequence: u64, pending: u32) -> RingTransaction {
        RingTransaction { sequence, position: place.start, blocks: place.end - place.start, pending }
    }
}

/// The allocation of the ring.
#[derive(Debug)]
pub(super) struct Ring {
    blocks: u64,
    taken: VecDeque<RingTransaction>,
    /// Number of the next transaction.
    next: u64,
    /// All transactions before this one are complete.
    complete: u64,
    /// All transactions before this one are durable in place.
    durable: u64,
}

impl Ring {
    /// An empty ring of `blocks` blocks; the next transaction has number 1.
    pub(super) fn new(blocks: u64) -> Ring {
        Ring { blocks, taken: VecDeque::new(), next: 1, complete: 1, durable: 1 }
    }

    /// Continues with number `next`; the ring must be empty.
    pub(super) fn go_on_from(&mut self, next: u64) {
        assert!(self.taken.is_empty(), "transactions are numbered in order");
        (self.next, self.complete, self.durable) = (next, next, next);
    }

    /// All transactions before this one are durable in place.
    pub(super) fn durable(&self) -> u64 {
        self.durable
    }

    /// All transactions before this one are complete.
    pub(super) fn complete(&self) -> u64 {
        self.complete
    }

    /// Number of the next transaction.
    pub(super) fn next(&self) -> u64 {
        self.next
    }

    /// The oldest transaction that occupies space.
    pub(super) fn oldest(&self) -> u64 {
        self.taken.front().map_or(self.next, |taken| taken.sequence)
    }

    /// Number of the newest transactions that can coexist on a ring of `blocks` blocks, with the spare block
    /// of [`Ring::place`]. Each is given by its position and its length, the newest first. That is all of
    /// them, unless the metadata is wrong: a tail that is too old refers to transactions whose blocks have
    /// been overwritten.
    pub(super) fn together(blocks: u64, newest_first: impl IntoIterator<Item = (u64, u64)>) -> usize {
        let mut newest_first = newest_first.into_iter();
        let Some((mut tail, length)) = newest_first.next() else { return 0 };
        let head = tail + length;
        let (mut count, mut has_wrapped) = (1, false);
        for (position, length) in newest_first {
            let end = position + length;
            has_wrapped |= position >= head;
            let limit = if tail < head && has_wrapped { blocks } else { tail };
            let is_one_left = if has_wrapped { position > head } else { position > 0 || head < blocks };
            if end > limit || !is_one_left {
                return count;
            }
            (tail, count) = (position, count + 1);
        }
        count
    }

    /// Adds a transaction found by recovery.
    pub(super) fn restore(&mut self, sequence: u64, place: Range<u64>) {
        self.taken.push_back(RingTransaction::at(place, sequence, 0));
    }

    /// Position for a transaction of `blocks` blocks. One block is always kept as a spare, for a transaction
    /// without content that records the tail.
    pub(super) fn place(&self, blocks: u64) -> Option<u64> {
        self.find(blocks, true)
    }

    /// Position of the spare block.
    pub(super) fn last_place(&self) -> Option<u64> {
        self.find(1, false)
    }

    /// Position of `blocks` free blocks. With `with_one_left`, another block behind them or before the tail
    /// stays free.
    fn find(&self, blocks: u64, with_one_left: bool) -> Option<u64> {
        let spare = u64::from(with_one_left);
        let need = blocks + spare;
        let (Some(first), Some(last)) = (self.taken.front(), self.taken.back()) else {
            return (need <= self.blocks).then_some(0);
        };
        let (tail, head) = (first.position, last.position + last.blocks);
        if tail < head {
            // Free: behind the head, and before the tail. The spare block may be in either.
            let fits_behind = head + need <= self.blocks || head + blocks <= self.blocks && spare <= tail;
            return if fits_behind { Some(head) } else { (need <= tail).then_some(0) };
        }
        (head + need <= tail).then_some(head)
    }

    /// Allocates space for the next transaction, which `batches` batches wait for. Returns its number.
    pub(super) fn take(&mut self, place: Range<u64>, batches: u32) -> u64 {
        let sequence = self.next;
        self.taken.push_back(RingTransaction::at(place, sequence, batches));
        self.next += 1;
        sequence
    }

    /// A batch of a transaction has been written in place.
    pub(super) fn batch_done(&mut self, sequence: u64) {
        let index = self.index(sequence);
        self.taken[index].pending -= 1;
        while self.complete < self.next && self.taken[self.index(self.complete)].pending == 0 {
            self.complete += 1;
        }
        if !holds(Invariant::ReclaimWhenDurable) {
            self.durable = self.complete;
        }
    }

    /// Index of a transaction in the list.
    fn index(&self, sequence: u64) -> usize {
        self.taken.len() - to_usize(self.next - sequence)
    }

    /// All drives have been flushed since the transactions before `complete` were complete.
    pub(super) fn flushed(&mut self, complete: u64) {
        self.durable = self.durable.max(complete);
    }

    /// A transaction with this tail is on the drives: frees the space before the tail.
    pub(super) fn reuse(&mut self, tail: u64) {
        while self.taken.front().is_some_and(|taken| taken.sequence < tail) {
            self.taken.pop_front();
        }
    }

    /// True if half of the ring is in use.
    pub(super) fn is_half_full(&self) -> bool {
        let (Some(first), Some(last)) = (self.taken.front(), self.taken.back()) else { return false };
        let head = last.position + last.blocks;
        let taken =
            if first.position < head { head - first.position } else { self.blocks + head - first.position };
        taken > self.blocks / 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailcut_base::random::Stream;

    /// For any sequence of allocations, no two transactions share a block, and one block stays spare.
    #[test]
    fn places_never_overlap() {
        let mut stream = Stream::new(1, "ring");
        let mut ring = Ring::new(20);
        let mut taken_over = 0;
        for _ in 0..20_000 {
            let blocks = 1 + stream.below(6);
            if let Some(position) = ring.place(blocks) {
                let range = position..position + blocks;
                assert!(range.end <= 20);
                for other in &ring.taken {
                    assert!(range.end <= other.position || other.position + other.blocks <= range.start);
                }
                let sequence = ring.take(position..position + blocks, 1);
                ring.batch_done(sequence);
                assert!(ring.last_place().is_some());
                let newest_first = || ring.taken.iter().rev().map(|taken| (taken.position, taken.blocks));
                assert_eq!(Ring::together(20, newest_first()), ring.taken.len());
                taken_over += 1;
            } else {
                ring.flushed(ring.complete());
                ring.reuse(ring.oldest() + 1 + stream.below(3));
            }
            // From the first transaction to the end of the last, around the end of the ring.
            let ends = ring.taken.front().zip(ring.taken.back());
            let in_use = ends.map_or(0, |(first, last)| {
                (1..=20)
                    .find(|used| (first.position + used) % 20 == (last.position + last.blocks) % 20)
                    .unwrap_or(0)
            });
            assert_eq!(ring.is_half_full(), in_use > 10, "{in_use} of 20 blocks");
        }
        assert!(taken_over > 5_000);
    }

    #[test]
    fn transactions_that_were_written_over_are_not_in_it() {
        assert_eq!(Ring::together(20, []), 0);
        assert_eq!(Ring::together(20, [(4, 3), (0, 4)]), 2);
        assert_eq!(Ring::together(20, [(4, 3), (0, 4), (8, 12)]), 3, "behind the head, with block 7 left");
        assert_eq!(Ring::together(20, [(4, 3), (0, 4), (7, 13)]), 2, "no block would be left");
        assert_eq!(Ring::together(20, [(4, 3), (0, 4), (6, 2)]), 2, "block 6 was written over");
        assert_eq!(Ring::together(20, [(4, 3), (0, 4), (12, 8), (8, 5)]), 3, "block 12 was written over");
        assert_eq!(Ring::together(20, [(15, 5), (0, 15)]), 1);
    }
}
