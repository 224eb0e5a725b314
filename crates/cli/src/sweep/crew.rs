//! Runs points on all cores.

use super::outcome::Ended;
use super::point::Point;
use super::records::Records;
use crate::failure::Failure;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;
use tailcut_sim::study::{self, Run};

/// How far a sweep is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Runs that have ended, now or earlier.
    pub done: u64,
    /// All runs.
    pub all: u64,
}

/// As many threads as there are jobs. What they find does not depend on how many they are.
pub struct Crew<'c> {
    jobs: usize,
    /// Is asked now and then whether to stop.
    is_over: &'c (dyn Fn() -> bool + Sync),
}

impl<'c> Crew<'c> {
    /// A crew of `jobs`; one for each core where that is left open.
    pub fn new(jobs: Option<usize>, is_over: &'c (dyn Fn() -> bool + Sync)) -> Crew<'c> {
        let cores = || thread::available_parallelism().map_or(1, usize::from);
        Crew { jobs: jobs.unwrap_or_else(cores).max(1), is_over }
    }

    /// Runs the points that are not in `records` yet, and keeps each there as soon as it is
    /// finished. Returns when all are, or when somebody asked to stop; what is finished by then is kept.
    /// `tell` hears how far it is, a few times a second.
    ///
    /// # Errors
    /// Records that cannot be written.
    pub fn run(
        &self,
        points: &[&Point],
        records: &mut Records,
        tell: &mut dyn FnMut(Progress),
    ) -> Result<(), Failure> {
        let open: Vec<&Point> = points.iter().copied().filter(|point| !records.has(&point.digest)).collect();
        let all = points.len() as u64;
        let mut progress = Progress { done: all - open.len() as u64, all };
        tell(progress);
        let (next, lost) = (AtomicUsize::new(0), AtomicBool::new(false));
        let is_over = || (self.is_over)() || lost.load(Ordering::Relaxed);
        let (found, results) = mpsc::channel::<(usize, Ended)>();
        let mut kept = Ok(());
        thread::scope(|scope| {
            for _ in 0..self.jobs.min(open.len()) {
                let (found, next, is_over, open) = (found.clone(), &next, &is_over, &open);
                scope.spawn(move || {
                    while !is_over() {
                        let index = next.fetch_add(1, Ordering::Relaxed);
                        let Some(point) = open.get(index) else { return };
                        if let Some(ended) = run(point, is_over) {
                            // The receiver lives as long as the scope.
                            let _ = found.send((index, ended));
                        }
                    }
                });
            }
            drop(found);
            loop {
                match results.recv_timeout(TICK) {
                    Ok((index, ended)) => {
                        progress.done += 1;
                        kept = std::mem::replace(&mut kept, Ok(()))
                            .and_then(|()| records.keep(&open[index].digest, ended));
                        lost.store(kept.is_err(), Ordering::Relaxed);
                    }
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => return,
                }
                tell(progress);
            }
        });
        Ok(kept?)
    }
}

/// Runs one point; none when somebody asked to stop.
fn run(point: &Point, is_over: &dyn Fn() -> bool) -> Option<Ended> {
    let run = Run { label: point.digest.clone(), scenario: point.scenario.clone() };
    Ended::of(study::measure(&run, is_over))
}

/// How often the progress is looked at.
const TICK: Duration = Duration::from_millis(200);
