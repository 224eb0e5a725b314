//! The clock of a process: moments of the machines as moments of the monotonic clock.

use std::time::Instant;
use tailcut_base::Time;

/// Says what time it is, in nanoseconds since it was made. All machines of one process share one, so that a
/// moment means the same to all of them.
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
