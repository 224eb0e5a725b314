//! One run, from a scenario to a report.

use super::Scenario;
use super::arguments::RunOptions;
use super::lanes::{Lane, LatestWork, SlowLanes};
use super::requests::MOST;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::terminal::{Progress, Waiting};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;
use tailcut_base::{Nanos, Time};
use tailcut_sim::Report;
use tailcut_sim::Storage;
use tailcut_sim::ending::{Ends, RunFailed, run_to_end_observed};
use tailcut_sim::report::Detail;
use tailcut_sim::request_log::RequestLog;
use tailcut_sim::scenario::{AnyWorld, InputError, WorldKind};
use tailcut_sim::timeline::{Devices, Requests, Timeline};
use tailcut_sim::with_world;
use tailcut_sim::world::{self, Observer, RunError, Stats, World};
use tailcut_ssd::Probe;
use tailcut_workload::Problem;

/// A run with results.
pub struct Simulated {
    /// The report of the run.
    pub report: Report,
    /// Fine curves, bands of latency and the timeline, for charts.
    pub detail: Detail,
    /// All statistics of the measured requests.
    pub stats: Stats,
    /// The requests of the measurement; `None` unless they were to be kept.
    pub columns: Option<RequestLog>,
    /// How the run ended: as the scenario specifies, or why not.
    pub ending: Ending,
    /// What chips did while the slowest requests waited, by their numbers; empty unless that was recorded.
    lanes: BTreeMap<u64, Vec<Lane>>,
}

impl Simulated {
    /// What the chips of one of the slowest requests did while it waited; empty where that is not known.
    pub(super) fn lanes(&self, number: u64) -> &[Lane] {
        self.lanes.get(&number).map_or(&[], Vec::as_slice)
    }
}

/// How a run with results ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The run ended as the scenario specifies.
    Complete,
    /// The user stopped the run.
    Interrupted,
    /// The stream of requests broke off; why.
    Broken(String),
    /// The drive refused writes; why.
    ReadOnly(String),
    /// Nothing was measured; why.
    Unmeasured(String),
}

impl Ending {
    /// The failure to report after the results, if any.
    pub fn failure(&self) -> Option<Failure> {
        match self {
            Ending::Complete => None,
            Ending::Interrupted => Some(Failure::Interrupted),
            Ending::Broken(why) => Some(Failure::Input(why.clone())),
            Ending::ReadOnly(why) => {
                Some(Failure::Operation(format!("the drive became read-only and refused writes: {why}")))
            }
            Ending::Unmeasured(why) => Some(Failure::Operation(why.clone())),
        }
    }
}

/// Why a run has no results.
pub enum NotRun {
    /// The workload cannot be run.
    Input(InputError),
    /// The run failed.
    Failed(Failure),
}

impl From<InputError> for NotRun {
    fn from(error: InputError) -> NotRun {
        NotRun::Input(error)
    }
}

impl From<Failure> for NotRun {
    fn from(failure: Failure) -> NotRun {
        NotRun::Failed(failure)
    }
}

/// What is recorded of a run beside its report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Keep {
    /// Whether statistics over time are recorded.
    pub timeline: bool,
    /// Maximum number of requests that are recorded one by one; `None` for none.
    pub requests: Option<usize>,
}

/// Runs a scenario to its end or until it is interrupted; records it over time if that is asked for.
///
/// # Errors
/// A workload that cannot be read or does not fit the drive, or a run that fails.
pub fn simulate(
    scenario: &Scenario,
    options: &RunOptions,
    interrupt: &Interrupt,
) -> Result<Simulated, NotRun> {
    let keep = Keep { timeline: options.is_recorded(), requests: options.requests.is_some().then_some(MOST) };
    let mut progress = Progress::new("run", None, options.quiet);
    simulate_and_keep(scenario, options, keep, interrupt, &mut |done, all, now| {
        progress.expect(all);
        progress.update(done, now);
    })
}

/// As [`simulate`], for programs: records what `keep` selects, and calls back now and then with the number
/// of requests done, their total if known, and the simulated time. Only the options that affect how the run
/// is done count.
///
/// # Errors
/// A workload that cannot be read or does not fit the drive, or a run that fails.
pub fn simulate_and_keep(
    scenario: &Scenario,
    options: &RunOptions,
    keep: Keep,
    interrupt: &Interrupt,
    tell: &mut dyn FnMut(u64, Option<u64>, Time),
) -> Result<Simulated, NotRun> {
    let (skip, quiet) = (options.skip_bad_lines, options.quiet);
    if keep.timeline && scenario.world_kind() == WorldKind::Drive {
        let latest = LatestWork::default();
        let waiting = waiting(scenario, quiet);
        let world = scenario.world(latest.clone(), skip)?;
        drop(waiting);
        let mut slow = SlowLanes::new(latest);
        let mut simulated = simulate_world(scenario, world, keep, interrupt, tell, &mut slow)?;
        simulated.lanes = slow.by_number();
        return Ok(simulated);
    }
    let world = prepare(scenario, || (), skip, quiet)?;
    with_world!(world, world => simulate_world(scenario, world, keep, interrupt, tell, &mut ()))
}

