//! Loads for arrays: the traces at hand, or published workloads where there are none.

use super::Options;
use super::evaluation::traces;
use std::path::{Path, PathBuf};
use tailcut_base::config::Choice;
use tailcut_base::{Nanos, Op, Time};
use tailcut_sim::Scenario;
use tailcut_sim::scenario::ReplayTiming;
use tailcut_sim::world::Limits;
use tailcut_workload::Source;
use tailcut_workload::config::PaceKind;
use tailcut_workload::datacenter::{DatacenterConfig, Workload};
use tailcut_workload::trace::{self, Replay, ReplayOptions};

/// Where the requests come from.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Load {
    /// A recorded trace.
    Trace {
        /// Its file.
        file: PathBuf,
        /// Requests in it.
        requests: u64,
        /// From the first to the last.
        duration: Nanos,
        /// The most requests per second in any hundredth of them.
        peak: f64,
    },
    /// A workload that is generated from what is published of it (Sprinkler, table 1).
    Generated(Workload),
}

/// The traces at hand that read and write; without any, three generated workloads.
pub(crate) fn loads(options: &Options) -> Vec<Load> {
    let files = options.traces.iter().flat_map(|folder| traces(folder));
    let recorded: Vec<Load> = files.filter_map(|file| recorded(&file)).collect();
    if !recorded.is_empty() {
        return recorded;
    }
    GENERATED.map(Load::Generated).to_vec()
}

/// Workloads of Sprinkler's table 1 that both read and write.
const GENERATED: [Workload; 3] = [Workload::Cfs0, Workload::Hm0, Workload::Msnfs1];

/// A trace in which reads and writes are at least a twentieth each, and a thousand.
fn recorded(file: &Path) -> Option<Load> {
    let options = trace::Options { format: None, skip_bad_lines: false };
    let mut replay = Replay::open(file, &options, ReplayOptions::new(1 << 30)).ok()?;
    let duration = Nanos(replay.last_due()?.0);
    let (mut reads, mut writes, mut due) = (0u64, 0u64, Vec::new());
    while let Some(request) = replay.next() {
        reads += u64::from(request.op == Op::Read);
        writes += u64::from(request.op == Op::Write);
        due.push(request.due);
    }
    let requests = reads + writes;
    let least = (requests / 20).max(1000);
    let peak = peak(&due);
    (reads >= least && writes >= least).then(|| Load::Trace {
        file: file.to_path_buf(),
        requests,
        duration,
        peak,
    })
}

/// Requests per second in the busiest hundredth of a trace; rounded down by less than a microsecond, as
/// fine as most traces are recorded.
fn peak(due: &[Time]) -> f64 {
    let window = (due.len() / 100).max(1);
    let shortest = due.windows(window + 1).map(|w| w[window].since(w[0])).min().unwrap_or(Nanos::ZERO);
    window as f64 / shortest.max(Nanos::micros(1)).as_secs_f64()
}

impl Load {
    /// Its name in rows and labels.
    pub(crate) fn name(&self) -> String {
        match self {
            Load::Trace { file, .. } => {
                let name = file.file_name().unwrap_or_default().to_string_lossy();
                name.split('.').next().unwrap_or_default().replace(char::is_whitespace, "-")
            }
            Load::Generated(workload) => workload.name().to_string(),
        }
    }

    /// As many requests at a time as keep the array busy. Every array serves the same requests, whole passes
    /// of a trace, so that their bytes per second can be compared: some parts of a trace move far more bytes
    /// than others.
    pub(crate) fn saturate(&self, options: &Options, scenario: &mut Scenario) {
        let least = if options.quick { SATURATING / 10 } else { SATURATING };
        scenario.run = Limits::NONE;
        match self {
            Load::Trace { file, requests, .. } => {
                Load::replay(scenario, file, least.div_ceil(*requests) as u32);
                scenario.trace.timing = ReplayTiming::Closed;
                scenario.trace.depth = SATURATED;
            }
            Load::Generated(workload) => {
                let (pace, depth, region_share) = (PaceKind::Closed, SATURATED, 1_000_000);
                let (workload, requests) = (*workload, least);
                scenario.datacenter =
                    DatacenterConfig { workload, requests, pace, depth, rate: 1, region_share };
            }
        }
    }

    /// At most `rate` requests per second: a trace keeps the rhythm that it was recorded with, and its
    /// busiest hundredth comes at that rate; a generated workload comes at random moments.
    pub(crate) fn carry(&self, options: &Options, scenario: &mut Scenario, rate: f64) {
        let measured: u64 = if options.quick { 40_000 } else { 1_500_000 };
        let mean = match self {
            Load::Trace { requests, duration, peak, .. } => {
                rate * *requests as f64 / duration.as_secs_f64() / peak
            }
            Load::Generated(_) => rate,
        };
        // Rounded down to a nanosecond.
        let ramp = RAMP;
        let duration = ramp + Nanos((measured as f64 / mean * 1e9) as u64);
        let requests = (duration.as_secs_f64() * mean) as u64 + 1;
        scenario.run = Limits { ramp, duration, ..Limits::NONE };
        match self {
            Load::Trace { file, peak, requests: recorded, .. } => {
                Load::replay(scenario, file, requests.div_ceil(*recorded).saturating_add(1) as u32);
                // Rounded to a millionth of the recorded times.
                scenario.trace.stretch_ppm = (peak / rate * 1e6).round().max(1.0) as u64;
                scenario.trace.timing = ReplayTiming::Recorded;
            }
            Load::Generated(workload) => {
                let (pace, depth, region_share) = (PaceKind::Open, 1 << 16, 1_000_000);
                let (workload, rate) = (*workload, (rate as u64).max(1));
                scenario.datacenter =
                    DatacenterConfig { workload, requests, pace, depth, rate, region_share };
            }
        }
    }

    fn replay(scenario: &mut Scenario, file: &Path, times: u32) {
        scenario.trace.file = file.to_string_lossy().into_owned();
        scenario.trace.times = times;
        scenario.trace.depth = 4096;
    }
}

/// How long a load runs before anything counts: until the buffers are full, and every drive has had
/// several turns of collecting. Before that an array takes more than it can keep up.
const RAMP: Nanos = Nanos::secs(1);

/// The fewest requests that saturate an array: some seconds of them.
const SATURATING: u64 = 600_000;

/// Requests at a time that keep four drives of 64 chips busy.
const SATURATED: u32 = 256;
