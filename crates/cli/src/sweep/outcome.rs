//! The recorded part of a run's results.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use tailcut_base::histogram::LatencyHistogram;
use tailcut_sim::measured::{Measured, NotMeasured};

/// The percentiles that are kept of all requests, of reads and of writes: those of a report, and
/// others that promises are made of.
pub const FINER: [f64; 17] = [
    1.0, 5.0, 10.0, 25.0, 50.0, 75.0, 90.0, 95.0, 98.0, 99.0, 99.5, 99.9, 99.95, 99.99, 99.995, 99.999,
    99.9999,
];

/// A run with a result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// The report of the run, as `report.json` has it.
    pub report: Value,
    /// The percentiles of [`FINER`], by kind of request.
    pub percentiles: BTreeMap<String, Vec<FinePercentile>>,
}

/// One percentile of the latencies of one kind of request.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct FinePercentile {
    /// Per cent of the requests that were no slower.
    pub percentile: f64,
    /// The latency in ns that `percentile` per cent of the requests did not exceed; at most 0.1 % too high.
    pub ns: u64,
    /// False when fewer than ten requests were slower.
    pub resolved: bool,
}

/// How a run ended. A run that failed is also a result: it fails again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RunResult {
    /// The run has a result.
    Outcome(Box<Outcome>),
    /// The run has no result, for this reason.
    Failed(String),
}

impl Outcome {
    /// The recorded part of `measured`.
    #[expect(clippy::missing_panics_doc, reason = "plain data becomes JSON")]
    pub fn of(measured: &Measured) -> Outcome {
        let curves = [("all", &measured.all), ("read", &measured.reads), ("write", &measured.writes)];
        let some = curves.into_iter().filter(|(_, curve)| curve.count() > 0);
        Outcome {
            report: serde_json::to_value(&measured.report).expect("a report is plain data"),
            percentiles: some.map(|(kind, curve)| (kind.to_owned(), finer(curve))).collect(),
        }
    }

    /// An outcome with a report and no finer percentiles.
    pub fn bare(report: Value) -> Outcome {
        Outcome { report, percentiles: BTreeMap::new() }
    }

    /// A percentile of the requests of one kind, if it is kept.
    pub fn finer(&self, kind: &str, percentile: f64) -> Option<FinePercentile> {
        self.percentiles.get(kind)?.iter().find(|point| point.percentile == percentile).copied()
    }

    /// Digest of the history of the run's requests; `None` if the report has none.
    pub fn history(&self) -> Option<&str> {
        self.report["digest"].as_str()
    }
}

impl RunResult {
    /// How `result` ended; none for a run that was broken off.
    pub fn of(result: Result<Measured, NotMeasured>) -> Option<RunResult> {
        match result {
            Ok(Measured { read_only: Some(why), report, .. }) if report.all().errors > 0 => {
                Some(RunResult::Failed(format!("the drive became read-only and refused writes: {why}")))
            }
            Ok(measured) => Some(match measured.report.unmeasured() {
                Some(why) => RunResult::Failed(why.into()),
                None => RunResult::Outcome(Box::new(Outcome::of(&measured))),
            }),
            Err(NotMeasured::Interrupted) => None,
            Err(NotMeasured::Input { error, .. }) => Some(RunResult::Failed(error.in_full())),
            Err(NotMeasured::Failed { error, .. }) => Some(RunResult::Failed(error.to_string())),
            Err(NotMeasured::Broken { why, .. }) => Some(RunResult::Failed(why)),
        }
    }

    /// The outcome of the run; `None` if it failed.
    pub fn outcome(&self) -> Option<&Outcome> {
        match self {
            RunResult::Outcome(outcome) => Some(outcome),
            RunResult::Failed(_) => None,
        }
    }

    /// Why the run failed; `None` if it has an outcome.
    pub fn error(&self) -> Option<&str> {
        match self {
            RunResult::Outcome(_) => None,
            RunResult::Failed(why) => Some(why),
        }
    }
}

fn finer(curve: &LatencyHistogram) -> Vec<FinePercentile> {
    let slower = |percentile: f64| curve.count() as f64 * (100.0 - percentile) / 100.0;
    let point = |&percentile: &f64| FinePercentile {
        percentile,
        ns: curve.percentile(percentile).0,
        // As in a report, with forgiveness for the rounding of 1 - 0.999999.
        resolved: slower(percentile) >= RESOLUTION - 1e-6,
    };
    FINER.iter().map(point).collect()
}

/// How many requests must be slower than a percentile for it to mean something.
pub const RESOLUTION: f64 = 10.0;
