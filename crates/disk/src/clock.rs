//! The clock of the drive inside a disk, which a stall stops and a slowdown slows.

use tailcut_base::cast::to_u64;
use tailcut_base::{Cause, Nanos, Spans, Time};

/// By how much a disk is slower than its model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Slowdown {
    percent: u32,
}

impl Slowdown {
    /// As fast as the model.
    pub const NONE: Slowdown = Slowdown { percent: 100 };

    /// Everything takes `factor` times as long.
    ///
    /// # Panics
    /// If the factor is not 1 … 10,000.
    pub const fn times(factor: u32) -> Slowdown {
        assert!(factor >= 1 && factor <= 10_000, "a slowdown is by a factor of 1 to 10,000");
        Slowdown { percent: factor * 100 }
    }

    /// Everything takes `percent` per cent of its time: 150 is half as long again.
    ///
    /// # Panics
    /// If `percent` is not 100 … 1,000,000.
    pub const fn percent(percent: u32) -> Slowdown {
        assert!(percent >= 100 && percent <= 1_000_000, "a slowdown is by 100 to 1,000,000 per cent");
        Slowdown { percent }
    }
}

/// Translates between the time of the test and that of the drive, which is a straight line from the last
/// fault on: the drive's moment `drive` is the test's moment `test`, before which the drive's time is frozen,
/// and behind which it runs at 100 / `percent` of the test's.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DriveClock {
    test: Time,
    drive: Time,
    slowdown: Slowdown,
}

impl DriveClock {
    pub(crate) const fn new() -> DriveClock {
        DriveClock { test: Time::ZERO, drive: Time::ZERO, slowdown: Slowdown::NONE }
    }

    /// The drive's time at the test's moment `at`.
    #[inline]
    pub(crate) fn drive_time(&self, at: Time) -> Time {
        let passed = Nanos(at.0.saturating_sub(self.test.0));
        if self.slowdown == Slowdown::NONE {
            return self.drive + passed;
        }
        self.drive + Nanos(to_u64(u128::from(passed.0) * 100 / u128::from(self.slowdown.percent)))
    }

    /// The test's moment at which the drive's time is `at`: the first one of a moment at which the drive's
    /// time is frozen.
    #[inline]
    pub(crate) fn test_time(&self, at: Time) -> Time {
        if at == Time::NEVER {
            return Time::NEVER;
        }
        let passed = at.since(self.drive);
        if self.slowdown == Slowdown::NONE {
            return self.test + passed;
        }
        let scaled = u128::from(passed.0) * u128::from(self.slowdown.percent);
        self.test + Nanos(to_u64(scaled.div_ceil(100)))
    }

    /// Freezes the drive's time from `now`, or from the end of the freeze in effect, for `nanos`.
    pub(crate) fn stall(&mut self, now: Time, nanos: Nanos) {
        self.drive = self.drive_time(now);
        self.test = self.test.max(now) + nanos;
    }

    /// Changes the rate of the drive's time from `now` on.
    pub(crate) fn slow_by(&mut self, now: Time, slowdown: Slowdown) {
        self.drive = self.drive_time(now);
        self.test = self.test.max(now);
        self.slowdown = slowdown;
    }

    /// The drive has been run ahead to its moment `drive` while the test's time is `now`; ends a freeze.
    pub(crate) fn restart(&mut self, now: Time, drive: Time) {
        (self.test, self.drive) = (now, drive.max(self.drive_time(now)));
    }

    /// The spans of a drive's completion in the test's time, of which `latency` has passed: stretched by the
    /// slowdown if it lasted from beginning to end; the rest, such as a stall, is of the controller.
    pub(crate) fn spans(&self, spans: &Spans, latency: Nanos) -> Spans {
        if spans.total() == latency {
            return *spans;
        }
        let percent = u64::from(self.slowdown.percent);
        let is_whole = spans.total().0.checked_mul(percent).is_some_and(|total| total / 100 <= latency.0);
        let mut stretched = Spans::new();
        for (cause, time) in spans.iter() {
            stretched.add(cause, if is_whole { time * percent / 100 } else { time });
        }
        stretched.add(Cause::Controller, latency.saturating_sub(stretched.total()));
        stretched
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stall_delays_everything_by_its_length() {
        let mut clock = DriveClock::new();
        clock.stall(Time(100), Nanos(50));
        assert_eq!([100, 120, 150, 160].map(|at| clock.drive_time(Time(at)).0), [100, 100, 100, 110]);
        assert_eq!([100, 101, 110].map(|at| clock.test_time(Time(at)).0), [150, 151, 160]);
        clock.stall(Time(120), Nanos(10));
        assert_eq!(clock.test_time(Time(101)).0, 161, "a second stall is added to the first");
    }

    #[test]
    fn what_the_drive_does_at_a_moment_it_does_at_that_moment_of_a_slow_clock() {
        for percent in [100, 150, 333, 1000] {
            let mut clock = DriveClock::new();
            clock.slow_by(Time(7), Slowdown::percent(percent));
            for at in 7..200 {
                let test = clock.test_time(Time(at));
                assert_eq!(clock.drive_time(test), Time(at), "{percent}");
                assert!(at == 7 || clock.drive_time(Time(test.0 - 1)) < Time(at), "{percent}: not before");
            }
        }
    }

    #[test]
    fn spans_add_up_to_the_latency_of_the_test() {
        let mut clock = DriveClock::new();
        let mut spans = Spans::new();
        spans.add(Cause::Cell, Nanos(70));
        spans.add(Cause::Link, Nanos(30));
        clock.stall(Time::ZERO, Nanos(1000));
        let stalled = clock.spans(&spans, Nanos(1100));
        assert_eq!((stalled.of(Cause::Cell), stalled.of(Cause::Controller)), (Nanos(70), Nanos(1000)));
        clock.slow_by(Time::ZERO, Slowdown::times(3));
        let slow = clock.spans(&spans, Nanos(300));
        assert_eq!((slow.of(Cause::Cell), slow.of(Cause::Link)), (Nanos(210), Nanos(90)));
        assert_eq!(clock.spans(&spans, Nanos(150)).total(), Nanos(150));
    }
}
