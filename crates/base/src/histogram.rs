//! The latency histogram.

use crate::cast::whole;
use crate::time::Nanos;
use hdrhistogram::Histogram;

/// Latencies from 1 ns to about 18 minutes and beyond, in buckets no wider than 1/1000 of their
/// value: any percentile is at most 0.1 % above the exact one and never below it. Memory: about
/// 180 KiB at most. Counts are 64-bit; histograms can be merged.
///
/// # Examples
/// ```
/// use tailcut_base::Nanos;
/// use tailcut_base::histogram::LatencyHistogram;
///
/// let mut latencies = LatencyHistogram::new();
/// latencies.record_many(Nanos::micros(80), 99);
/// latencies.record(Nanos::millis(3));
/// assert!(latencies.percentile(99.0) < Nanos::micros(81));
/// assert_eq!(latencies.max(), Nanos::millis(3));
/// // 100 requests do not resolve a thousandth of them.
/// assert_eq!(latencies.resolved_percentile(99.9), None);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct LatencyHistogram {
    buckets: Histogram<u64>,
    sum: u128,
    max: u64,
}

impl Default for LatencyHistogram {
    fn default() -> LatencyHistogram {
        LatencyHistogram::new()
    }
}

impl LatencyHistogram {
    /// The relative error bound of every percentile.
    pub const ERROR_BOUND: f64 = 0.001;

    /// A histogram without any latency.
    #[expect(clippy::missing_panics_doc, reason = "the bounds are constants that the histogram accepts")]
    pub fn new() -> LatencyHistogram {
        // 2^40 ns initially; grows for longer latencies.
        let mut buckets = Histogram::new_with_max(1 << 40, 3).expect("bounds of the histogram are valid");
        buckets.auto(true);
        LatencyHistogram { buckets, sum: 0, max: 0 }
    }

    /// Records one latency, of any length; the mean, the sum and the maximum stay exact.
    #[inline(always)]
    #[expect(clippy::missing_panics_doc, reason = "a histogram that resizes itself accepts every value")]
    pub fn record(&mut self, latency: Nanos) {
        self.sum += u128::from(latency.0);
        self.max = self.max.max(latency.0);
        self.buckets.record(latency.0).expect("the histogram grows by itself");
    }

    /// Records `latency` `count` times; does nothing if `count` is zero.
    #[inline]
    #[expect(clippy::missing_panics_doc, reason = "a histogram that resizes itself accepts every value")]
    pub fn record_many(&mut self, latency: Nanos, count: u64) {
        if count > 0 {
            self.sum += u128::from(latency.0) * u128::from(count);
            self.max = self.max.max(latency.0);
            self.buckets.record_n(latency.0, count).expect("the histogram grows by itself");
        }
    }

    /// Adds every latency of `other`.
    #[expect(clippy::missing_panics_doc, reason = "a histogram that resizes itself accepts every value")]
    pub fn merge(&mut self, other: &LatencyHistogram) {
        self.buckets.add(&other.buckets).expect("the histogram grows by itself");
        self.sum += other.sum;
        self.max = self.max.max(other.max);
    }

    /// Number of latencies recorded, those of merged histograms included.
    pub fn count(&self) -> u64 {
        self.buckets.len()
    }

    /// The exact mean, in nanoseconds; zero when empty.
    pub fn mean(&self) -> f64 {
        if self.count() == 0 { 0.0 } else { self.sum as f64 / self.count() as f64 }
    }

    /// The exact sum of all latencies in nanoseconds.
    pub fn sum(&self) -> u128 {
        self.sum
    }

    /// The highest latency recorded, exactly; zero when empty.
    pub fn max(&self) -> Nanos {
        Nanos(self.max)
    }

    /// The exact minimum, up to the width of its bucket.
    pub fn min(&self) -> Nanos {
        if self.count() == 0 { Nanos::ZERO } else { Nanos(self.buckets.min()) }
    }

    /// The latency that `percentile` (0 … 100) percent of the requests did not exceed; the maximum if the
    /// count does not resolve the percentile.
    pub fn percentile(&self, percentile: f64) -> Nanos {
        if self.count() == 0 {
            return Nanos::ZERO;
        }
        let rank = rank_at(self.count(), percentile);
        // The middle of the rank, so that rounding reaches no other.
        Nanos(self.buckets.value_at_quantile((rank as f64 - 0.5) / self.count() as f64).min(self.max))
    }

    /// [`LatencyHistogram::percentile`]; `None` if the count does not resolve it: no request was slower.
    pub fn resolved_percentile(&self, percentile: f64) -> Option<Nanos> {
        (self.count() > rank_at(self.count(), percentile)).then(|| self.percentile(percentile))
    }

