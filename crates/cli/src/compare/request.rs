//! A request for a comparison.

use super::results::Factor;
use crate::run::arguments::RunArguments;
use crate::sweep::Quantity;
use std::path::PathBuf;

/// What a comparison is to vary, run and rank.
#[derive(Debug)]
pub struct Request {
    /// The scenario at the base point, as `tailcut run` takes it; only the options that determine what is
    /// run count.
    pub base: RunArguments,
    /// The factors that are varied, each with its levels.
    pub factors: Vec<Factor>,
    /// How much of the grid is run: all points or a balanced fraction.
    pub share: Share,
    /// How many seeds each point is run with, from that of the scenario on; at least 1.
    pub seeds: u64,
    /// The quantity by which points are ranked.
    pub by: Quantity,
    /// The quantities of the table's other columns.
    pub columns: Vec<Quantity>,
    /// Marks points that no other point beats in `by` and in this one.
    pub pareto: Option<Quantity>,
    /// Differences up to this share are no differences; 5 % with one seed and 1 % with several where it is
    /// left open.
    pub tolerance: Option<f64>,
    /// Leaves out what a scenario refuses, and counts it.
    pub skip_impossible: bool,
    /// The folder in which finished runs are kept, and found again; nowhere if there is none.
    pub out: Option<PathBuf>,
    /// Number of runs at a time; `None` for one per core.
    pub jobs: Option<usize>,
}

/// How much of a grid is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Share {
    /// All points of the grid.
    All,
    /// One point in N.
    OneIn(u64),
    /// This many points of the grid.
    Points(u64),
}

impl Request {
    /// A comparison of these factors over the whole grid, with one seed, ranked by the latency that 99.99 %
    /// of the reads do not exceed.
    #[expect(clippy::missing_panics_doc, reason = "the built-in quantities are of the language")]
    pub fn new(base: RunArguments, factors: Vec<Factor>) -> Request {
        let quantity =
            |text: &str| Quantity::parse(text).expect("the built-in quantities are of the language");
        Request {
            base,
            factors,
            share: Share::All,
            seeds: 1,
            by: quantity(BY),
            columns: COLUMNS.iter().map(|text| quantity(text)).collect(),
            pareto: None,
            tolerance: None,
            skip_impossible: false,
            out: None,
            jobs: None,
        }
    }

    /// All columns of the table, that of the ranking first, each once.
    pub fn quantities(&self) -> Vec<Quantity> {
        let mut all: Vec<Quantity> = vec![self.by.clone()];
        for quantity in self.pareto.iter().chain(&self.columns) {
            if !all.contains(quantity) {
                all.push(quantity.clone());
            }
        }
        all
    }

    /// The share by which a ratio may differ from 1 and still be no difference.
    pub fn floor(&self) -> f64 {
        self.tolerance.unwrap_or(if self.seeds > 1 { 0.01 } else { 0.05 })
    }

    /// The number of levels of each factor.
    pub fn levels(&self) -> Vec<usize> {
        self.factors.iter().map(|factor| factor.levels.len()).collect()
    }
}

/// What points are ranked by, unless something else is asked for.
pub const BY: &str = "p99.99(read)";

/// The columns beside it.
const COLUMNS: [&str; 6] = ["p50(read)", "mean(write)", "iops", "bandwidth", "waf", "life"];
