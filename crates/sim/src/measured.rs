//! A scenario run to its end, and what was measured.

use crate::Scenario;
use crate::ending::{RunFailed, run_to_end};
use crate::report::{KindReport, Report};
use crate::scenario::InputError;
use crate::storage::HostFigures;
use crate::storage::KvFigures;
use crate::storage::Storage;
use crate::with_world;
use crate::world::{Round, World};
use std::ops::ControlFlow;
use tailcut_base::config::Choice;
use tailcut_base::histogram::LatencyHistogram;
use tailcut_base::{Nanos, Op};
use tailcut_host::Fingerprint;
use tailcut_host::array::Array;
use tailcut_host::array::log::LogFigures;
use tailcut_host::array::token_scheduling::EpochFigures;
use tailcut_ssd::Figures;

/// A scenario to run, with a name.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// Its name among the runs of a study or sweep: no blanks, independent of the options.
    pub label: String,
    /// All of it: running it alone gives the same figures.
    pub scenario: Scenario,
}

/// The results of a run that has ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// Label of the run: [`Run::label`].
    pub label: String,
    /// Throughput, latencies and waits by kind of request; resources and their limits; digest.
    pub report: Report,
    /// The counters of the drive during the measurement; of an array, those of its first drive.
    pub figures: Figures,
    /// The counters of each drive during the measurement.
    pub drives: Vec<Figures>,
    /// Latencies of all requests in the measurement that succeeded.
    pub all: LatencyHistogram,
    /// Latencies of the reads in the measurement.
    pub reads: LatencyHistogram,
    /// Latencies of the writes in the measurement.
    pub writes: LatencyHistogram,
    /// What its array did, if it writes a log; with what it did during preparation.
    pub log: Option<LogFigures>,
    /// What its array did, if it has epochs; with what it did during preparation.
    pub epochs: Option<EpochFigures>,
    /// The share of its drives' space that the host can use.
    pub usable: f64,
    /// What the host did in the measurement; `None` unless one is modelled.
    pub host: Option<HostFigures>,
    /// What its key-value server did, if there is one.
    pub kv: Option<KvFigures>,
    /// The counts of each round of the scenario.
    pub rounds: Vec<Round>,
    /// Time during which a request waited outside the drive because every tag was taken.
    pub queue_stall: Nanos,
    /// Why its drive takes no writes any more, if it became read-only.
    pub read_only: Option<String>,
}

/// Why a run has no result.
#[derive(Debug, thiserror::Error)]
pub enum NotMeasured {
    /// The scenario cannot run.
    #[error("run '{label}' cannot start: {error}")]
    Input {
        /// The run.
        label: String,
        /// Why.
        error: InputError,
    },
    /// It went wrong on the way.
    #[error("run '{label}' has no result: {error}")]
    Failed {
        /// The run.
        label: String,
        /// Why.
        error: RunFailed,
    },
    /// Its requests broke off.
    #[error("run '{label}' has no result: {why}")]
    Broken {
        /// The run.
        label: String,
        /// Why.
        why: String,
    },
    /// The user asked to stop.
    #[error("interrupted")]
    Interrupted,
}

/// Runs one scenario. The run ends early once `is_over` returns true; it is called whenever 8192 more
/// requests have completed.
///
/// # Errors
/// See [`NotMeasured`].
pub fn measure(run: &Run, is_over: &dyn Fn() -> bool) -> Result<Measured, NotMeasured> {
    let label = || run.label.clone();
    let scenario = &run.scenario;
    let input = |error| NotMeasured::Input { label: label(), error };
    let world = scenario.any_world(|| (), false).map_err(input)?;
    with_world!(world, world => measure_world(run, world, is_over))
}

