//! Fitting a simulated drive to what was measured on a real one.
//!
//! A [`Problem`] is a drive to start from, [`Parameter`]s with bounds, and measured rows. A [`Search`] looks
//! for the parameters whose predictions come closest to the rows. [`sensitivity()`] shows what each of them
//! moves there, and [`cross_validation`] how well rows are predicted that the search did not see.
//!
//! Nothing here runs a test or starts a thread: whatever needs predictions hands a batch of [`Trial`]s to a
//! closure, which may run them in any order on any number of threads. Equal problems, seeds and counts of
//! evaluations give equal results.

mod cost;
mod evolution;
mod parameter;
mod problem;
mod search;
mod sensitivity;
mod structure;
mod validation;

pub use cost::RowFit;
pub use parameter::{PARAMETERS, Parameter, Scale, Start};
pub use problem::{Candidate, FirstValues, Problem, ProblemError, Trial, mean_cost};
pub use search::{Best, Record, Search};
pub use sensitivity::{Sensitivity, sensitivity};
pub use structure::{Structure, structure};
pub use validation::{LeftOut, cross_validation};

use super::Measurement;

/// The caller has stopped a batch of trials.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("stopped")]
pub struct Stopped;

/// Runs a batch of trials: their measurements in their order, `None` for a drive that could not be run.
pub type Evaluate<'e> = dyn FnMut(&[Trial]) -> Result<Vec<Option<Measurement>>, Stopped> + 'e;

#[cfg(test)]
mod tests;
