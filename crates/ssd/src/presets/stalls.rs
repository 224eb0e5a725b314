//! Stalls of a controller that is too hot.

use tailcut_base::random::Stream;
use tailcut_base::{Nanos, Time};

/// When a controller stops, and for how long: without end.
#[derive(Clone, Debug)]
pub struct Stalls {
    random: Stream,
    next: Time,
}

impl Stalls {
    /// Those of this seed.
    pub(super) fn new(seed: u64) -> Stalls {
        let mut random = Stream::new(seed, "stalls");
        let next = Time::ZERO + between(&mut random, INTERVAL);
        Stalls { random, next }
    }

    /// When the next stall begins.
    pub fn next(&self) -> Time {
        self.next
    }

    /// Begin and length of the next stall, which is then past.
    pub fn take(&mut self) -> (Time, Nanos) {
        let (at, length) = (self.next, between(&mut self.random, LENGTH));
        self.next = at + length + between(&mut self.random, INTERVAL);
        (at, length)
    }
}

/// A time from the first to the second, evenly distributed.
fn between(random: &mut Stream, (least, most): (Nanos, Nanos)) -> Nanos {
    least + Nanos(random.below(most.0 - least.0 + 1))
}

/// From the end of a stall to the begin of the next. Assumed, as is their length: no source states either for
/// a drive that is too hot; the times are such that a test of a few seconds has several.
const INTERVAL: (Nanos, Nanos) = (Nanos::millis(500), Nanos::millis(1500));

/// Length of a stall.
const LENGTH: (Nanos, Nanos) = (Nanos::millis(10), Nanos::millis(100));
