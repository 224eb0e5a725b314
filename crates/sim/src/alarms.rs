//! The timers of a simulated host.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use tailcut_base::Time;

/// Alarms by their moments; those of one moment in the order in which they were set.
#[derive(Clone, Debug)]
pub(crate) struct Alarms<A> {
    heap: BinaryHeap<Reverse<(Time, u64, A)>>,
    set: u64,
}

impl<A: Ord> Default for Alarms<A> {
    fn default() -> Alarms<A> {
        Alarms { heap: BinaryHeap::new(), set: 0 }
    }
}

impl<A: Ord> Alarms<A> {
    /// Sets one more.
    #[inline]
    pub fn set(&mut self, at: Time, alarm: A) {
        self.set += 1;
        self.heap.push(Reverse((at, self.set, alarm)));
    }

    /// When the next is due; [`Time::NEVER`] if there is none.
    #[inline]
    pub fn next(&self) -> Time {
        self.heap.peek().map_or(Time::NEVER, |Reverse((at, ..))| *at)
    }

    /// The next that is due at `now`.
    #[inline]
    pub fn pop(&mut self, now: Time) -> Option<A> {
        if self.next() > now {
            return None;
        }
        self.heap.pop().map(|Reverse((_, _, alarm))| alarm)
    }
}
