//! The latency curve.

use serde::{Deserialize, Serialize};
use tailcut_base::histogram::LatencyHistogram;

/// The percentiles of every report.
pub const PERCENTILES: [f64; 6] = [50.0, 90.0, 99.0, 99.9, 99.99, 99.9999];

/// How many requests must be slower than a percentile for it to mean something.
const RESOLUTION: f64 = 10.0;

/// Latencies of a set of requests, in ns.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Curve {
    /// Mean latency in ns, exactly; 0 if there were no requests.
    pub mean_ns: f64,
    /// The latency at each of [`PERCENTILES`].
    pub points: Vec<Point>,
    /// Highest latency in ns, exactly; 0 if there were no requests.
    pub max_ns: u64,
    /// The limit: the latency of such a request on a drive without any other work.
    pub bare_ns: f64,
}

/// One point of a curve.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Per cent of the requests that were no slower.
    pub percentile: f64,
    /// The latency in ns that `percentile` per cent of the requests did not exceed; at most 0.1 % too high.
    pub ns: u64,
    /// False when fewer than ten requests were slower: the figure is little more than chance.
    pub resolved: bool,
    /// True when fewer than one request was slower: the figure is that of the slowest request, and is not
    /// printed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub beyond: bool,
}

impl Curve {
    /// The curve of a histogram.
    pub fn of(histogram: &LatencyHistogram, bare_ns: f64) -> Curve {
        let point = |&percentile: &f64| Point {
            percentile,
            ns: histogram.percentile(percentile).0,
            resolved: is_slower(histogram.count(), percentile, RESOLUTION),
            beyond: !is_slower(histogram.count(), percentile, 1.0),
        };
        Curve {
            mean_ns: histogram.mean(),
            points: PERCENTILES.iter().map(point).collect(),
            max_ns: histogram.max().0,
            bare_ns,
        }
    }
}

/// True when at least `least` of `count` requests are slower than the percentile.
fn is_slower(count: u64, percentile: f64, least: f64) -> bool {
    // A millionth of a request forgives the rounding of 1 - 0.999999.
    count as f64 * (100.0 - percentile) / 100.0 >= least - 1e-6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_needs_ten_requests_above_it() {
        assert!(is_slower(1_000, 99.0, RESOLUTION) && !is_slower(999, 99.0, RESOLUTION));
        assert!(is_slower(10_000_000, 99.9999, RESOLUTION) && !is_slower(9_000_000, 99.9999, RESOLUTION));
    }

    #[test]
    fn a_percentile_beyond_the_slowest_request_is_marked() {
        let mut histogram = LatencyHistogram::new();
        (1..=100).for_each(|n| histogram.record(tailcut_base::Nanos(n)));
        let beyond: Vec<bool> = Curve::of(&histogram, 0.0).points.iter().map(|point| point.beyond).collect();
        assert_eq!(beyond, [false, false, false, true, true, true]);
    }
}
