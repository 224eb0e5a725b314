//! The clock of a process: moments of the machines as moments of the monotonic clock.

use std::time::Instant;
use tailcut_base::Time;

/// Monotonic time in nanoseconds since the clock was made. All machines of one process share one clock, so
/// that their times are comparable.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    origin: Instant,
}

impl Clock {
    /// A clock that starts now.
    pub fn start() -> Clock {
        Clock { origin: Instant::now() }
    }

    /// The moment that it is; never earlier than one that it has said before.
    #[inline]
    pub fn now(&self) -> Time {
        Time(self.origin.elapsed().as_nanos() as u64)
    }

    /// The moment `at` of the operating system's monotonic clock.
    pub fn instant(&self, at: Time) -> Instant {
        self.origin + std::time::Duration::from_nanos(at.0)
    }
}
