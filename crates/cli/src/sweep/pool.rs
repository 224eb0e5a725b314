//! Runs points on all cores.

use super::outcome::RunResult;
use super::point::Point;
use super::records::Records;
use crate::failure::Failure;
use crate::failure::OutputError;
use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;
use tailcut_sim::measured::{self, Run};

/// How far a sweep is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Runs that have ended, now or earlier.
    pub done: u64,
    /// All runs.
    pub all: u64,
}

/// As many threads as there are jobs. What they find does not depend on how many they are.
pub struct ThreadPool<'c> {
    jobs: usize,
    /// Is asked now and then whether to stop.
    is_over: &'c (dyn Fn() -> bool + Sync),
}

impl<'c> ThreadPool<'c> {
    /// A pool of `jobs`; one for each core where that is left open.
    pub fn new(jobs: Option<usize>, is_over: &'c (dyn Fn() -> bool + Sync)) -> ThreadPool<'c> {
        let cores = || thread::available_parallelism().map_or(1, usize::from);
        ThreadPool { jobs: jobs.unwrap_or_else(cores).max(1), is_over }
    }

    /// Runs the points that are not in `records` yet, and records each as soon as it is finished. Returns
    /// when all are finished, or when the user asked to stop; points finished by then are recorded. `tell`
    /// is called with the progress a few times a second.
    ///
    /// # Errors
    /// Records that cannot be written.
    pub fn run(
        &self,
        points: &[&Point],
        records: &mut Records,
        tell: &mut dyn FnMut(Progress),
    ) -> Result<(), Failure> {
        let open = open(points, records);
        let all = points.len() as u64;
        let mut progress = Progress { done: all - open.len() as u64, all };
        tell(progress);
        let queue =
            Queue { open: &open, next: AtomicUsize::new(0), lost: AtomicBool::new(false), pool: self };
        let (found, results) = mpsc::channel();
        let mut keep = |index: usize, ended| records.keep(&open[index].digest, ended);
        let kept = thread::scope(|scope| {
            for _ in 0..self.jobs.min(open.len()) {
                let found = found.clone();
                let queue = &queue;
                scope.spawn(move || queue.work(&found));
            }
            drop(found);
            collect(&results, &mut keep, &mut progress, tell).inspect_err(|_| queue.lose())
        });
        Ok(kept?)
    }
}

/// The points that are not in `records` yet, each once: different settings may come to the same scenario.
pub fn open<'p>(points: &[&'p Point], records: &Records) -> Vec<&'p Point> {
    let mut seen = HashSet::new();
    let mut open: Vec<&Point> = points.to_vec();
    open.retain(|&point| !records.has(&point.digest) && seen.insert(&point.digest));
    open
}

/// The points that are still to be run.
struct Queue<'q> {
    open: &'q [&'q Point],
    next: AtomicUsize,
    /// Results cannot be kept any more.
    lost: AtomicBool,
    pool: &'q ThreadPool<'q>,
}

impl Queue<'_> {
    fn is_finished(&self) -> bool {
        (self.pool.is_over)() || self.lost.load(Ordering::Relaxed)
    }

    fn lose(&self) {
        self.lost.store(true, Ordering::Relaxed);
    }

    /// The work of each thread: one point after another, until there are no more.
    fn work(&self, found: &Sender<(usize, RunResult)>) {
        while !self.is_finished() {
            let index = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(point) = self.open.get(index) else { return };
            if let Some(ended) = run(point, &|| self.is_finished()) {
                // The collector exits early only when results cannot be recorded.
                let _ = found.send((index, ended));
            }
        }
    }
}

/// Records results until all threads have ended, and reports progress.
fn collect(
    results: &Receiver<(usize, RunResult)>,
    keep: &mut dyn FnMut(usize, RunResult) -> Result<(), OutputError>,
    progress: &mut Progress,
    tell: &mut dyn FnMut(Progress),
) -> Result<(), OutputError> {
    loop {
        match results.recv_timeout(TICK) {
            Ok((index, ended)) => {
                keep(index, ended)?;
                progress.done += 1;
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
        }
        tell(*progress);
    }
}

/// Runs one point; `None` when the user asked to stop.
pub(super) fn run(point: &Point, is_over: &dyn Fn() -> bool) -> Option<RunResult> {
    let run = Run { label: point.digest.clone(), scenario: point.scenario.clone() };
    RunResult::of(measured::measure(&run, is_over))
}

/// How often the progress is looked at.
const TICK: Duration = Duration::from_millis(200);
