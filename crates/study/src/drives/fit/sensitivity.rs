//! What each parameter moves at the optimum.

use super::cost::RowFit;
use super::problem::mean_cost;
use super::{Candidate, Evaluate, Parameter, Problem, Stopped};
use crate::drives::comparison::Quantity;

/// What a parameter moves when it goes a twentieth of the way between its bounds, down or up, and all others
/// stay.
#[derive(Clone, Debug, PartialEq)]
pub struct Sensitivity {
    /// The parameter that is moved while all others stay.
    pub parameter: Parameter,
    /// Value of the parameter at the optimum, in its base unit.
    pub value: f64,
    /// For each row, by how much its figures move, the greater of both directions: |ln(moved ÷ unmoved)| of
    /// the rate or percentile up to p99 that moves most, or the mean of all figures if that is more.
    pub moved: Vec<f64>,
    /// By how much the cost grows, down and up; negative where the optimum is not one.
    cost_grows: [f64; 2],
}

impl Sensitivity {
    /// Whether any row pins the parameter: a figure of it moves by 2 % or more. Below that, another seed
    /// moves it as far.
    pub fn is_pinned(&self) -> bool {
        self.moved.iter().any(|&moved| moved >= PINNED)
    }
}

/// The sensitivity of every parameter at `optimum`; two candidates are evaluated for each, and the optimum.
///
/// # Errors
/// [`Stopped`] if `evaluate` was stopped by its caller.
///
/// # Panics
/// If `evaluate` returns fewer results than it is given trials.
pub fn sensitivity(
    problem: &Problem,
    optimum: &[f64],
    evaluate: &mut Evaluate<'_>,
) -> Result<Vec<Sensitivity>, Stopped> {
    let beside = |index: usize, step: f64| {
        let mut candidate = optimum.to_vec();
        candidate[index] = (candidate[index] + step).clamp(0.0, 1.0);
        candidate
    };
    let both = |index: usize| [-STEP, STEP].map(|step| beside(index, step));
    let parameters = problem.parameters.len();
    let candidates: Vec<Candidate> =
        std::iter::once(optimum.to_vec()).chain((0..parameters).flat_map(both)).collect();
    let fits = problem.evaluate(&candidates, evaluate)?;
    let (unmoved, moved) = fits.split_first().expect("the optimum was evaluated");
    let values = problem.values(optimum);
    let each =
        problem.parameters.iter().zip(moved.chunks(2)).zip(values).map(|((parameter, pair), value)| {
            let row =
                |row: usize| pair.iter().map(|fits| distance(&fits[row], &unmoved[row])).fold(0.0, f64::max);
            Sensitivity {
                parameter: *parameter,
                value,
                moved: (0..problem.rows.len()).map(row).collect(),
                cost_grows: [0, 1].map(|side: usize| mean_cost(&pair[side]) - mean_cost(unmoved)),
            }
        });
    Ok(each.collect())
}

/// |ln(a ÷ b)| of the figures that both have: the mean, or the most of a figure that many requests decide; of
/// drives of which one could not run, 1.
fn distance(a: &RowFit, b: &RowFit) -> f64 {
    let logs: Vec<(Quantity, f64)> = a
        .figures
        .iter()
        .filter_map(|(quantity, a, _)| {
            let (_, b, _) = b.figures.iter().find(|(other, ..)| other == quantity)?;
            (*a > 0.0 && *b > 0.0).then(|| (*quantity, quantity.error(*a, *b)))
        })
        .filter(|(_, log)| log.is_finite())
        .collect();
    if logs.is_empty() {
        return 1.0;
    }
    let mean = logs.iter().map(|(_, log)| log).sum::<f64>() / logs.len() as f64;
    let firm = logs.iter().filter(|(quantity, _)| is_firm(*quantity)).map(|&(_, log)| log);
    firm.fold(mean, f64::max)
}

/// True of figures that many requests decide: rates, and percentiles up to p99.
fn is_firm(quantity: Quantity) -> bool {
    match quantity {
        Quantity::Read(of) | Quantity::Write(of) => of.percent <= 99.0,
        _ => true,
    }
}

/// How far a parameter goes, as a share of the way between its bounds.
const STEP: f64 = 0.05;
const PINNED: f64 = 0.02;
