//! What factors do to a quantity, alone and in company.
//!
//! Everything is reckoned in logarithms of the quantity, so that effects are ratios and their means geometric.
//! `docs/decisions/compare.md` has the definitions with examples.

use super::results::{Effects, Main, Pair, Verdict};
use std::collections::BTreeMap;

/// A point with the values of a quantity, one for each seed; those that are not positive have no logarithm and
/// are left out.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// The level of each factor.
    pub levels: Vec<usize>,
    /// The values.
    pub values: Vec<f64>,
}

/// How effects are judged.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Judgement {
    /// Ratios that differ by no more than this share from 1 are taken as no difference, however small the noise.
    pub floor: f64,
    /// Whether more of the quantity is better.
    pub more_is_better: bool,
    /// Which effects the means over points that differ in other factors, too, can show.
    pub clear: Clear,
}

/// The effects that other factors do not distort in means over a part of the grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Clear {
    /// None: points are missing, so that the levels of the other factors differ between the two means.
    Nothing,
    /// Those of one factor.
    Mains,
    /// Those of two factors, too: orthogonal designs of resolution 5.
    Pairs,
}

/// The effects of factors with so many levels on the quantity of that name.
pub fn effects(quantity: &str, levels: &[usize], samples: &[Sample], how: Judgement) -> Effects {
    let grid = Grid::new(levels, samples);
    let tolerance = (1.0 + how.floor).ln().max(grid.least_certain());
    let main = |(factor, level)| grid.main(factor, level, how.clear);
    let mut pairs = Vec::new();
    for (factor, level) in raised(levels) {
        for (other, with) in raised(levels).filter(|&(other, _)| other > factor) {
            pairs.push(grid.pair([factor, other], [level, with], tolerance, how));
        }
    }
    Effects {
        quantity: quantity.to_owned(),
        tolerance: tolerance.exp_m1(),
        noise: grid.noise,
        mains: raised(levels).map(main).collect(),
        pairs,
    }
}

/// Every level but the first of every factor.
fn raised(levels: &[usize]) -> impl Iterator<Item = (usize, usize)> + '_ {
    levels.iter().enumerate().flat_map(|(factor, &count)| (1..count).map(move |level| (factor, level)))
}

/// The logarithms of a quantity by point.
struct Grid<'l> {
    levels: &'l [usize],
    /// By the number of the point in the full grid.
    logs: BTreeMap<u128, f64>,
    points: Vec<(Vec<usize>, f64)>,
    /// The standard deviation between seeds.
    noise: Option<f64>,
    /// The fewest seeds of a point.
    seeds: usize,
}

