//! An evolution strategy with a covariance matrix that is diagonal: sep-CMA-ES (Ros and Hansen, "A Simple
//! Modification in CMA-ES Achieving Linear Time and Space Complexity", PPSN X, 2008; default constants of
//! Hansen, "The CMA Evolution Strategy: A Tutorial", 2016).
//!
//! It proposes candidates and learns their costs, and evaluates nothing by itself: a generation can be run in
//! parallel and repeated from the costs alone. The published crates call the function that they minimise.

use super::Candidate;
use tailcut_base::random::Stream;

/// A search in the unit cube.
#[derive(Clone, Debug)]
pub(super) struct Evolution {
    mean: Vec<f64>,
    sigma: f64,
    /// Diagonal of the covariance matrix.
    variances: Vec<f64>,
    path_sigma: Vec<f64>,
    path_variance: Vec<f64>,
    generation: u32,
    /// Candidates of a generation.
    size: usize,
    weights: Vec<f64>,
    constants: Constants,
}

#[derive(Clone, Copy, Debug)]
struct Constants {
    /// Variance-effective number of parents.
    effective: f64,
    path_sigma: f64,
    damping: f64,
    path_variance: f64,
    rank_one: f64,
    rank_many: f64,
    /// Expected length of a vector of normally distributed numbers.
    expected_length: f64,
}

impl Evolution {
    /// A search that begins around `mean`, each coordinate with this standard deviation.
    pub(super) fn new(mean: Candidate, sigma: f64) -> Evolution {
        let dimensions = mean.len();
        let n = dimensions as f64;
        let size = (4 + (3.0 * libm::log(n)) as usize).max(LEAST_SIZE);
        let parents = size / 2;
        let raw = |rank: usize| libm::log((size as f64 + 1.0) / 2.0) - libm::log(rank as f64);
        let sum: f64 = (1..=parents).map(raw).sum();
        let weights: Vec<f64> = (1..=parents).map(|rank| raw(rank) / sum).collect();
        let effective = 1.0 / weights.iter().map(|weight| weight * weight).sum::<f64>();
        let path_sigma = (effective + 2.0) / (n + effective + 5.0);
        // A diagonal has fewer numbers to learn, so it can learn faster.
        let faster = (n + 2.0) / 3.0;
        let rank_one = (faster * 2.0 / ((n + 1.3) * (n + 1.3) + effective)).min(0.5);
        let rank_many =
            faster * 2.0 * (effective - 2.0 + 1.0 / effective) / ((n + 2.0) * (n + 2.0) + effective);
        let constants = Constants {
            effective,
            path_sigma,
            damping: 1.0 + 2.0 * (((effective - 1.0) / (n + 1.0)).sqrt() - 1.0).max(0.0) + path_sigma,
            path_variance: (4.0 + effective / n) / (n + 4.0 + 2.0 * effective / n),
            rank_one,
            rank_many: rank_many.min(1.0 - rank_one),
            expected_length: n.sqrt() * (1.0 - 1.0 / (4.0 * n) + 1.0 / (21.0 * n * n)),
        };
        Evolution {
            mean,
            sigma,
            variances: vec![1.0; dimensions],
            path_sigma: vec![0.0; dimensions],
            path_variance: vec![0.0; dimensions],
            generation: 0,
            size,
            weights,
            constants,
        }
    }

    /// The candidates of the present generation; the first of all is the mean that the search began with.
    /// They depend on the seed and on the costs learnt so far only.
    pub(super) fn candidates(&self, seed: u64) -> Vec<Candidate> {
        let mut stream = Stream::new(seed, &format!("fit generation {}", self.generation));
        let mut candidate = |index: usize| {
            let steps: Vec<f64> = self.variances.iter().map(|v| v.sqrt() * normal(&mut stream)).collect();
            let is_start = self.generation == 0 && index == 0;
            let at = |(mean, step): (&f64, f64)| {
                if is_start { *mean } else { reflected(mean + self.sigma * step) }
            };
            self.mean.iter().zip(steps).map(at).collect()
        };
        (0..self.size).map(&mut candidate).collect()
    }

