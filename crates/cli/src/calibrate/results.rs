//! What a calibration has found, for pages and programs.

use serde::Serialize;
use tailcut_study::drives::Quantity;
use tailcut_study::drives::fit::{LeftOut, Problem, RowFit, Sensitivity};

/// A finished calibration.
#[derive(Debug, Serialize)]
pub(super) struct Results {
    /// The version of the program.
    pub version: &'static str,
    /// The drive's name in the files.
    pub drive: String,
    /// Seed of all streams.
    pub seed: u64,
    /// Candidates evaluated by the search.
    pub evaluations: usize,
    /// Mean cost of all rows; 0 is a perfect fit.
    pub cost: f64,
    /// The parameters that were fitted, with their values.
    pub parameters: Vec<FittedParameter>,
    /// The measured rows that the parameters were fitted to, with their predictions.
    pub rows: Vec<FittedRow>,
}

impl Results {
    /// Why the drive is a first draft, if the search has hardly begun.
    pub(super) fn draft(&self) -> Option<String> {
        let few = FEW * self.parameters.len();
        (self.evaluations < few).then(|| {
            format!(
                "A first draft: {} candidates are few for {} parameters; raise --minutes or --evaluations.",
                self.evaluations,
                self.parameters.len()
            )
        })
    }
}

/// Candidates for each parameter below which a fit is called a first draft.
const FEW: usize = 3;

/// A parameter at the optimum.
#[derive(Debug, Serialize)]
pub(super) struct FittedParameter {
    /// Scenario key of the parameter.
    pub key: &'static str,
    /// Value of the parameter at the optimum, in `unit`.
    pub value: f64,
    /// The base unit of the key.
    pub unit: &'static str,
    /// The least and the greatest value that were allowed, in `unit`.
    pub bounds: [f64; 2],
    /// What the parameter means in the drive, and the reason for its bounds.
    pub meaning: &'static str,
    /// The row that it moves most, by how much of its figures (0.1 is 10 %); none if no row pins it.
    pub pinned_by: Option<(String, f64)>,
    /// The share by which each row's figures move, in the order of [`Results::rows`], when it goes a
    /// twentieth of the way between its bounds.
    pub moves: Vec<f64>,
}

/// A row and its predictions.
#[derive(Debug, Serialize)]
pub(super) struct FittedRow {
    /// The load of the row, in words.
    pub load: String,
    /// Predicted by the fit to all rows.
    pub fitted: RowErrors,
    /// Predicted by a fit to all other rows; none where there are no others.
    pub predicted: Option<RowErrors>,
}

/// How far a prediction is from a row.
#[derive(Debug, Serialize)]
pub(super) struct RowErrors {
    /// Cost of the prediction, 0 if it is perfect; see [`RowFit::cost`].
    pub cost: f64,
    /// Median of |predicted ÷ measured − 1| over percentiles of reads.
    pub reads: Option<f64>,
    /// Median of |predicted ÷ measured − 1| over percentiles of writes, where 2 µs count as nothing.
    pub writes: Option<f64>,
    /// Median of |predicted ÷ measured − 1| over writes per second and write amplification.
    pub rate: Option<f64>,
    /// Each figure: quantity, predicted, measured.
    pub figures: Vec<(String, f64, f64)>,
}

impl RowErrors {
    /// The errors of a fit.
    pub(super) fn of(fit: &RowFit) -> RowErrors {
        RowErrors {
            cost: fit.cost,
            reads: fit.median_error(|quantity| matches!(quantity, Quantity::Read(_))),
            writes: fit.median_error(|quantity| matches!(quantity, Quantity::Write(_))),
            rate: fit.median_error(|quantity| matches!(quantity, Quantity::Writes | Quantity::Amplification)),
            figures: fit
                .figures
                .iter()
                .map(|(quantity, ours, theirs)| (quantity.to_string(), *ours, *theirs))
                .collect(),
        }
    }
}

/// The parameters of a problem at its optimum.
pub(super) fn parameters(problem: &Problem, found: &[Sensitivity]) -> Vec<FittedParameter> {
    let loads: Vec<String> = problem.rows.iter().map(|row| row.load.to_string()).collect();
    let of = |found: &Sensitivity| {
        let most = found.moved.iter().zip(&loads).max_by(|(a, _), (b, _)| a.total_cmp(b));
        FittedParameter {
            key: found.parameter.key,
            value: found.value,
            unit: found.parameter.unit,
            bounds: [found.parameter.low, found.parameter.high],
            meaning: found.parameter.source,
            pinned_by: most.filter(|_| found.is_pinned()).map(|(moved, load)| (load.clone(), *moved)),
            moves: found.moved.clone(),
        }
    };
    found.iter().map(of).collect()
}

/// The rows of a problem with how well they are fitted and predicted.
pub(super) fn rows(problem: &Problem, fits: &[RowFit], left_out: &[LeftOut]) -> Vec<FittedRow> {
    let of = |(index, fit): (usize, &RowFit)| FittedRow {
        load: problem.rows[index].load.to_string(),
        fitted: RowErrors::of(fit),
        predicted: left_out.iter().find(|other| other.row == index).map(|other| RowErrors::of(&other.fit)),
    };
    fits.iter().enumerate().map(of).collect()
}
