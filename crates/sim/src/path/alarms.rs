//! Moments that have been arranged for, in order; those of one moment in the order in which they were set.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use tailcut_base::Time;

/// What happens at such a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Alarm {
    /// The measurement begins.
    Measure,
    /// A drive announces the end of a request of a thread.
    Notice {
        /// The thread.
        worker: u32,
        /// Which of its requests.
        generation: u32,
    },
    /// The poll thread looks again.
    Poll,
    /// The device of a background thread has answered.
    Background {
        /// The thread.
        thread: u32,
    },
}

#[derive(Clone, Debug, Default)]
pub(super) struct Alarms {
    heap: BinaryHeap<Reverse<(Time, u64, Alarm)>>,
    set: u64,
}

impl Alarms {
    #[inline]
    pub fn set(&mut self, at: Time, alarm: Alarm) {
        self.set += 1;
        self.heap.push(Reverse((at, self.set, alarm)));
    }

    #[inline]
    pub fn next(&self) -> Time {
        self.heap.peek().map_or(Time::NEVER, |Reverse((at, ..))| *at)
    }

    #[inline]
    pub fn pop(&mut self, now: Time) -> Option<Alarm> {
        if self.next() > now {
            return None;
        }
        self.heap.pop().map(|Reverse((_, _, alarm))| alarm)
    }
}
