//! What a user chooses about a test.

use tailcut_base::Nanos;

/// Which of the two device classes of the specification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// PTS-C: write cache enabled, three quarters of the addresses, 2 threads with 16 I/Os each.
    Client,
    /// PTS-E: write cache disabled, all addresses, 4 threads with 32 I/Os each.
    Enterprise,
}

impl Form {
    /// Its name in the specification.
    pub fn name(self) -> &'static str {
        match self {
            Form::Client => "PTS-C",
            Form::Enterprise => "PTS-E",
        }
    }

    /// Hundredths of the addresses that are used (active range, AR).
    pub fn active_range(self) -> u64 {
        match self {
            Form::Client => 75,
            Form::Enterprise => 100,
        }
    }

    /// Threads and the I/Os of each, as recommended.
    pub fn demand(self) -> (u32, u32) {
        match self {
            Form::Client => (2, 16),
            Form::Enterprise => (4, 32),
        }
    }

    /// Writes have to be durable when they end.
    pub fn disables_cache(self) -> bool {
        self == Form::Enterprise
    }
}

/// How a test is carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The device class.
    pub form: Form,
    /// Bytes of the user capacity, by which preconditioning and saturation are measured; at least 4096.
    pub capacity: u64,
    /// What takes the place of a minute, above zero; [`Settings::MINUTE`] in a conforming test.
    pub minute: Nanos,
    /// By what long series and the rounds of several samples are shortened; 1 in a conforming test.
    pub shrink: u32,
    /// After so many rounds that are not steady a test ends; at least 1, 25 in the specification.
    pub rounds: u32,
}

impl Settings {
    /// A minute.
    pub const MINUTE: Nanos = Nanos::secs(60);

    /// Rounds, at the most.
    pub const ROUNDS: u32 = 25;

    /// A conforming test of a drive of so many bytes.
    pub fn conforming(form: Form, capacity: u64) -> Settings {
        Settings { form, capacity, minute: Settings::MINUTE, shrink: 1, rounds: Settings::ROUNDS }
    }

    /// The short form: a minute is 50 ms, and of sixty samples one is taken.
    pub fn quick(form: Form, capacity: u64) -> Settings {
        Settings { minute: Nanos::millis(50), shrink: 60, ..Settings::conforming(form, capacity) }
    }

    /// True when times and rounds are those of the specification.
    pub fn is_conforming(&self) -> bool {
        (self.minute, self.shrink) == (Settings::MINUTE, 1) && self.rounds >= Settings::ROUNDS
    }

    /// So many samples, shortened; at least one.
    pub fn samples(&self, samples: u32) -> u32 {
        (samples / self.shrink).max(1)
    }

    /// So many seconds, in this test's minutes; rounded down, but something.
    pub fn seconds(&self, seconds: u64) -> Nanos {
        Nanos((u128::from(self.minute.0) * u128::from(seconds) / 60) as u64).max(Nanos(1))
    }
}
