//! Rows predicted by fits that did not see them.

use super::cost::RowFit;
use super::{Candidate, Evaluate, Problem, Search, Stopped};

/// A row, predicted by a fit to all others.
#[derive(Clone, Debug, PartialEq)]
pub struct LeftOut {
    /// Its index in [`Problem::rows`].
    pub row: usize,
    /// How well the fit predicts it.
    pub fit: RowFit,
}

/// Leaves out one row after another, fits the others with at least `evaluations` candidates, and predicts the row that was
/// left out. Each search begins at what `start` returns for its problem, and not at an optimum that has seen all rows:
/// too few evaluations make errors larger, and nothing makes them smaller than they are. Without a second row the result is
/// empty.
///
/// # Errors
/// The caller's stop.
pub fn cross_validation(
    problem: &Problem,
    start: &dyn Fn(&Problem) -> Candidate,
    evaluations: usize,
    seed: u64,
    evaluate: &mut Evaluate<'_>,
) -> Result<Vec<LeftOut>, Stopped> {
    if problem.rows.len() < 2 {
        return Ok(Vec::new());
    }
    let mut all = Vec::new();
    for left_out in 0..problem.rows.len() {
        let mut others = problem.clone();
        let row = others.rows.remove(left_out);
        let mut search = Search::new(start(&others), Search::SPREAD, seed);
        search.run(&others, evaluations, evaluate, &mut |_| {})?;
        let alone = Problem { rows: vec![row], ..problem.clone() };
        let fits = search.fits(&alone, evaluate)?.unwrap_or_default();
        all.extend(fits.into_iter().map(|fit| LeftOut { row: left_out, fit }));
    }
    Ok(all)
}
