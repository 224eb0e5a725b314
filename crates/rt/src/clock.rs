//! The clock of a process: times of the state machines as times of the monotonic clock.

use std::time::Instant;
use tailcut_base::Time;

/// Monotonic time in nanoseconds since the clock was created. All state machines of a process share one
/// clock, so their times are comparable.
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
}

impl Clock {
    /// A clock that starts now.
    pub fn start() -> Clock {
        Clock { origin: Instant::now() }
    }

    /// The current time; never decreases.
    #[inline]
    pub fn now(&self) -> Time {
        Time(self.origin.elapsed().as_nanos() as u64)
    }

    /// The time `at` on the operating system's monotonic clock.
    pub fn instant(&self, at: Time) -> Instant {
        self.origin + std::time::Duration::from_nanos(at.0)
    }
}
