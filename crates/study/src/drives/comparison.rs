//! What the model predicts beside what was measured, and by how much it errs.

use super::rows::LEAST_BEYOND;
use super::{Latencies, MeasuredRow, Measurement, PERCENTILES, Percentile};
use std::fmt;

/// A figure of a test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Quantity {
    /// A percentile of reads, in microseconds.
    Read(Percentile),
    /// A percentile of writes, in microseconds.
    Write(Percentile),
    /// Reads of all threads per second.
    Reads,
    /// Writes of all threads per second.
    Writes,
    /// Bytes written to flash ÷ bytes written by the host.
    Amplification,
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percentile =
            |f: &mut fmt::Formatter<'_>, kind: &str, percentile: &Percentile| match percentile.percent {
                100.0 => write!(f, "{kind} max"),
                percent => write!(f, "{kind} p{percent}"),
            };
        match self {
            Quantity::Read(of) => percentile(f, "read", of),
            Quantity::Write(of) => percentile(f, "write", of),
            Quantity::Reads => f.write_str("reads/s"),
            Quantity::Writes => f.write_str("writes/s"),
            Quantity::Amplification => f.write_str("write amplification"),
        }
    }
}

impl Quantity {
    /// The unit: `us`, `1/s`, or `x`.
    pub fn unit(self) -> &'static str {
        match self {
            Quantity::Read(_) | Quantity::Write(_) => "us",
            Quantity::Reads | Quantity::Writes => "1/s",
            Quantity::Amplification => "x",
        }
    }

    /// The figure of the quantity in a measured row; `None` if it was not measured.
    pub fn measured(self, row: &MeasuredRow) -> Option<f64> {
        match self {
            Quantity::Read(percentile) => row.reads[index(percentile)],
            Quantity::Write(percentile) => row.writes[index(percentile)],
            Quantity::Reads => row.reads_per_s,
            Quantity::Writes => row.writes_per_s,
            Quantity::Amplification => row.write_amplification,
        }
    }

    /// Its figure in a prediction; `None` where fewer than [`LEAST_BEYOND`] requests lie beyond a percentile.
    /// The slowest request is always known.
    pub fn predicted(self, found: &Measurement) -> Option<f64> {
        self.predicted_from(found, LEAST_BEYOND)
    }

    /// As [`Quantity::predicted`], where `least` requests beyond are enough.
    pub(super) fn predicted_from(self, found: &Measurement, least: f64) -> Option<f64> {
        let latency = |of: &Latencies, percentile: Percentile| {
            let is_known = percentile.percent == 100.0 || percentile.requests_beyond(of.requests) >= least;
            (is_known && of.requests > 0).then(|| of.micros[index(percentile)])
        };
        match self {
            Quantity::Read(percentile) => latency(&found.reads, percentile),
            Quantity::Write(percentile) => latency(&found.writes, percentile),
            Quantity::Reads => Some(found.reads_per_s),
            Quantity::Writes => Some(found.writes_per_s),
            Quantity::Amplification => found.write_amplification,
        }
    }

    /// |ln(predicted ÷ measured)|; of writes, what lies within 2 µs of the measured figure is no error.
    pub fn error(self, predicted: f64, measured: f64) -> f64 {
        let ignored = if matches!(self, Quantity::Write(_)) { WRITE_SLACK_US } else { 0.0 };
        let beyond = (predicted - measured).abs() - ignored;
        if beyond <= 0.0 {
            return 0.0;
        }
        let nearer = if predicted > measured { measured + beyond } else { measured - beyond };
        if nearer <= 0.0 || measured <= 0.0 { f64::INFINITY } else { (nearer / measured).ln().abs() }
    }
}

/// Every quantity of a test, in the order of tables.
pub fn quantities() -> impl Iterator<Item = Quantity> {
    let reads = PERCENTILES.into_iter().map(Quantity::Read);
    let writes = PERCENTILES.into_iter().map(Quantity::Write);
    reads.chain(writes).chain([Quantity::Reads, Quantity::Writes, Quantity::Amplification])
}

fn index(percentile: Percentile) -> usize {
    PERCENTILES.iter().position(|known| *known == percentile).expect("a percentile of the list")
}

/// What a client's clock and a histogram of whole microseconds cannot tell apart, of latencies of some ten
/// microseconds.
const WRITE_SLACK_US: f64 = 2.0;
