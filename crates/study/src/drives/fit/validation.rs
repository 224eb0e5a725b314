//! Rows predicted by fits that did not see them.

use super::cost::RowFit;
use super::{Candidate, Evaluate, Problem, Search, Stopped};
use crate::drives::MeasuredRow;

/// A row, predicted by a fit to all others.
#[derive(Clone, Debug, PartialEq)]
pub struct LeftOut {
    /// Index of the row that was left out.
    pub row: usize,
    /// How well the fit to all other rows predicts the row.
    pub fit: RowFit,
}

/// Leaves out one row after another, with all others of its load, fits the rest with at least `evaluations`
/// candidates, and predicts the row that was left out. `problem` makes the problem of some rows and its first
/// candidate: kind of drive, first values and bounds must come from these alone. No search begins at an
/// optimum that has seen all rows, so that too few evaluations make errors larger, and nothing makes them
/// smaller than they are. Of rows of one load the result is empty.
///
/// # Errors
/// [`Stopped`] if `evaluate` was stopped by its caller.
pub fn cross_validation(
    rows: &[MeasuredRow],
    problem: &dyn Fn(Vec<MeasuredRow>) -> (Problem, Candidate),
    evaluations: usize,
    seed: u64,
    evaluate: &mut Evaluate<'_>,
) -> Result<Vec<LeftOut>, Stopped> {
    if rows.len() < 2 {
        return Ok(Vec::new());
    }
    let mut all = Vec::new();
    for left_out in 0..rows.len() {
        // Another row of its load would tell the search what it is not to see.
        let row = rows[left_out].clone();
        let others: Vec<MeasuredRow> = rows.iter().filter(|other| other.load != row.load).cloned().collect();
        if others.is_empty() {
            continue;
        }
        let (others, start) = problem(others);
        let mut search = Search::new(start, Search::SPREAD, seed);
        search.run(&others, evaluations, evaluate, &mut |_| {})?;
        let alone = Problem { rows: vec![row], ..others };
        let fits = search.fits(&alone, evaluate)?.unwrap_or_default();
        all.extend(fits.into_iter().map(|fit| LeftOut { row: left_out, fit }));
    }
    Ok(all)
}
