//! When the requests of an open loop come due.

use tailcut_base::random::Stream;
use tailcut_base::{Nanos, SECTOR_BYTES, Time};

/// What spaces the requests of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArrivalPlan {
    /// Nothing: a closed loop, see [`super::Pace::Closed`].
    Closed,
    /// One request after another at a constant interval.
    Uniform {
        /// Requests per second, 1 … 10^9.
        rate: u64,
    },
    /// Exponential gaps, independent of each other.
    Poisson {
        /// Requests per second on average, 1 … 10^9.
        rate: u64,
    },
    /// Each request delays the next in proportion to its size.
    Bandwidth {
        /// Bytes per second, at least 1.
        rate: u64,
    },
    /// Bursts of requests at a constant interval, with nothing between bursts.
    Bursts {
        /// Requests per second within a burst, 1 … 10^9.
        rate: u64,
        /// When a burst ends.
        end: BurstEnd,
        /// Between the end of a burst and the first request of the next.
        idle: Nanos,
    },
}

/// What ends a burst.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BurstEnd {
    /// This many requests, at least 1; the last one also takes its interval.
    Requests(u64),
    /// This much time, above 0; a request that would come due later opens the next burst.
    After(Nanos),
}

impl ArrivalPlan {
    /// Requests per second in the long run, of `mean_bytes` each; `None` for a closed loop, whose rate is up
    /// to the device.
    pub fn rate(&self, mean_bytes: f64) -> Option<f64> {
        match *self {
            ArrivalPlan::Closed => None,
            ArrivalPlan::Uniform { rate } | ArrivalPlan::Poisson { rate } => Some(rate as f64),
            ArrivalPlan::Bandwidth { rate } => Some(rate as f64 / mean_bytes),
            ArrivalPlan::Bursts { rate, end, idle } => {
                let requests = match end {
                    BurstEnd::Requests(requests) => requests as f64,
                    BurstEnd::After(time) => rate as f64 * time.as_secs_f64(),
                };
                Some(requests / (requests / rate as f64 + idle.as_secs_f64()))
            }
        }
    }

    /// Why the parameters are invalid; `None` when they are valid.
    pub fn complaint(&self) -> Option<String> {
        match *self {
            ArrivalPlan::Uniform { rate }
            | ArrivalPlan::Poisson { rate }
            | ArrivalPlan::Bursts { rate, .. }
                if !(1..=SECOND).contains(&rate) =>
            {
                Some(format!("a rate of {rate} requests per second; it must be 1 to {SECOND}"))
            }
            ArrivalPlan::Bandwidth { rate: 0 } => Some("a rate of 0 bytes per second".to_string()),
            ArrivalPlan::Bursts { end: BurstEnd::Requests(0) | BurstEnd::After(Nanos(0)), .. } => {
                Some("a burst without length; give it at least one request or some time".to_string())
            }
            _ => None,
        }
    }
}

/// An [`ArrivalPlan`] at work. All sums are exact integers: a constant interval does not drift.
#[derive(Clone, Debug)]
pub struct Arrivals {
    /// When the next request is due.
    due: u64,
    /// When the last one was.
    last: u64,
    kind: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    Closed,
    Uniform(Ticks),
    Poisson { mean: f64, fraction: u64, stream: Stream },
    Bandwidth(Ticks),
    Bursts { ticks: Ticks, end: BurstEnd, idle: u64, began: u64, issued: u64 },
}

/// Adds `units / rate` seconds at a time and keeps the remainder below a nanosecond.
#[derive(Clone, Debug)]
struct Ticks {
    rate: u64,
    /// One request of one unit, ahead of time: whole nanoseconds and remainder.
    whole: u64,
    part: u64,
    carry: u64,
}

impl Ticks {
    fn new(rate: u64) -> Ticks {
        Ticks { rate, whole: SECOND / rate, part: SECOND % rate, carry: 0 }
    }

    /// The length of one unit.
    #[inline]
    fn one(&mut self) -> u64 {
        self.carry += self.part;
        if self.carry < self.rate {
            return self.whole;
        }
        self.carry -= self.rate;
        self.whole + 1
    }

    /// The length of `units` units.
    fn many(&mut self, units: u64) -> u64 {
        let total = u128::from(units) * u128::from(SECOND) + u128::from(self.carry);
        self.carry = (total % u128::from(self.rate)) as u64;
        (total / u128::from(self.rate)).try_into().unwrap_or(u64::MAX)
    }
}

