//! Time in whole nanoseconds: [`Time`] is a point in time of a run, [`Nanos`] a duration.
//!
//! Both are integers, so that no result depends on the rounding of a float. A run starts at [`Time::ZERO`];
//! 64 bits of nanoseconds last 584 years.

use crate::cast::to_u64;
use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, Mul, Sub, SubAssign};

/// A point in time, in nanoseconds since the start of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(pub u64);

/// A duration in nanoseconds.
///
/// # Examples
/// ```
/// use tailcut_base::{Nanos, Time};
///
/// let sent = Time::ZERO + Nanos::micros(80);
/// let received = sent + Nanos::for_bytes(4096, 4_000_000_000);
/// assert_eq!(received.since(sent), Nanos(1024));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Nanos(pub u64);

impl Time {
    /// The start of the run.
    pub const ZERO: Time = Time(0);
    /// Later than any event of a run.
    pub const NEVER: Time = Time(u64::MAX);

    /// The time since `earlier`.
    ///
    /// # Panics
    /// If `earlier` is later than `self`: an effect before its cause is a bug of the model.
    #[inline]
    pub fn since(self, earlier: Time) -> Nanos {
        assert!(self.0 >= earlier.0, "time ran backwards");
        Nanos(self.0 - earlier.0)
    }

    /// Seconds since the start of the run, for reports only.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }
}

impl Nanos {
    /// A duration of zero.
    pub const ZERO: Nanos = Nanos(0);

    /// A duration of `n` microseconds; it must be below 2^64 ns (584 years).
    pub const fn micros(n: u64) -> Nanos {
        Nanos(n * 1_000)
    }

    /// A duration of `n` milliseconds; it must be below 2^64 ns (584 years).
    pub const fn millis(n: u64) -> Nanos {
        Nanos(n * 1_000_000)
    }

    /// A duration of `n` seconds; it must be below 2^64 ns (584 years).
    pub const fn secs(n: u64) -> Nanos {
        Nanos(n * 1_000_000_000)
    }

    /// The time that `bytes` take at `bytes_per_second`, rounded up to the next nanosecond. A rate of zero is
    /// infinitely fast.
    pub fn for_bytes(bytes: u64, bytes_per_second: u64) -> Nanos {
        if bytes_per_second == 0 {
            return Nanos::ZERO;
        }
        if bytes < 1 << 34 {
            // Fits 64 bits, whose division is several times faster.
            return Nanos((bytes * 1_000_000_000).div_ceil(bytes_per_second));
        }
        let nanos = (u128::from(bytes) * 1_000_000_000).div_ceil(u128::from(bytes_per_second));
        Nanos(to_u64(nanos))
    }

    /// The duration in seconds, rounded to a float: for reports only.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// The difference, or zero if `other` is longer.
    #[inline]
    pub fn saturating_sub(self, other: Nanos) -> Nanos {
        Nanos(self.0.saturating_sub(other.0))
    }
}

impl Add<Nanos> for Time {
    type Output = Time;
    #[inline]
    fn add(self, rhs: Nanos) -> Time {
        Time(self.0 + rhs.0)
    }
}

impl AddAssign<Nanos> for Time {
    #[inline]
    fn add_assign(&mut self, rhs: Nanos) {
        self.0 += rhs.0;
    }
}

impl Add for Nanos {
    type Output = Nanos;
    #[inline]
    fn add(self, rhs: Nanos) -> Nanos {
        Nanos(self.0 + rhs.0)
    }
}

impl AddAssign for Nanos {
    #[inline]
    fn add_assign(&mut self, rhs: Nanos) {
        self.0 += rhs.0;
    }
}

impl Sub for Nanos {
    type Output = Nanos;
    #[inline]
    fn sub(self, rhs: Nanos) -> Nanos {
        Nanos(self.0 - rhs.0)
    }
}

impl SubAssign for Nanos {
    #[inline]
    fn sub_assign(&mut self, rhs: Nanos) {
        self.0 -= rhs.0;
    }
}

impl Mul<u64> for Nanos {
    type Output = Nanos;
    #[inline]
    fn mul(self, rhs: u64) -> Nanos {
        Nanos(self.0 * rhs)
    }
}

/// Rounds down.
impl Div<u64> for Nanos {
    type Output = Nanos;
    #[inline]
    fn div(self, rhs: u64) -> Nanos {
        Nanos(self.0 / rhs)
    }
}

impl Sum for Nanos {
    fn sum<I: Iterator<Item = Nanos>>(iter: I) -> Nanos {
        Nanos(iter.map(|n| n.0).sum())
    }
}

impl fmt::Display for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&crate::show::show_time(self.0 as f64))
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&crate::show::show_time(self.0 as f64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transfer_times_round_up() {
        assert_eq!(Nanos::for_bytes(4096, 333_000_000), Nanos(12_301));
        assert_eq!(Nanos::for_bytes(1, 1_000_000_000), Nanos(1));
        assert_eq!(Nanos::for_bytes(1, 0), Nanos::ZERO);
    }

    #[test]
    #[should_panic(expected = "time ran backwards")]
    fn time_does_not_run_backwards() {
        let _ = Time(1).since(Time(2));
    }
}