    /// Takes the costs of the current generation and starts the next.
    pub(super) fn learn(&mut self, candidates: &[Candidate], costs: &[f64]) {
        let c = self.constants;
        let mut order: Vec<usize> = (0..candidates.len()).collect();
        order.sort_by(|&a, &b| costs[a].total_cmp(&costs[b]).then(a.cmp(&b)));
        let step = |index: usize, dimension: usize| {
            (candidates[index][dimension] - self.mean[dimension]) / self.sigma
        };
        let dimensions = self.mean.len();
        let weighted = |of: &dyn Fn(usize) -> f64| -> f64 {
            self.weights.iter().zip(&order).map(|(weight, &index)| weight * of(index)).sum()
        };
        let moved: Vec<f64> = (0..dimensions).map(|d| weighted(&|index| step(index, d))).collect();
        let spread: Vec<f64> = (0..dimensions)
            .map(|d| {
                weighted(&|index| {
                    let step = step(index, d);
                    step * step
                })
            })
            .collect();
        let keep = |rate: f64| (rate * (2.0 - rate) * c.effective).sqrt();
        for ((path, moved), variance) in self.path_sigma.iter_mut().zip(&moved).zip(&self.variances) {
            *path = (1.0 - c.path_sigma) * *path + keep(c.path_sigma) * moved / variance.sqrt();
        }
        let length = self.path_sigma.iter().map(|x| x * x).sum::<f64>().sqrt();
        let age = f64::from(self.generation) + 1.0;
        let settled = (1.0 - libm::pow(1.0 - c.path_sigma, 2.0 * age)).sqrt();
        let is_moderate = length / settled < (1.4 + 2.0 / (dimensions as f64 + 1.0)) * c.expected_length;
        let kept = 1.0 - c.rank_one - c.rank_many;
        for (d, (moved, spread)) in moved.iter().zip(&spread).enumerate() {
            let path = &mut self.path_variance[d];
            let push = if is_moderate { keep(c.path_variance) * moved } else { 0.0 };
            *path = (1.0 - c.path_variance) * *path + push;
            let learnt = c.rank_one * *path * *path + c.rank_many * spread;
            self.variances[d] = (kept * self.variances[d] + learnt).max(LEAST_VARIANCE);
            self.mean[d] = (self.mean[d] + self.sigma * moved).clamp(0.0, 1.0);
        }
        let growth = c.path_sigma / c.damping * (length / c.expected_length - 1.0);
        self.sigma = (self.sigma * libm::exp(growth)).clamp(1e-4, MOST_SIGMA);
        self.generation += 1;
    }
}

/// A normally distributed number (Box and Muller).
fn normal(stream: &mut Stream) -> f64 {
    let (radius, angle) = (1.0 - stream.unit(), stream.unit());
    (-2.0 * libm::log(radius)).sqrt() * libm::cos(2.0 * std::f64::consts::PI * angle)
}

/// Folded back into 0 to 1 at the bounds.
fn reflected(x: f64) -> f64 {
    let folded = x.rem_euclid(2.0);
    if folded > 1.0 { 2.0 - folded } else { folded }
}

/// Candidates of a generation at the least.
const LEAST_SIZE: usize = 8;
/// Keeps a coordinate that no cost depends on from vanishing.
const LEAST_VARIANCE: f64 = 1e-12;
/// The whole cube is two of these.
const MOST_SIGMA: f64 = 0.5;

#[cfg(test)]
mod tests {
    use super::*;

    fn minimise(cost: impl Fn(&[f64]) -> f64, start: Candidate, generations: u32) -> Candidate {
        let mut search = Evolution::new(start, 0.2);
        let mut best: (f64, Candidate) = (f64::INFINITY, Vec::new());
        for _ in 0..generations {
            let candidates = search.candidates(7);
            let costs: Vec<f64> = candidates.iter().map(|candidate| cost(candidate)).collect();
            for (candidate, &cost) in candidates.iter().zip(&costs) {
                assert!(candidate.iter().all(|x| (0.0..=1.0).contains(x)));
                if cost < best.0 {
                    best = (cost, candidate.clone());
                }
            }
            search.learn(&candidates, &costs);
        }
        best.1
    }

    #[test]
    fn coordinates_of_different_weight_are_found() {
        let goal = [0.2, 0.9, 0.5, 0.35];
        let weights = [1.0, 100.0, 10.0, 1000.0];
        let cost = |x: &[f64]| (0..4).map(|d| weights[d] * (x[d] - goal[d]) * (x[d] - goal[d])).sum();
        let found = minimise(cost, vec![0.5; 4], 150);
        assert!(found.iter().zip(goal).all(|(found, goal)| (found - goal).abs() < 0.01), "{found:?}");
    }

    #[test]
    fn an_optimum_on_the_bound_is_reached() {
        let found = minimise(|x| x[0] + (x[1] - 1.0).abs(), vec![0.5, 0.5], 80);
        assert!(found[0] < 0.01 && found[1] > 0.99, "{found:?}");
    }

    #[test]
    fn the_first_candidate_is_the_start_and_others_follow_from_the_seed() {
        let search = Evolution::new(vec![0.3, 0.4], 0.2);
        assert_eq!(search.candidates(1)[0], [0.3, 0.4]);
        assert_eq!(search.candidates(1), search.candidates(1));
        assert_ne!(search.candidates(1)[1], search.candidates(2)[1]);
    }
}
