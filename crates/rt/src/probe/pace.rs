//! How time goes on for a measurement: by itself, or from event to event.

use crate::clock::Clock;
use crate::drive::Drive;
use crate::system;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tailcut_base::{Nanos, Time};

/// How time goes on.
pub trait Pace {
    /// The moment that it is; never earlier than one that it has said before.
    fn now(&mut self) -> Time;

    /// Nothing has come from `drive` for `quiet`, and nothing is wanted of it before `until`: lets time go
    /// on, at the latest to `until` and no further than to where the drive may have something to say.
    fn wait<D: Drive>(&mut self, drive: &mut D, quiet: Nanos, until: Time);
}

/// The clock of the system: for files and block devices.
#[derive(Clone, Copy, Debug)]
pub struct RealTime {
    clock: Clock,
    spin: Nanos,
}

/// How long a drive is looked at without sleeping. To be woken takes some tens of microseconds, which would
/// be counted as the drive's: an answer that comes within this time is seen without that.
const SPIN: Nanos = Nanos::micros(300);

/// The longest sleep, so that a request to stop is noticed.
const NAP: Nanos = Nanos::millis(100);

impl RealTime {
    /// Looks all the time for a while, where there is a core to do so, and then sleeps until the drive rings.
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
        // Before the moment that is waited for it is looked all the time again.
        let rest = (rest - self.spin.0) as i64;
        let timeout = Timespec { tv_sec: rest / 1_000_000_000, tv_nsec: rest % 1_000_000_000 };
        // It ends early for a signal as well, which is a reason to look, too.
        let _ = match drive.wakes() {
            Some(fd) => poll(&mut [PollFd::from_borrowed_fd(fd, PollFlags::IN)], Some(&timeout)),
            None => poll(&mut [], Some(&timeout)),
        };
    }
}

/// Time that jumps to the next event: for emulated drives that are advanced by their user.
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