impl Grid<'_> {
    fn new<'l>(levels: &'l [usize], samples: &[Sample]) -> Grid<'l> {
        let (mut squares, mut free) = (0.0, 0);
        let mut grid =
            Grid { levels, logs: BTreeMap::new(), points: Vec::new(), noise: None, seeds: usize::MAX };
        for sample in samples {
            let positive = sample.values.iter().filter(|value| **value > 0.0 && value.is_finite());
            let logs: Vec<f64> = positive.map(|value| value.ln()).collect();
            if logs.is_empty() || logs.len() < sample.values.len() {
                continue;
            }
            let mean = logs.iter().sum::<f64>() / logs.len() as f64;
            squares += logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>();
            free += logs.len() - 1;
            grid.seeds = grid.seeds.min(logs.len());
            grid.logs.insert(number(levels, &sample.levels), mean);
            grid.points.push((sample.levels.clone(), mean));
        }
        grid.noise = (free > 0).then(|| (squares / free as f64).sqrt());
        grid
    }

    /// Two standard errors of an interaction, which is made of four points: nineteen times in twenty noise alone
    /// makes no more than that.
    fn least_certain(&self) -> f64 {
        self.noise.map_or(0.0, |noise| 2.0 * noise * (4.0 / self.seeds.max(1) as f64).sqrt())
    }

    fn at(&self, levels: &[usize]) -> Option<f64> {
        self.logs.get(&number(self.levels, levels)).copied()
    }

    /// The logarithm at `levels` with some factors changed.
    fn with(&self, levels: &[usize], changed: &[(usize, usize)]) -> Option<f64> {
        let mut levels = levels.to_vec();
        for &(factor, level) in changed {
            levels[factor] = level;
        }
        self.at(&levels)
    }

    fn main(&self, factor: usize, level: usize, clear: Clear) -> Main {
        let step =
            |from: &[usize]| Some(self.with(from, &[(factor, level)])? - self.with(from, &[(factor, 0)])?);
        let base = vec![0; self.levels.len()];
        let last: Vec<usize> = self.levels.iter().map(|count| count - 1).collect();
        let there = self.points.iter().filter(|(levels, _)| levels[factor] == level);
        let steps: Vec<f64> = there.filter_map(|(levels, _)| step(levels)).collect();
        let contrast = || if clear >= Clear::Mains { self.contrast(&[(factor, level)]) } else { None };
        let average = mean(&steps).or_else(contrast);
        Main {
            factor,
            level,
            alone: step(&base).map(f64::exp),
            in_company: step(&last).map(f64::exp),
            average: average.map(f64::exp),
            least: steps.iter().copied().min_by(f64::total_cmp).map(f64::exp),
            most: steps.iter().copied().max_by(f64::total_cmp).map(f64::exp),
        }
    }

    /// The mean of the points with these levels less the mean of those with the first levels instead: what
    /// orthogonal designs have in the place of points that differ in nothing else.
    fn contrast(&self, changed: &[(usize, usize)]) -> Option<f64> {
        let first: Vec<(usize, usize)> = changed.iter().map(|&(factor, _)| (factor, 0)).collect();
        Some(self.mean_of(changed)? - self.mean_of(&first)?)
    }

    fn mean_of(&self, wanted: &[(usize, usize)]) -> Option<f64> {
        let is_there = |levels: &[usize]| wanted.iter().all(|&(factor, level)| levels[factor] == level);
        let logs: Vec<f64> =
            self.points.iter().filter(|(levels, _)| is_there(levels)).map(|(_, log)| *log).collect();
        mean(&logs)
    }

    fn pair(&self, factors: [usize; 2], levels: [usize; 2], tolerance: f64, how: Judgement) -> Pair {
        let [(f, l), (g, m)] = [(factors[0], levels[0]), (factors[1], levels[1])];
        let corners = |from: &[usize]| {
            let origin = self.with(from, &[(f, 0), (g, 0)])?;
            let step = |level, other| Some(self.with(from, &[(f, level), (g, other)])? - origin);
            Some([step(l, 0)?, step(0, m)?, step(l, m)?])
        };
        let there = self.points.iter().filter(|(at, _)| at[f] == l && at[g] == m);
        let squares: Vec<[f64; 3]> = there.filter_map(|(at, _)| corners(at)).collect();
        let interactions: Vec<f64> = squares.iter().map(|[a, b, both]| both - (a + b)).collect();
        let base = vec![0; self.levels.len()];
        let at_base = corners(&base);
        let clear = || {
            let mean = |level, other| self.mean_of(&[(f, level), (g, other)]);
            let origin = mean(0, 0)?;
            Some([mean(l, 0)? - origin, mean(0, m)? - origin, mean(l, m)? - origin])
        };
        let over_all =
            mean_square(&squares).or_else(|| if how.clear == Clear::Pairs { clear() } else { None });
        let sign = if how.more_is_better { 1.0 } else { -1.0 };
        // In other designs a verdict would stand there without its figures.
        let over_part = over_all.filter(|_| how.clear == Clear::Pairs);
        let judged = at_base.or(over_part).map(|gains| gains.map(|gain| sign * gain));
        let alone = |factor, level| Some(self.with(&base, &[(factor, level)])? - self.at(&base)?);
        Pair {
            factors,
            levels,
            alone: [alone(f, l).map(f64::exp), alone(g, m).map(f64::exp)],
            together: at_base.map(|[_, _, both]| both.exp()),
            interaction: at_base.map(|[a, b, both]| (both - (a + b)).exp()),
            average: mean(&interactions)
                .or_else(|| over_all.map(|[a, b, both]| both - (a + b)))
                .map(f64::exp),
            verdict: judged.map(|[a, b, both]| verdict(a, b, both, tolerance)),
        }
    }
}

/// How two techniques get along that alone gain `a` and `b`, together `both`: logarithms, of which more is
/// better, and less than `tolerance` is nothing.
pub fn verdict(a: f64, b: f64, both: f64, tolerance: f64) -> Verdict {
    let beyond = both - (a + b);
    if beyond.abs() <= tolerance {
        return Verdict::Add;
    }
    if beyond < 0.0 {
        return if both < a.max(b) - tolerance { Verdict::Fight } else { Verdict::Overlap };
    }
    // Two that harm, and together harm less than the sum but no less than the worse one alone.
    let harms_overlap = a < 0.0 && b < 0.0 && both <= a.min(b) + tolerance;
    if harms_overlap { Verdict::Overlap } else { Verdict::Help }
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

fn mean_square(squares: &[[f64; 3]]) -> Option<[f64; 3]> {
    let side = |side: usize| mean(&squares.iter().map(|square| square[side]).collect::<Vec<f64>>());
    Some([side(0)?, side(1)?, side(2)?])
}

/// The number of a point in the full grid. A grid of more points than that holds is refused long before.
fn number(levels: &[usize], point: &[usize]) -> u128 {
    levels.iter().zip(point).fold(0, |sum, (&count, &level)| sum * count as u128 + level as u128)
}

#[cfg(test)]
mod tests;
