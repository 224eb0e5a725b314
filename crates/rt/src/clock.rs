//! The clock of a process: times of the state machines as times of the monotonic clock.

use std::time::{Duration, Instant};
use tailcut_base::{Nanos, Time};

/// Monotonic time in nanoseconds since the clock was created. All state machines of a process share one
/// clock, so their times are comparable.
///
/// A clock may run slower than that of the machine: then everything that is modelled takes as many times
/// longer, and work that takes time on this machine becomes as much shorter beside it.
///
/// # Examples
/// ```
/// use tailcut_rt::Clock;
///
/// let clock = Clock::start();
/// let before = clock.now();
/// assert!(clock.now() >= before);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    origin: Instant,
    /// Nanoseconds of this machine per nanosecond of the clock; at least 1.
    scale: u32,
}

impl Clock {
    /// A clock that starts now.
    pub fn start() -> Clock {
        Clock { origin: Instant::now(), scale: 1 }
    }

    /// A clock with the same start on which one second takes `scale` seconds of this machine.
    ///
    /// # Panics
    /// If `scale` is 0.
    pub fn slowed(self, scale: u32) -> Clock {
        assert!(scale > 0, "a clock that stands still measures nothing");
        Clock { scale, ..self }
    }

    /// The clock of this machine with the same start: for what people and clients wait for.
    pub fn of_machine(self) -> Clock {
        self.slowed(1)
    }

    /// The current time; never decreases.
    #[inline]
    pub fn now(&self) -> Time {
        let nanos = self.origin.elapsed().as_nanos() as u64;
        Time(if self.scale == 1 { nanos } else { nanos / u64::from(self.scale) })
    }

    /// The time `at` on the operating system's monotonic clock.
    pub fn instant(&self, at: Time) -> Instant {
        self.origin + Duration::from_nanos(self.on_machine(Nanos(at.0)).0)
    }

    /// How long `span` of this clock takes on this machine.
    #[inline]
    pub fn on_machine(&self, span: Nanos) -> Nanos {
        Nanos(span.0.saturating_mul(u64::from(self.scale)))
    }

    /// The time of this clock that passes in `span` of this machine.
    #[inline]
    pub fn passing_in(&self, span: Nanos) -> Nanos {
        if self.scale == 1 { span } else { Nanos(span.0 / u64::from(self.scale)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slowed_clock_converts_spans_both_ways() {
        let clock = Clock::start().slowed(10);
        assert_eq!(clock.on_machine(Nanos::micros(5)), Nanos::micros(50));
        assert_eq!(clock.passing_in(Nanos::micros(50)), Nanos::micros(5));
        let at = Time(1_000_000);
        assert_eq!(clock.instant(at) - clock.instant(Time::ZERO), Duration::from_millis(10));
    }

    #[test]
    fn clocks_of_one_start_agree_on_its_scale() {
        let clock = Clock::start();
        let slowed = clock.slowed(1000);
        let (before, between, after) = (clock.now(), slowed.now(), slowed.of_machine().now());
        assert!(before.0 / 1000 <= between.0 && between.0 <= after.0 / 1000);
    }
}
