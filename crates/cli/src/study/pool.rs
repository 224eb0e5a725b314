//! Runs the scenarios of a study on all cores.

use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::run::failed;
use crate::terminal::Progress;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;
use tailcut_sim::measured::{Measured, NotMeasured, Run, measure};
use tailcut_study::{Options, Study};

/// As many threads as there are jobs. What they find does not depend on how many they are.
pub struct ThreadPool<'i> {
    jobs: usize,
    quiet: bool,
    interrupt: &'i Interrupt,
}

/// The result of the run of that number.
type Found = (usize, Result<Measured, NotMeasured>);

impl ThreadPool<'_> {
    /// A pool of `jobs`; one for each core where that is left open.
    pub fn new(jobs: Option<usize>, quiet: bool, interrupt: &Interrupt) -> ThreadPool<'_> {
        let cores = || thread::available_parallelism().map_or(1, usize::from);
        ThreadPool { jobs: jobs.unwrap_or_else(cores), quiet, interrupt }
    }

    /// Everything that a study needs, in the order in which it asked.
    pub fn measure(&self, study: &dyn Study, options: &Options) -> Result<Vec<Measured>, Failure> {
        self.measure_until(study, options, &mut |_| false)
    }

    /// As [`ThreadPool::measure`], up to the runs at which `enough` returns true; these are not measured.
    pub fn measure_until(
        &self,
        study: &dyn Study,
        options: &Options,
        enough: &mut dyn FnMut(&[Run]) -> bool,
    ) -> Result<Vec<Measured>, Failure> {
        let mut progress = Progress::counting("runs", study.id(), None, self.quiet);
        self.measure_telling(study, options, enough, &mut |done, all| {
            progress.expect(Some(all));
            progress.count(done);
        })
    }

    /// As [`ThreadPool::measure_until`]; `tell` is called a few times a second with the number of runs done
    /// and the number known so far.
    pub fn measure_telling(
        &self,
        study: &dyn Study,
        options: &Options,
        enough: &mut dyn FnMut(&[Run]) -> bool,
        tell: &mut dyn FnMut(u64, u64),
    ) -> Result<Vec<Measured>, Failure> {
        let mut done: Vec<Measured> = Vec::new();
        loop {
            let runs = study.next(options, &done);
            if runs.is_empty() || enough(&runs) {
                return Ok(done);
            }
            let (before, all) = (done.len() as u64, (done.len() + runs.len()) as u64);
            let batch = self.batch(&runs, &mut |count| tell(before + count as u64, all))?;
            done.extend(batch);
        }
    }

    /// The results of `runs` in their order; the first failure in that order where there is one.
    fn batch(&self, runs: &[Run], tell: &mut dyn FnMut(usize)) -> Result<Vec<Measured>, Failure> {
        let (next, gone_wrong) = (AtomicUsize::new(0), AtomicBool::new(false));
        let is_over = || self.interrupt.asked() || gone_wrong.load(Ordering::Relaxed);
        let (found, results) = mpsc::channel::<Found>();
        let mut slots: Vec<Option<Result<Measured, NotMeasured>>> = runs.iter().map(|_| None).collect();
        thread::scope(|scope| {
            for _ in 0..self.jobs.min(runs.len()) {
                let (found, next, gone_wrong, is_over) = (found.clone(), &next, &gone_wrong, &is_over);
                scope.spawn(move || {
                    while !is_over() {
                        let index = next.fetch_add(1, Ordering::Relaxed);
                        let Some(run) = runs.get(index) else { return };
                        let result = measure(run, is_over);
                        if result.is_err() {
                            gone_wrong.store(true, Ordering::Relaxed);
                        }
                        // The receiver lives as long as the scope.
                        let _ = found.send((index, result));
                    }
                });
            }
            drop(found);
            collect(&results, &mut slots, tell);
        });
        if self.interrupt.asked() {
            return Err(Failure::Interrupted);
        }
        conclude(slots)
    }
}

/// Puts each result into its slot until all threads have ended, and keeps the progress alive.
fn collect(
    results: &Receiver<Found>,
    slots: &mut [Option<Result<Measured, NotMeasured>>],
    tell: &mut dyn FnMut(usize),
) {
    let mut count = 0;
    loop {
        match results.recv_timeout(TICK) {
            Ok((index, result)) => {
                slots[index] = Some(result);
                count += 1;
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        tell(count);
    }
}

/// All results, or the first failure that is not just the end of a run that another one ended.
fn conclude(slots: Vec<Option<Result<Measured, NotMeasured>>>) -> Result<Vec<Measured>, Failure> {
    let mut done = Vec::with_capacity(slots.len());
    let mut cut_short = false;
    for slot in slots {
        match slot {
            Some(Ok(measured)) => done.push(measured),
            Some(Err(NotMeasured::Interrupted)) | None => cut_short = true,
            Some(Err(error)) => return Err(explain(error)),
        }
    }
    assert!(!cut_short, "a run was given up though nothing failed");
    Ok(done)
}

fn explain(error: NotMeasured) -> Failure {
    let message = error.to_string();
    match error {
        NotMeasured::Failed { error, .. } => match failed(error) {
            Failure::Operation(_) => Failure::Operation(message),
            _ => Failure::Input(message),
        },
        NotMeasured::Input { .. } | NotMeasured::Broken { .. } => Failure::Input(message),
        NotMeasured::Interrupted => Failure::Interrupted,
    }
}

/// How often the progress is looked at.
const TICK: Duration = Duration::from_millis(200);
