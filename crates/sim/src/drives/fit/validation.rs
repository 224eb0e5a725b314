//! Rows predicted by fits that did not see them.

use super::cost::RowFit;
use super::{Evaluate, Problem, Search, Stopped};

/// A row, predicted by a fit to all others.
#[derive(Clone, Debug, PartialEq)]
pub struct LeftOut {
    /// Its index in [`Problem::rows`].
    pub row: usize,
    /// How well the fit predicts it.
    pub fit: RowFit,
}

/// Leaves out one row after another, fits the others with `evaluations` candidates from `start` on, and predicts the one left
/// out. Needs two rows at least; else the result is empty. Where `start` has seen all rows, the prediction is better than it would be without; a
/// spread of a tenth of the way between the bounds lets a search leave it. `report` is called after each generation of any of these
/// searches.
///
/// # Errors
/// The caller's stop.
pub fn cross_validation(
    problem: &Problem,
    start: &[f64],
    evaluations: usize,
    seed: u64,
    evaluate: &mut Evaluate<'_>,
    report: &mut dyn FnMut(&Search),
) -> Result<Vec<LeftOut>, Stopped> {
    if problem.rows.len() < 2 {
        return Ok(Vec::new());
    }
    let mut all = Vec::new();
    for left_out in 0..problem.rows.len() {
        let mut others = problem.clone();
        let row = others.rows.remove(left_out);
        let mut search = Search::new(start.to_vec(), SPREAD, seed);
        search.run(&others, evaluations, evaluate, report)?;
        let alone = Problem { rows: vec![row], ..problem.clone() };
        let fits = search.fits(&alone, evaluate)?.unwrap_or_default();
        all.extend(fits.into_iter().map(|fit| LeftOut { row: left_out, fit }));
    }
    Ok(all)
}

const SPREAD: f64 = 0.1;
