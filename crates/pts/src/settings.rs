//! Settings of a test.

use tailcut_base::Nanos;
use tailcut_base::cast::to_u64;

/// The device class of the specification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// PTS-C: write cache enabled, three quarters of the addresses, 2 threads with 16 I/Os each.
    Client,
    /// PTS-E: write cache disabled, all addresses, 4 threads with 32 I/Os each.
    Enterprise,
}

impl Form {
    /// Name of the device class in the specification: `PTS-C` or `PTS-E`.
    pub fn name(self) -> &'static str {
        match self {
            Form::Client => "PTS-C",
            Form::Enterprise => "PTS-E",
        }
    }

    /// Percentage of the addresses that is used (active range, AR).
    pub fn active_range(self) -> u64 {
        match self {
            Form::Client => 75,
            Form::Enterprise => 100,
        }
    }

    /// Recommended number of threads, and of I/Os per thread.
    pub fn demand(self) -> (u32, u32) {
        match self {
            Form::Client => (2, 16),
            Form::Enterprise => (4, 32),
        }
    }

    /// True if writes must be durable at completion.
    pub fn disables_cache(self) -> bool {
        self == Form::Enterprise
    }
}

/// Settings of a test.
///
/// # Examples
/// ```
/// use tailcut_base::Nanos;
/// use tailcut_pts::{Form, Settings};
///
/// let settings = Settings::quick(Form::Client, 1 << 30);
/// assert!(!settings.is_conforming());
/// assert_eq!(settings.seconds(60), Nanos::millis(50));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The device class, client or enterprise, whose procedure is followed.
    pub form: Form,
    /// User capacity in bytes, the unit of preconditioning and saturation; at least 4096.
    pub capacity: u64,
    /// Length of a minute of the test, above zero; [`Settings::MINUTE`] in a conforming test.
    pub minute: Nanos,
    /// Divisor of the length of series and of the samples per round; 1 in a conforming test.
    pub shrink: u32,
    /// Maximum number of rounds without steady state; at least 1, 25 in the specification.
    pub rounds: u32,
}

impl Settings {
    /// Length of a minute in a conforming test.
    pub const MINUTE: Nanos = Nanos::secs(60);

    /// Maximum number of rounds in the specification.
    pub const ROUNDS: u32 = 25;

    /// A conforming test of a drive with `capacity` bytes.
    pub fn conforming(form: Form, capacity: u64) -> Settings {
        Settings { form, capacity, minute: Settings::MINUTE, shrink: 1, rounds: Settings::ROUNDS }
    }

    /// The short form: a minute is 50 ms, and one of sixty samples is taken.
    pub fn quick(form: Form, capacity: u64) -> Settings {
        Settings { minute: Nanos::millis(50), shrink: 60, ..Settings::conforming(form, capacity) }
    }

    /// True if times and rounds are those of the specification.
    pub fn is_conforming(&self) -> bool {
        (self.minute, self.shrink) == (Settings::MINUTE, 1) && self.rounds >= Settings::ROUNDS
    }

    /// `samples` divided by the shrink factor, at least one.
    pub fn samples(&self, samples: u32) -> u32 {
        (samples / self.shrink).max(1)
    }

    /// `seconds` seconds in this test's minutes; rounded down, but not to zero.
    pub fn seconds(&self, seconds: u64) -> Nanos {
        Nanos(to_u64(u128::from(self.minute.0) * u128::from(seconds) / 60)).max(Nanos(1))
    }
}
