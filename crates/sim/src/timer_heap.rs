//! The timers of a simulated host.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use tailcut_base::Time;

/// Timers by due time; those due at the same time fire in the order in which they were set.
#[derive(Clone, Debug)]
pub(crate) struct TimerHeap<A> {
    heap: BinaryHeap<Reverse<(Time, u64, A)>>,
    set: u64,
}

impl<A: Ord> Default for TimerHeap<A> {
    fn default() -> TimerHeap<A> {
        TimerHeap { heap: BinaryHeap::new(), set: 0 }
    }
}

impl<A: Ord> TimerHeap<A> {
    /// Sets a timer.
    #[inline]
    pub(crate) fn set(&mut self, at: Time, timer: A) {
        self.set += 1;
        self.heap.push(Reverse((at, self.set, timer)));
    }

    /// When the next timer is due; [`Time::NEVER`] if there is none.
    #[inline]
    pub(crate) fn next(&self) -> Time {
        self.heap.peek().map_or(Time::NEVER, |Reverse((at, ..))| *at)
    }

    /// Removes the next timer due at `now`.
    #[inline]
    pub(crate) fn pop(&mut self, now: Time) -> Option<A> {
        if self.next() > now {
            return None;
        }
        self.heap.pop().map(|Reverse((_, _, timer))| timer)
    }
}
