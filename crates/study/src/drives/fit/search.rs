//! The search for the best candidate, and the record from which it can be resumed.

use super::cost::RowFit;
use super::evolution::Evolution;
use super::problem::mean_cost;
use super::{Candidate, Evaluate, Problem, Sensitivity, Stopped};
use serde::{Deserialize, Serialize};

/// A search that is under way.
#[derive(Clone, Debug)]
pub struct Search {
    seed: u64,
    start: Candidate,
    evolution: Evolution,
    record: Record,
    best: Option<Best>,
}

/// The best candidate so far.
#[derive(Clone, Debug, PartialEq)]
pub struct Best {
    /// The parameters of the best candidate.
    pub candidate: Candidate,
    /// Mean cost of the best candidate over all rows, with what its distance from the start costs.
    pub cost: f64,
}

/// The costs of all candidates so far, by generation: with problem, start and seed everything that a search
/// has learnt. Costs are stored as their bits, so that a search that is resumed is exactly the one that was
/// stopped.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    generations: Vec<Vec<u64>>,
}

impl Record {
    /// Number of candidates that have been evaluated so far.
    pub fn evaluations(&self) -> usize {
        self.generations.iter().map(Vec::len).sum()
    }
}

impl Search {
    /// The spread of searches from values that are read off: some hundred candidates of twenty parameters
    /// converge from there, and not from a wider one.
    pub const SPREAD: f64 = 0.12;

    /// A search that begins at `start`, with a standard deviation of `spread` of the way between the bounds
    /// in each parameter. Of candidates that fit equally well it prefers the one nearest to `start`.
    pub fn new(start: Candidate, spread: f64, seed: u64) -> Search {
        let evolution = Evolution::new(start.clone(), spread);
        Search { seed, start, evolution, record: Record::default(), best: None }
    }

    /// The search that began with the same arguments and has this record. A record of generations of another
    /// size is one of another problem: `None`.
    pub fn resume(start: Candidate, spread: f64, seed: u64, record: &Record) -> Option<Search> {
        let mut search = Search::new(start, spread, seed);
        for costs in &record.generations {
            let candidates = search.evolution.candidates(seed);
            if costs.len() != candidates.len() {
                return None;
            }
            let costs: Vec<f64> = costs.iter().map(|&bits| f64::from_bits(bits)).collect();
            search.learn(&candidates, &costs);
        }
        Some(search)
    }

    /// Evaluates one generation.
    ///
    /// # Errors
    /// [`Stopped`] if `evaluate` was stopped by its caller; the search is then where it was before.
    pub fn step(&mut self, problem: &Problem, evaluate: &mut Evaluate<'_>) -> Result<(), Stopped> {
        let candidates = self.evolution.candidates(self.seed);
        let fits = problem.evaluate(&candidates, evaluate)?;
        let costs: Vec<f64> = fits.iter().map(|fits| mean_cost(fits)).collect();
        self.learn(&candidates, &costs);
        Ok(())
    }

    /// Steps until at least `evaluations` candidates are evaluated; `report` is called after each generation.
    ///
    /// # Errors
    /// [`Stopped`] if `evaluate` was stopped by its caller.
    pub fn run(
        &mut self,
        problem: &Problem,
        evaluations: usize,
        evaluate: &mut Evaluate<'_>,
        report: &mut dyn FnMut(&Search),
    ) -> Result<(), Stopped> {
        while self.record.evaluations() < evaluations {
            self.step(problem, evaluate)?;
            report(self);
        }
        Ok(())
    }

    fn learn(&mut self, candidates: &[Candidate], costs: &[f64]) {
        let ridge = |candidate: &Candidate| -> f64 {
            candidate.iter().zip(&self.start).map(|(at, start)| (at - start) * (at - start)).sum()
        };
        let with_ridge = |(candidate, cost): (&Candidate, &f64)| cost + RIDGE * ridge(candidate);
        let all: Vec<f64> = candidates.iter().zip(costs).map(with_ridge).collect();
        for (candidate, &cost) in candidates.iter().zip(&all) {
            if self.best.as_ref().is_none_or(|best| cost < best.cost) {
                self.best = Some(Best { candidate: candidate.clone(), cost });
            }
        }
        self.evolution.learn(candidates, &all);
        self.record.generations.push(costs.iter().map(|cost| cost.to_bits()).collect());
    }

    /// The costs of all candidates evaluated so far, with which the search can be resumed.
    pub fn record(&self) -> &Record {
        &self.record
    }

    /// The best candidate; `None` before the first generation.
    pub fn best(&self) -> Option<&Best> {
        self.best.as_ref()
    }

    /// The best candidate with its first values for the parameters that no row pins, which the search has
    /// moved at random. `None` where rows pin all of them, or before the first generation.
    pub fn settled(&self, found: &[Sensitivity]) -> Option<Candidate> {
        let best = self.best.as_ref().filter(|_| found.iter().any(|parameter| !parameter.is_pinned()))?;
        let both = best.candidate.iter().zip(&self.start).zip(found);
        Some(both.map(|((&best, &start), found)| if found.is_pinned() { best } else { start }).collect())
    }

    /// How the best candidate fits each row. `None` before the first generation.
    ///
    /// # Errors
    /// [`Stopped`] if `evaluate` was stopped by its caller.
    pub fn fits(
        &self,
        problem: &Problem,
        evaluate: &mut Evaluate<'_>,
    ) -> Result<Option<Vec<RowFit>>, Stopped> {
        let Some(best) = &self.best else { return Ok(None) };
        Ok(problem.evaluate(std::slice::from_ref(&best.candidate), evaluate)?.pop())
    }
}

/// Cost of a parameter at the other of its bounds than the one it began at (ridge regression's penalty). A
/// tenth of the way costs 0.001, less than a figure that is wrong by 1 %.
const RIDGE: f64 = 0.1;
