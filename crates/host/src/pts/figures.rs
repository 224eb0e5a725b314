//! What came of a load.

use tailcut_base::Nanos;
use tailcut_base::histogram::LatencyHistogram;

/// What came of a load over a stretch of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// I/Os that ended.
    pub ios: u64,
    /// Their bytes.
    pub bytes: u64,
    /// How long it took.
    pub took: Nanos,
    /// Sum of response times, in ns.
    pub latency_sum: u128,
    /// The longest response time (MRT).
    pub longest: Nanos,
    /// What 99.999 % of response times do not exceed ("five nines").
    pub five_nines: Nanos,
}

impl Figures {
    /// Of I/Os with these response times, which took so long together.
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

    /// I/Os per second; 0 if it took no time.
    pub fn iops(&self) -> f64 {
        per_second(self.ios, self.took)
    }

    /// Bytes per second.
    pub fn throughput(&self) -> f64 {
        per_second(self.bytes, self.took)
    }

    /// Mean response time in ns (ART); 0 without an I/O.
    pub fn mean(&self) -> f64 {
        if self.ios == 0 { 0.0 } else { self.latency_sum as f64 / self.ios as f64 }
    }

    /// A figure by which steady state is judged, as a whole number.
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

/// By what steady state is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Metric {
    /// I/Os per 1000 seconds.
    Iops,
    /// Bytes per second.
    Throughput,
    /// Mean response time in ns.
    MeanLatency,
}

impl Metric {
    /// Its name and the unit of what is shown of it: see [`Metric::shown`].
    pub fn name(self) -> (&'static str, &'static str) {
        match self {
            Metric::Iops => ("IOPS", "1/s"),
            Metric::Throughput => ("throughput", "B/s"),
            Metric::MeanLatency => ("average latency", "s"),
        }
    }

    /// A value of [`Figures::metric`], or a mean of some, in its unit.
    pub fn shown(self, value: f64) -> f64 {
        match self {
            Metric::Iops => value / 1e3,
            Metric::Throughput => value,
            Metric::MeanLatency => value / 1e9,
        }
    }
}
