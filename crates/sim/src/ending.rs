//! A world driven to its end, with the drive's figures at both ends of the measurement.

use crate::storage::Storage;
use crate::world::{Progress, RunError, Witness, World};
use std::fmt;
use std::ops::ControlFlow;
use tailcut_base::Time;
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

/// Why a run ended without a result, with what the drive says about it.
#[derive(Debug, PartialEq, Eq)]
pub struct RunFailed {
    /// What happened.
    pub error: RunError,
    /// What the drive waits for, where it makes no progress.
    pub why: Option<String>,
}

impl Ends {
    /// What each drive did during the measurement.
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
pub fn run_to_end<S: Storage, W: Witness>(
    world: &mut World<S, W>,
    horizon: Time,
    watch: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
) -> Result<Ends, RunFailed> {
    let mut from = Vec::new();
    let mut within = |at: &Progress| if at.now >= horizon { ControlFlow::Break(()) } else { watch(at) };
    let done = world.run(&mut within, &mut |storage, now| from = storage.figures(now));
    let cut_short = done.map_err(|error| {
        let why = matches!(error, RunError::Stuck { .. }).then(|| world.device.why_stuck());
        RunFailed { error, why }
    })?;
    Ok(Ends { from, until: world.device.figures(world.now()), cut_short })
}