impl Arrivals {
    /// `plan` at work; `stream` is drawn from by Poisson arrivals only.
    ///
    /// # Panics
    /// If [`ArrivalPlan::complaint`] has a complaint.
    pub fn new(plan: ArrivalPlan, stream: Stream) -> Arrivals {
        assert_eq!(plan.complaint(), None);
        let kind = match plan {
            ArrivalPlan::Closed => Kind::Closed,
            ArrivalPlan::Uniform { rate } => Kind::Uniform(Ticks::new(rate)),
            ArrivalPlan::Bandwidth { rate } => Kind::Bandwidth(Ticks::new(rate)),
            ArrivalPlan::Poisson { rate } => {
                let mean = (SECOND * FRACTIONS) as f64 / rate as f64;
                Kind::Poisson { mean, fraction: 0, stream }
            }
            ArrivalPlan::Bursts { rate, end, idle } => {
                Kind::Bursts { ticks: Ticks::new(rate), end, idle: idle.0, began: 0, issued: 0 }
            }
        };
        let mut arrivals = Arrivals { due: 0, last: 0, kind };
        if let Kind::Poisson { .. } = arrivals.kind {
            // A Poisson stream has no request at its very start, but a first gap like any other.
            arrivals.advance(0);
        }
        arrivals
    }

    /// When the last request that was taken was due.
    #[inline]
    pub fn last(&self) -> Time {
        Time(self.last)
    }

    /// Takes a request of `sectors` sectors: when it is due. Moments saturate far beyond any run.
    #[inline]
    pub fn take(&mut self, sectors: u32) -> Time {
        if matches!(self.kind, Kind::Closed) {
            return Time::ZERO;
        }
        self.last = self.due;
        self.advance(sectors);
        Time(self.last)
    }

    fn advance(&mut self, sectors: u32) {
        let due = &mut self.due;
        let gap = match &mut self.kind {
            Kind::Closed => 0,
            Kind::Uniform(ticks) => ticks.one(),
            Kind::Bandwidth(ticks) => ticks.many(u64::from(sectors) * SECTOR_BYTES),
            Kind::Poisson { mean, fraction, stream } => {
                // `1 - unit` lies in (0, 1]: its logarithm is finite.
                *fraction += (-libm::log(1.0 - stream.unit()) * *mean) as u64;
                let whole = *fraction / FRACTIONS;
                *fraction %= FRACTIONS;
                whole
            }
            Kind::Bursts { ticks, end, idle, began, issued } => {
                *issued += 1;
                let next = due.saturating_add(ticks.one());
                let (over, ended) = match *end {
                    BurstEnd::Requests(n) => (*issued >= n, next),
                    BurstEnd::After(time) => {
                        let ends = began.saturating_add(time.0);
                        (next >= ends, ends)
                    }
                };
                if over {
                    *issued = 0;
                    *began = ended.saturating_add(*idle);
                    ticks.carry = 0;
                    *began - *due
                } else {
                    next - *due
                }
            }
        };
        *due = due.saturating_add(gap);
    }
}

/// Nanoseconds per second.
const SECOND: u64 = 1_000_000_000;

/// Poisson gaps are added up in this part of a nanosecond, so that rounding does not shift the
/// mean of short gaps.
const FRACTIONS: u64 = 1 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    fn dues(plan: ArrivalPlan, n: usize) -> Vec<u64> {
        let mut arrivals = Arrivals::new(plan, Stream::new(1, "test"));
        (0..n).map(|_| arrivals.take(8).0).collect()
    }

    #[test]
    fn a_constant_interval_does_not_drift() {
        let dues = dues(ArrivalPlan::Uniform { rate: 3 }, 3001);
        assert_eq!(dues[..4], [0, 333_333_333, 666_666_666, 1_000_000_000]);
        assert_eq!(dues[3000], 1_000 * SECOND);
    }

    #[test]
    fn bandwidth_counts_bytes() {
        let dues = dues(ArrivalPlan::Bandwidth { rate: 4096 }, 3);
        assert_eq!(dues, [0, SECOND, 2 * SECOND]);
    }

    #[test]
    fn bursts_by_count_and_by_time() {
        let plan = |end| ArrivalPlan::Bursts { rate: 1_000_000, end, idle: Nanos(10_000) };
        assert_eq!(dues(plan(BurstEnd::Requests(2)), 5), [0, 1_000, 12_000, 13_000, 24_000]);
        assert_eq!(dues(plan(BurstEnd::After(Nanos(2_500))), 5), [0, 1_000, 2_000, 12_500, 13_500]);
    }

    #[test]
    fn a_burst_shorter_than_its_interval_holds_one_request() {
        let plan = ArrivalPlan::Bursts { rate: 1, end: BurstEnd::After(Nanos(5)), idle: Nanos(5) };
        assert_eq!(dues(plan, 3), [0, 10, 20]);
    }
}
