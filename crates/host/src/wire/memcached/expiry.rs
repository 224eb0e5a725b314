//! Expiry times. The rules are those of `realtime` and `item_is_flushed` in memcached's source.

/// The time at which an item expires.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Expiry {
    /// Expired, whatever the time.
    Past,
    /// The item expires at this second of Unix time.
    At(u64),
    /// The item does not expire.
    #[default]
    Never,
}

/// Longest relative expiry time: 30 days in seconds. Larger values are absolute.
pub const LONGEST_STRETCH: i64 = 60 * 60 * 24 * 30;

impl Expiry {
    /// The meaning of a client's `exptime` at `now` (seconds of Unix time): 0 is never, negative is at once,
    /// up to [`LONGEST_STRETCH`] it is relative, beyond that absolute.
    pub fn new(now: u64, exptime: i64) -> Expiry {
        match exptime {
            0 => Expiry::Never,
            ..0 => Expiry::Past,
            1..=LONGEST_STRETCH => Expiry::At(now.saturating_add(exptime.cast_unsigned())),
            _ => Expiry::At(exptime.cast_unsigned()),
        }
    }

    /// True if the item has expired at `now`, in seconds of Unix time.
    pub fn is_expired(self, now: u64) -> bool {
        match self {
            Expiry::Past => true,
            Expiry::At(moment) => moment <= now,
            Expiry::Never => false,
        }
    }

    /// Seconds left, 0 if expired; None for an item that does not expire.
    pub fn left(self, now: u64) -> Option<u64> {
        match self {
            Expiry::Past => Some(0),
            Expiry::At(moment) => Some(moment.saturating_sub(now)),
            Expiry::Never => None,
        }
    }
}

/// When a `flush_all` with this delay takes effect, in seconds of Unix time. From then on, items stored or
/// touched last before that second are invalid, and for a flush without delay, all items stored before it. A
/// later `flush_all` replaces a pending one. A delay that is not positive takes effect at once.
pub fn flush_moment(now: u64, delay: i64) -> u64 {
    match Expiry::new(now, delay) {
        Expiry::At(moment) => moment,
        Expiry::Past | Expiry::Never => now,
    }
}
