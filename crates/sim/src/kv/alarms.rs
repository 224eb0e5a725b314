//! Moments that have been arranged for, in order; those of one moment in the order in which they were set.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use tailcut_base::Time;

/// What happens at such a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Alarm {
    /// The measurement begins.
    Measure,
    /// The command of a client is in the memory of the server.
    Arrives(u32),
    /// The network card of a link interrupts.
    Interrupt(u32),
    /// A client has its answer.
    Answered(u32),
    /// The engine wants to go on by itself.
    Engine,
}

/// All that has been arranged for.
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

    /// The next that is due at `now`.
    #[inline]
    pub fn pop(&mut self, now: Time) -> Option<Alarm> {
        if self.next() > now {
            return None;
        }
        self.heap.pop().map(|Reverse((_, _, alarm))| alarm)
    }
}
