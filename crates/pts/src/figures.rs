//! Results of a load.

use tailcut_base::Nanos;
use tailcut_base::histogram::LatencyHistogram;

/// Results of a load over a period of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Number of I/Os completed in the period.
    pub ios: u64,
    /// Bytes that completed I/Os transferred in the period.
    pub bytes: u64,
    /// Length of the period that the results cover.
    pub took: Nanos,
    /// Sum of the response times of all I/Os, in ns.
    pub latency_sum: u128,
    /// Maximum response time (MRT) of an I/O; zero without I/Os.
    pub longest: Nanos,
    /// 99.999th percentile of response times ("five nines"); zero without I/Os.
    pub five_nines: Nanos,
}

impl Figures {
    /// Results of I/Os with these response times, over the period `took`.
    pub fn of(latency: &LatencyHistogram, bytes: u64, took: Nanos) -> Figures {
        Figures {
            ios: latency.count(),
            bytes,
            took,
            latency_sum: latency.sum(),
            longest: latency.max(),
            five_nines: latency.percentile(99.999),
        }
    }

    /// I/Os per second; 0 for an empty period.
    pub fn iops(&self) -> f64 {
        per_second(self.ios, self.took)
    }

    /// Bytes per second; 0 for an empty period.
    pub fn throughput(&self) -> f64 {
        per_second(self.bytes, self.took)
    }

    /// Mean response time in ns (ART); 0 without I/Os.
    pub fn mean(&self) -> f64 {
        if self.ios == 0 { 0.0 } else { self.latency_sum as f64 / self.ios as f64 }
    }

    /// The value of a metric as a whole number, for the test of steady state.
    pub fn metric(&self, metric: Metric) -> u64 {
        let rate = |things: u64| u128::from(things) * 1_000_000_000 / u128::from(self.took.0.max(1));
        let value = match metric {
            Metric::Iops => rate(self.ios.saturating_mul(1000)),
            Metric::Throughput => rate(self.bytes),
            Metric::MeanLatency => self.latency_sum / u128::from(self.ios.max(1)),
        };
        u64::try_from(value).unwrap_or(u64::MAX)
    }
}

fn per_second(things: u64, took: Nanos) -> f64 {
    if took == Nanos::ZERO { 0.0 } else { things as f64 / took.as_secs_f64() }
}

/// A metric by which steady state is determined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Metric {
    /// I/Os per 1000 seconds.
    Iops,
    /// Bytes transferred per second.
    Throughput,
    /// Mean response time in ns.
    MeanLatency,
}

impl Metric {
    /// Name and unit of the metric as displayed: see [`Metric::shown`].
    pub fn name(self) -> (&'static str, &'static str) {
        match self {
            Metric::Iops => ("IOPS", "1/s"),
            Metric::Throughput => ("throughput", "B/s"),
            Metric::MeanLatency => ("average latency", "s"),
        }
    }

    /// Converts a value of [`Figures::metric`], or a mean of some, to the displayed unit.
    pub fn shown(self, value: f64) -> f64 {
        match self {
            Metric::Iops => value / 1e3,
            Metric::Throughput => value,
            Metric::MeanLatency => value / 1e9,
        }
    }
}
