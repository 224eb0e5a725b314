//! When values end. The rules are those of `realtime` and `item_is_flushed` in the program's source.

/// The moment at which a value is no longer there, in seconds since 1970.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Expiry {
    /// In the past, whatever the time.
    Past,
    /// From this second on.
    At(u64),
    /// It stays.
    #[default]
    Never,
}

/// The longest time that is taken for a stretch from now on: 30 days in seconds. What is larger is a date.
pub const LONGEST_STRETCH: i64 = 60 * 60 * 24 * 30;

impl Expiry {
    /// What a client means by `exptime`, said at `now` (seconds since 1970): 0 is never, what is negative is
    /// at once, up to [`LONGEST_STRETCH`] it is a stretch, beyond a date.
    pub fn new(now: u64, exptime: i64) -> Expiry {
        match exptime {
            0 => Expiry::Never,
            ..0 => Expiry::Past,
            1..=LONGEST_STRETCH => Expiry::At(now.saturating_add(exptime as u64)),
            _ => Expiry::At(exptime as u64),
        }
    }

    /// The value is not there any more.
    pub fn is_over(self, now: u64) -> bool {
        match self {
            Expiry::Past => true,
            Expiry::At(moment) => moment <= now,
            Expiry::Never => false,
        }
    }

    /// Seconds that are left, 0 if it is over; nothing if it stays.
    pub fn left(self, now: u64) -> Option<u64> {
        match self {
            Expiry::Past => Some(0),
            Expiry::At(moment) => Some(moment.saturating_sub(now)),
            Expiry::Never => None,
        }
    }
}

/// When a `flush_all` with this delay takes effect, in seconds since 1970. From then on, whatever was stored
/// or touched last before that second is not there, and of a flush without delay nothing that was stored
/// before it came. A later `flush_all` replaces one that still waits. What is not positive is at once.
pub fn flush_moment(now: u64, delay: i64) -> u64 {
    match Expiry::new(now, delay) {
        Expiry::At(moment) => moment,
        Expiry::Past | Expiry::Never => now,
    }
}
