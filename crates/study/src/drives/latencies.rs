//! Latencies as published measurements report them: a few percentiles, and how many requests they rest on.

use serde::{Deserialize, Serialize};
use tailcut_base::histogram::LatencyHistogram;

/// A percentile that is reported.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Percentile {
    /// Name of the percentile as part of column names: `50p`, `99p9`, `max`.
    pub name: &'static str,
    /// Per cent of the requests that took no longer; 100 for the slowest request.
    pub percent: f64,
}

/// Every percentile that is reported, in ascending order.
pub const PERCENTILES: [Percentile; 10] = [
    Percentile { name: "10p", percent: 10.0 },
    Percentile { name: "50p", percent: 50.0 },
    Percentile { name: "90p", percent: 90.0 },
    Percentile { name: "95p", percent: 95.0 },
    Percentile { name: "99p", percent: 99.0 },
    Percentile { name: "99p5", percent: 99.5 },
    Percentile { name: "99p9", percent: 99.9 },
    Percentile { name: "99p99", percent: 99.99 },
    Percentile { name: "99p999", percent: 99.999 },
    Percentile { name: "max", percent: 100.0 },
];

/// The index of the median in [`PERCENTILES`].
pub const MEDIAN: usize = 1;

impl Percentile {
    /// How many of `requests` take longer than this percentile; of the maximum, the one that is the slowest.
    /// Ten or more make a percentile that another seed confirms within some per cent.
    pub fn requests_beyond(self, requests: u64) -> f64 {
        ((1.0 - self.percent / 100.0) * requests as f64).max(f64::from(u8::from(self.percent == 100.0)))
    }
}

/// The percentiles of the latencies of one kind of request.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Latencies {
    /// Number of requests that the percentiles are of.
    pub requests: u64,
    /// The latency at each of [`PERCENTILES`], in microseconds, never descending; 0 without requests.
    pub micros: [f64; PERCENTILES.len()],
}

impl Latencies {
    /// The percentiles of a histogram, each at most 0.1 % above the exact one.
    pub fn of(histogram: &LatencyHistogram) -> Latencies {
        let micros = PERCENTILES.map(|percentile| match histogram.count() {
            0 => 0.0,
            _ if percentile.percent == 100.0 => histogram.max().0 as f64 / 1e3,
            _ => histogram.percentile(percentile.percent).0 as f64 / 1e3,
        });
        Latencies { requests: histogram.count(), micros }
    }

    /// The percentiles that at least `least` requests lie beyond, with their latencies in microseconds.
    pub fn resolved(&self, least: f64) -> impl Iterator<Item = (Percentile, f64)> + '_ {
        let all = PERCENTILES.into_iter().zip(self.micros);
        all.filter(move |(percentile, _)| percentile.requests_beyond(self.requests) >= least)
    }
}