fn measure_world<S: Storage>(
    run: &Run,
    mut world: World<S>,
    is_over: &dyn Fn() -> bool,
) -> Result<Measured, NotMeasured> {
    let label = || run.label.clone();
    let scenario = &run.scenario;
    let mut watch = |_: &_| if is_over() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
    let ending = run_to_end(&mut world, scenario.horizon(), &mut watch);
    let ending = ending.map_err(|error| NotMeasured::Failed { label: label(), error })?;
    if ending.cut_short && is_over() {
        return Err(NotMeasured::Interrupted);
    }
    let beyond = || format!("its clock goes no further than {}", scenario.horizon());
    let broken = world.sources().find_map(|source| source.failure());
    if let Some(why) = broken.or_else(|| ending.cut_short.then(beyond)) {
        return Err(NotMeasured::Broken { label: label(), why });
    }
    let drives = ending.figures();
    let report = Report::new(scenario, &world, &drives, false);
    let figures = drives[0].clone();
    Ok(Measured {
        label: label(),
        report,
        figures,
        drives,
        all: world.stats.all().latency.clone(),
        reads: world.stats.op(Op::Read).latency.clone(),
        writes: world.stats.op(Op::Write).latency.clone(),
        log: world.device.array().and_then(|array| array.log_figures()),
        epochs: world.device.array().and_then(|array| array.epoch_figures()),
        usable: world.device.array().map_or(1.0, usable),
        host: world.device.host_figures(),
        kv: world.device.kv_figures(),
        rounds: world.rounds.finished().to_vec(),
        queue_stall: world.stats.queue_stall,
        read_only: world.device.read_only().map(|why| why.to_string()),
    })
}

fn usable(array: &Array<Fingerprint>) -> f64 {
    let drives = &array.core().drives;
    let all: u64 = drives.ids().map(|drive| drives.disk(drive).blocks).sum();
    array.disk().blocks as f64 / all as f64
}

/// The run of `done` with the label `label`.
///
/// # Panics
/// If there is no such run: a study asks only for what it has run.
pub fn find<'m>(done: &'m [Measured], label: &str) -> &'m Measured {
    done.iter().find(|measured| measured.label == label).unwrap_or_else(|| panic!("'{label}' was measured"))
}

impl Measured {
    /// The latency in ns that `percentile` per cent of the reads did not exceed; `None` if fewer than one
    /// read was slower.
    pub fn read_percentile_ns(&self, percentile: f64) -> Option<f64> {
        self.reads.resolved_percentile(percentile).map(|latency| latency.0 as f64)
    }

    /// The latency in seconds that `percentile` (0 … 100) per cent of the reads did not exceed; see
    /// [`Measured::read_percentile_ns`].
    pub fn read_percentile(&self, percentile: f64) -> Option<f64> {
        self.read_percentile_ns(percentile).map(|ns| ns / 1e9)
    }

    /// A percentile of the reads over that of another run; `None` if one of them is not resolved.
    pub fn read_percentile_over(&self, other: &Measured, percentile: f64) -> Option<f64> {
        Some(self.read_percentile_ns(percentile)? / other.read_percentile_ns(percentile)?)
    }

    /// Number of requests in the measurement that succeeded.
    pub fn requests(&self) -> u64 {
        self.report.all().requests
    }

    /// Number of requests in the measurement that did not succeed.
    pub fn errors(&self) -> u64 {
        self.report.all().errors
    }

    /// Length of the measurement in seconds.
    pub fn seconds(&self) -> f64 {
        self.report.seconds()
    }

    /// Requests of all kinds per second of the measurement.
    pub fn iops(&self) -> f64 {
        self.report.all().requests_per_s
    }

    /// Bytes that all requests moved per second of the measurement.
    pub fn bandwidth(&self) -> f64 {
        self.report.all().bytes_per_s
    }

    /// Mean latency of all requests in ns.
    pub fn mean_latency_ns(&self) -> f64 {
        self.report.all().latency.mean_ns
    }

    /// The latency in ns that `percentile` per cent of the requests did not exceed, for one of
    /// [`PERCENTILES`](crate::report::PERCENTILES).
    ///
    /// # Panics
    /// If `percentile` is not one of [`PERCENTILES`](crate::report::PERCENTILES).
    pub fn percentile_ns(&self, percentile: f64) -> u64 {
        let points = &self.report.all().latency.points;
        let found = points.iter().find(|point| point.percentile == percentile);
        found.unwrap_or_else(|| panic!("{percentile} is no percentile of reports")).ns
    }

    /// The requests of one kind, if there were any.
    pub fn kind(&self, op: Op) -> Option<&KindReport> {
        self.report.kinds.iter().skip(1).find(|kind| kind.kind == op.name())
    }

    /// The most requests per second of this mix that the hardware allows.
    pub fn iops_limit(&self) -> Option<f64> {
        self.report.bottleneck().map(|resource| resource.requests_per_s)
    }

    /// The most bytes per second of this mix that the hardware allows.
    pub fn bandwidth_limit(&self) -> Option<f64> {
        self.iops_limit().filter(|_| self.iops() > 0.0).map(|limit| limit * self.bandwidth() / self.iops())
    }
}