    /// The sum of the `count` highest latencies in nanoseconds, within 0.05 %; of the highest alone it is
    /// exact.
    pub fn sum_of_highest(&self, count: u64) -> u128 {
        if count == 0 || self.count() == 0 {
            return 0;
        }
        let mut lower = self.count() - count.min(self.count());
        let mut sum = u128::from(self.max);
        for (latency, n) in self.buckets() {
            let skipped = lower.min(n);
            lower -= skipped;
            let middle = self.buckets.median_equivalent(latency.0).min(self.max);
            sum += u128::from(n - skipped) * u128::from(middle);
        }
        // The highest counts as the exact maximum.
        sum - u128::from(self.buckets.median_equivalent(self.max).min(self.max))
    }

    /// The share of latencies, 0 … 1, that were at or below `latency`.
    pub fn share_at_or_below(&self, latency: Nanos) -> f64 {
        self.buckets.quantile_below(latency.0)
    }

    /// The non-empty buckets as (highest latency of the bucket, count).
    pub fn buckets(&self) -> impl Iterator<Item = (Nanos, u64)> + '_ {
        self.buckets.iter_recorded().map(|v| (Nanos(v.value_iterated_to()), v.count_since_last_iteration()))
    }
}

/// How many of `count` values `percentile` (0 … 100) percent are: rounded up, from 1 to `count`. A product
/// that differs from a whole number only by the rounding of its factors counts as that number.
pub fn rank_at(count: u64, percentile: f64) -> u64 {
    let rank = percentile / 100.0 * count as f64;
    whole(libm::ceil(rank - RANK_ROUNDING)).clamp(1, count.max(1))
}

/// Far above the rounding error of a rank, far below the distance of two.
const RANK_ROUNDING: f64 = 1e-6;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Stream;

    #[test]
    fn percentiles_keep_the_error_bound() {
        let mut random = Stream::new(5, "histogram");
        let mut histogram = LatencyHistogram::new();
        let mut exact: Vec<u64> = (0..50_000)
            .map(|_| {
                let shift = random.below(34);
                1 + (random.bits() >> 30 >> shift)
            })
            .collect();
        for &value in &exact {
            histogram.record(Nanos(value));
        }
        exact.sort_unstable();
        for p in [0.1, 1.0, 25.0, 50.0, 90.0, 99.0, 99.9, 99.99, 100.0] {
            let rank = rank_at(exact.len() as u64, p) as usize;
            let (got, want) = (histogram.percentile(p).0 as f64, exact[rank - 1] as f64);
            assert!(
                got >= want && got <= want * (1.0 + LatencyHistogram::ERROR_BOUND) + 1.0,
                "{p}: {got} {want}"
            );
        }
        assert_eq!(histogram.max().0, *exact.last().unwrap());
        let mean = exact.iter().sum::<u64>() as f64 / exact.len() as f64;
        assert!((histogram.mean() - mean).abs() < 1e-6 * mean);
    }

    /// 99.9 / 100 · 20,000 is 19,980.000000000004 in floating point.
    #[test]
    fn a_percentile_of_a_round_number_of_requests_is_at_its_rank() {
        for count in [1_000, 2_000, 5_000, 10_000, 14_000, 20_000, 1_000_000] {
            for (percentile, thousandths_above) in [(50.0, 500), (90.0, 100), (99.0, 10), (99.9, 1)] {
                assert_eq!(
                    rank_at(count, percentile),
                    count - count * thousandths_above / 1000,
                    "{percentile} of {count}"
                );
            }
        }
        let mut histogram = LatencyHistogram::new();
        (1..=1000).for_each(|n| histogram.record(Nanos(n)));
        assert_eq!(histogram.percentile(99.9), Nanos(999));
        assert_eq!(histogram.percentile(99.91), Nanos(1000));
        assert_eq!(histogram.resolved_percentile(99.9), Some(Nanos(999)));
        assert_eq!(histogram.resolved_percentile(99.91), None, "no request was slower");
        assert_eq!((histogram.percentile(0.0), histogram.percentile(100.0)), (Nanos(1), Nanos(1000)));
        assert_eq!(
            [0, 1, 2, 1000, 5000].map(|n| histogram.sum_of_highest(n)),
            [0, 1000, 1999, 500_500, 500_500]
        );
    }

    #[test]
    fn many_of_one_kind_are_as_many_times_one() {
        let (mut at_once, mut each) = (LatencyHistogram::new(), LatencyHistogram::new());
        for (latency, count) in [(700, 3), (5, 0), (1 << 41, 2)] {
            at_once.record_many(Nanos(latency), count);
            (0..count).for_each(|_| each.record(Nanos(latency)));
        }
        assert_eq!(at_once, each);
    }

    #[test]
    fn an_empty_histogram_answers_zero() {
        let histogram = LatencyHistogram::new();
        assert_eq!(histogram.percentile(99.0), Nanos::ZERO);
        assert_eq!(histogram.mean(), 0.0);
    }
}