fn simulate_world<S: Storage, O: Observer<S> + Default>(
    scenario: &Scenario,
    mut world: World<S>,
    keep: Keep,
    interrupt: &Interrupt,
    tell: &mut dyn FnMut(u64, Option<u64>, Time),
    beside: &mut O,
) -> Result<Simulated, NotRun> {
    let timeline = keep.timeline.then(|| (Requests::new(), Devices::new()));
    let mut observer = ((timeline, keep.requests.map(RequestLog::new)), std::mem::take(beside));
    let ends = drive_observed(&mut world, scenario, interrupt, tell, &mut observer)
        .map_err(|error| not_run(scenario, error))?;
    let ((timeline, columns), seen) = observer;
    *beside = seen;
    let mut simulated = conclude(scenario, world, &ends, ends.cut_short && interrupt.asked());
    simulated.columns = columns;
    simulated.detail.timeline = timeline.map(|(requests, devices)| Timeline::new(requests, &devices));
    if ends.cut_short && !interrupt.asked() {
        let note = format!("the run was ended at {}, as far as its clock goes", scenario.horizon());
        simulated.report.notes.push(note);
    }
    Ok(simulated)
}

/// The scenario's world, ready to run, with a message on the terminal where that takes a while; every drive
/// is watched by a probe of its own.
///
/// # Errors
/// A workload that cannot be read, or that does not fit the drive.
pub fn prepare<P: Probe>(
    scenario: &Scenario,
    probe: impl Fn() -> P,
    skip_bad_lines: bool,
    quiet: bool,
) -> Result<AnyWorld<P>, InputError> {
    let _waiting = waiting(scenario, quiet);
    scenario.any_world(probe, skip_bad_lines)
}

/// The message while a world is prepared, where that takes a while.
fn waiting(scenario: &Scenario, quiet: bool) -> Waiting {
    let is_large = scenario.device.geometry.page_count() > LARGE_PAGES;
    match scenario.world_kind() {
        WorldKind::Server => Waiting::new("loading the server", quiet),
        WorldKind::Host => Waiting::new("preparing the drives", quiet),
        WorldKind::Array => Waiting::new("preparing the array", quiet),
        WorldKind::Drive if is_large => Waiting::new("preparing the drive", quiet),
        WorldKind::Drive => {
            Waiting::for_file(Path::new(&scenario.trace.file), "looking through the trace", quiet)
        }
    }
}

/// Runs a world with a progress bar and an observer; the user may interrupt it.
///
/// # Errors
/// [`Failure::Operation`] if the run cannot end or has no result; see [`RunFailed`].
pub fn drive<S: Storage>(
    world: &mut World<S>,
    scenario: &Scenario,
    quiet: bool,
    interrupt: &Interrupt,
    observer: &mut impl Observer<S>,
) -> Result<Ends, Failure> {
    let mut progress = Progress::new("run", None, quiet);
    let mut tell = |done, all, now| {
        progress.expect(all);
        progress.update(done, now);
    };
    drive_observed(world, scenario, interrupt, &mut tell, observer).map_err(failed)
}

/// As [`drive`], with a progress callback.
fn drive_observed<S: Storage>(
    world: &mut World<S>,
    scenario: &Scenario,
    interrupt: &Interrupt,
    tell: &mut dyn FnMut(u64, Option<u64>, Time),
    observer: &mut impl Observer<S>,
) -> Result<Ends, RunFailed> {
    let mut watch = |at: &world::Progress| {
        tell(at.completed, expected(at), at.now);
        if interrupt.asked() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    run_to_end_observed(world, scenario.horizon(), &mut watch, observer)
}

/// How many requests a run will have: known, or estimated from its end in virtual time.
fn expected(at: &world::Progress) -> Option<u64> {
    let share = at.until.map(|until| at.now.0 as f64 / until.0.max(1) as f64);
    let estimate = share.filter(|share| *share > 0.01).map(|share| (at.completed as f64 / share) as u64);
    at.expected.into_iter().chain(estimate).min()
}

/// Why a run has no results: a device condition, or requests that cannot be.
pub fn failed(failed: RunFailed) -> Failure {
    match failed.error {
        RunError::Stuck { .. } | RunError::NoTimePasses { .. } => Failure::Operation(failed.to_string()),
        RunError::NoRequests | RunError::TimeRanBackwards { .. } => Failure::Input(failed.to_string()),
    }
}

/// As [`failed`], with the key to blame where a synthetic workload ends before its first request.
fn not_run(scenario: &Scenario, error: RunFailed) -> NotRun {
    let runtime = scenario.workload.runtime;
    if error.error == RunError::NoRequests && scenario.is_synthetic() && runtime > Nanos::ZERO {
        let message = format!("the workload ends after {runtime}, before its first request is due: raise it");
        return NotRun::Input(InputError::Workload(vec![Problem { key: "runtime", message }]));
    }
    NotRun::Failed(failed(error))
}

fn conclude<S: Storage>(scenario: &Scenario, world: World<S>, ends: &Ends, interrupted: bool) -> Simulated {
    let report = Report::new(scenario, &world, &ends.figures(), interrupted);
    let broken = world.sources().find_map(|source| source.failure());
    let ending = match (interrupted, broken, world.device.read_only()) {
        (true, _, _) => Ending::Interrupted,
        (_, Some(why), _) => Ending::Broken(why),
        (_, _, Some(why)) if report.all().errors > 0 => Ending::ReadOnly(why.to_string()),
        _ => report.unmeasured.clone().map_or(Ending::Complete, Ending::Unmeasured),
    };
    let detail = Detail::new(&world.stats);
    Simulated { report, detail, stats: world.stats, columns: None, ending, lanes: BTreeMap::new() }
}

/// A drive with this number of pages takes more than a second to prepare.
const LARGE_PAGES: u64 = 1 << 25;
