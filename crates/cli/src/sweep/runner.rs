//! Runs points on all cores.

use super::outcome::RunResult;
use super::point::Point;
use super::records::Records;
use crate::failure::{Failure, OutputError};
use crate::pool::{Event, ThreadPool};
use std::collections::HashSet;
use std::ops::ControlFlow;
use tailcut_sim::measured::{self, Run};

/// How far a sweep is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Number of runs that have ended, now or in an earlier sweep.
    pub done: u64,
    /// Number of runs of the sweep, ended or not.
    pub all: u64,
}

/// Runs the points that are not in `records` yet, and records each as soon as it is finished. Returns when
/// all are finished, or when the pool is to stop; points finished by then are recorded. `tell` is called with
/// the progress a few times a second.
///
/// # Errors
/// Records that cannot be written.
pub fn run_all(
    points: &[&Point],
    pool: &ThreadPool<'_>,
    records: &mut Records,
    tell: &mut dyn FnMut(Progress),
) -> Result<(), Failure> {
    let open = open(points, records);
    let all = points.len() as u64;
    let mut progress = Progress { done: all - open.len() as u64, all };
    tell(progress);
    let mut kept: Result<(), OutputError> = Ok(());
    pool.each(&open, |point, is_over| run(point, is_over), &mut |event| {
        if let (Event::Result(index, Some(result)), true) = (event, kept.is_ok()) {
            kept = records.keep(&open[index].digest, result);
            progress.done += u64::from(kept.is_ok());
        }
        tell(progress);
        if kept.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    Ok(kept?)
}

/// The points that are not in `records` yet, each once: different settings may come to the same scenario.
pub fn open<'p>(points: &[&'p Point], records: &Records) -> Vec<&'p Point> {
    let mut seen = HashSet::new();
    let mut open: Vec<&Point> = points.to_vec();
    open.retain(|&point| !records.has(&point.digest) && seen.insert(&point.digest));
    open
}

/// Runs one point; `None` when the user asked to stop.
pub(super) fn run(point: &Point, is_over: &dyn Fn() -> bool) -> Option<RunResult> {
    let run = Run { label: point.digest.clone(), scenario: point.scenario.clone() };
    RunResult::of(measured::measure(&run, is_over))
}
