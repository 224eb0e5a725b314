//! A world driven to its end, with the drive's figures at both ends of the measurement.

use crate::storage::Storage;
use crate::world::{Finished, Observer, Progress, RunError, World};
use std::fmt;
use std::ops::ControlFlow;
use tailcut_base::{Spans, Time};
use tailcut_ssd::Figures;

/// Both ends of a measurement: what each drive had done by then.
#[derive(Clone, Debug, PartialEq)]
pub struct Ends {
    /// The drives at the end of the ramp.
    pub from: Vec<Figures>,
    /// The drives at the end of the run.
    pub until: Vec<Figures>,
    /// The run ended before its time: `watch` broke it off, or its clock goes no further.
    pub cut_short: bool,
}

/// Why a run ended without a result, with the drive's explanation.
#[derive(Debug, PartialEq, Eq)]
pub struct RunFailed {
    /// What ended the run.
    pub error: RunError,
    /// Why the drive makes no progress, if that is the error.
    pub why: Option<String>,
}

impl Ends {
    /// The counters of each drive during the measurement.
    pub fn figures(&self) -> Vec<Figures> {
        self.until.iter().zip(&self.from).map(|(until, from)| until.since(from)).collect()
    }
}

impl fmt::Display for RunFailed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.why {
            Some(why) => write!(f, "{}: {why}", self.error),
            None => self.error.fmt(f),
        }
    }
}

impl std::error::Error for RunFailed {}

/// Runs a world to its end, until `watch` breaks, or until `horizon`, the latest moment that its
/// clock can hold (see [`Scenario::horizon`](crate::Scenario::horizon)).
///
/// # Errors
/// See [`RunError`].
pub fn run_to_end<S: Storage>(
    world: &mut World<S>,
    horizon: Time,
    watch: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
) -> Result<Ends, RunFailed> {
    run_to_end_observed(world, horizon, watch, &mut ())
}

/// As [`run_to_end`], with an observer.
///
/// # Errors
/// See [`RunError`].
pub fn run_to_end_observed<S: Storage>(
    world: &mut World<S>,
    horizon: Time,
    watch: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
    observer: &mut impl Observer<S>,
) -> Result<Ends, RunFailed> {
    let mut within = |at: &Progress| if at.now >= horizon { ControlFlow::Break(()) } else { watch(at) };
    let mut first = First { from: Vec::new(), observer };
    let done = world.run_observed(&mut within, &mut first);
    let from = first.from;
    let cut_short = done.map_err(|error| {
        let why = matches!(error, RunError::Stuck { .. }).then(|| world.device.why_stuck());
        RunFailed { error, why }
    })?;
    Ok(Ends { from, until: world.device.figures(world.now()), cut_short })
}

/// Takes the figures at the beginning of the measurement, and passes all calls on to another observer.
struct First<'a, O> {
    from: Vec<Figures>,
    observer: &'a mut O,
}

impl<S: Storage, O: Observer<S>> Observer<S> for First<'_, O> {
    fn begin(&mut self, storage: &S, now: Time) {
        self.from = storage.figures(now);
        self.observer.begin(storage, now);
    }

    #[inline]
    fn request(&mut self, request: &Finished<&Spans>) {
        self.observer.request(request);
    }

    #[inline]
    fn due(&self) -> Time {
        self.observer.due()
    }

    fn observe(&mut self, storage: &S, now: Time) {
        self.observer.observe(storage, now);
    }

    fn end(&mut self, storage: &S, now: Time) {
        self.observer.end(storage, now);
    }
}
