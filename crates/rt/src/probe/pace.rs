//! Time for a measurement: real time, or virtual time from event to event.

use crate::clock::Clock;
use crate::drive::Drive;
use crate::system;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tailcut_base::{Nanos, Time};

/// A source of time that can wait.
pub trait Pace {
    /// The current time; never decreases.
    fn now(&mut self) -> Time;

    /// Called when `drive` has completed nothing for `quiet`, and no request is due before `until`: waits
    /// until `until` at the latest, and not past the drive's next event.
    fn wait<D: Drive>(&mut self, drive: &mut D, quiet: Nanos, until: Time);
}

/// The system clock, for files and block devices.
#[derive(Clone, Copy, Debug)]
pub struct RealTime {
    clock: Clock,
    spin: Nanos,
}

/// How long to poll a drive before sleeping. A wakeup takes tens of microseconds, which would be attributed
/// to the drive; a completion within this time is seen without it.
const SPIN: Nanos = Nanos::micros(300);

/// Maximum sleep, so that cancellation is noticed.
const NAP: Nanos = Nanos::millis(100);

impl RealTime {
    /// Polls for a while, if a core is free for that, and then sleeps until the drive signals.
    pub fn new(clock: Clock) -> RealTime {
        let spin = if system::cores() > 1 { SPIN } else { Nanos::ZERO };
        RealTime { clock, spin }
    }
}

impl Pace for RealTime {
    fn now(&mut self) -> Time {
        self.clock.now()
    }

    fn wait<D: Drive>(&mut self, drive: &mut D, quiet: Nanos, until: Time) {
        let now = self.clock.now();
        let rest = until.min(drive.next_event()).0.saturating_sub(now.0).min(NAP.0);
        if quiet < self.spin || rest < self.spin.0 || !drive.arm() {
            return std::hint::spin_loop();
        }
        // Shortly before the deadline it polls again.
        let rest = (rest - self.spin.0) as i64;
        let timeout = Timespec { tv_sec: rest / 1_000_000_000, tv_nsec: rest % 1_000_000_000 };
        // A signal may end the sleep early, which is harmless: the caller polls again.
        let _ = match drive.wakes() {
            Some(fd) => poll(&mut [PollFd::from_borrowed_fd(fd, PollFlags::IN)], Some(&timeout)),
            None => poll(&mut [], Some(&timeout)),
        };
    }
}

/// Virtual time that jumps to the next event, for emulated drives that their user advances.
#[derive(Clone, Copy, Debug, Default)]
pub struct VirtualTime {
    now: Time,
}

impl Pace for VirtualTime {
    fn now(&mut self) -> Time {
        self.now
    }

    fn wait<D: Drive>(&mut self, drive: &mut D, _: Nanos, until: Time) {
        let next = drive.next_event().min(until);
        assert_ne!(next, Time::NEVER, "a drive with requests in flight has something to do");
        self.now = self.now.max(next);
    }
}
