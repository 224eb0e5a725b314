//! What factors do to a quantity, alone and in company.
//!
//! Everything is reckoned in logarithms of the quantity, so that effects are ratios and their means
//! geometric. `docs/decisions/compare.md` has the definitions with examples.

use super::results::{Effects, Main, Pair, Verdict};
use std::collections::BTreeMap;

/// A point with the values of a quantity, one for each seed; those that are not positive have no logarithm
/// and are left out.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// The level of each factor, by number.
    pub levels: Vec<usize>,
    /// The value of the quantity with each seed.
    pub values: Vec<f64>,
}

/// How effects are judged.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Judgement {
    /// Ratios that differ by no more than this share from 1 are taken as no difference, however small the
    /// noise.
    pub floor: f64,
    /// Whether more of the quantity is better.
    pub more_is_better: bool,
    /// Effects that can be estimated from means over points that differ in several factors.
    pub clear: Clear,
}

/// Effects of a design that are not confounded with those of other factors ("clear" in the design of
/// experiments).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Clear {
    /// None: points are missing, so that the levels of the other factors differ between the two means.
    Nothing,
    /// Effects of one factor.
    Mains,
    /// Effects of one and of two factors: orthogonal designs of resolution 5.
    Pairs,
}

/// The effects of factors with `levels` levels on the quantity of that name.
pub fn effects(quantity: &str, levels: &[usize], samples: &[Sample], how: Judgement) -> Effects {
    let grid = Grid::new(levels, samples);
    let tolerance = (1.0 + how.floor).ln().max(grid.least_certain());
    let main = |change| grid.main(change, how.clear);
    let mut pairs = Vec::new();
    for one in raised(levels) {
        for other in raised(levels).filter(|other| other.factor > one.factor) {
            pairs.push(grid.pair([one, other], tolerance, how));
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

/// A factor set to one of its levels, both by index.
#[derive(Clone, Copy)]
struct FactorLevel {
    factor: usize,
    level: usize,
}

impl FactorLevel {
    /// This factor at its first level.
    fn at_base(self) -> FactorLevel {
        FactorLevel { level: 0, ..self }
    }

    fn is_in(self, levels: &[usize]) -> bool {
        levels[self.factor] == self.level
    }
}

/// Every level but the first of every factor.
fn raised(levels: &[usize]) -> impl Iterator<Item = FactorLevel> + '_ {
    let of_factor =
        |(factor, &count): (usize, &usize)| (1..count).map(move |level| FactorLevel { factor, level });
    levels.iter().enumerate().flat_map(of_factor)
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

    /// Two standard errors of an interaction, which is made of four points: nineteen times in twenty noise
    /// alone makes no more than that.
    fn least_certain(&self) -> f64 {
        self.noise.map_or(0.0, |noise| 2.0 * noise * (4.0 / self.seeds.max(1) as f64).sqrt())
    }

    fn at(&self, levels: &[usize]) -> Option<f64> {
        self.logs.get(&number(self.levels, levels)).copied()
    }

    /// The logarithm at `levels` with some factors changed.
    fn with(&self, levels: &[usize], changes: &[FactorLevel]) -> Option<f64> {
        let mut levels = levels.to_vec();
        for change in changes {
            levels[change.factor] = change.level;
        }
        self.at(&levels)
    }

    fn main(&self, change: FactorLevel, clear: Clear) -> Main {
        let step = |from: &[usize]| Some(self.with(from, &[change])? - self.with(from, &[change.at_base()])?);
        let base = vec![0; self.levels.len()];
        let last: Vec<usize> = self.levels.iter().map(|count| count - 1).collect();
        let changed = self.points.iter().filter(|(levels, _)| change.is_in(levels));
        let steps: Vec<f64> = changed.filter_map(|(levels, _)| step(levels)).collect();
        let contrast = || if clear >= Clear::Mains { self.contrast(change) } else { None };
        let average = mean(&steps).or_else(contrast);
        Main {
            factor: change.factor,
            level: change.level,
            alone: step(&base).map(f64::exp),
            in_company: step(&last).map(f64::exp),
            average: average.map(f64::exp),
            least: steps.iter().copied().min_by(f64::total_cmp).map(f64::exp),
            most: steps.iter().copied().max_by(f64::total_cmp).map(f64::exp),
        }
    }

    /// The mean of the points with this level less the mean of those with the factor's first level: the
    /// estimate of an orthogonal design, in which no two points need differ in one factor only.
    fn contrast(&self, change: FactorLevel) -> Option<f64> {
        Some(self.mean_of(&[change])? - self.mean_of(&[change.at_base()])?)
    }

    /// The mean of the points that have all of these levels.
    fn mean_of(&self, wanted: &[FactorLevel]) -> Option<f64> {
        let matching =
            self.points.iter().filter(|(levels, _)| wanted.iter().all(|setting| setting.is_in(levels)));
        mean(&matching.map(|(_, log)| *log).collect::<Vec<f64>>())
    }

    fn pair(&self, [one, other]: [FactorLevel; 2], tolerance: f64, how: Judgement) -> Pair {
        // The gains of the first alone, of the second alone, and of both over neither.
        let gains = |at: &dyn Fn(&[FactorLevel]) -> Option<f64>| {
            let (first, second) = (one.at_base(), other.at_base());
            let origin = at(&[first, second])?;
            Some([at(&[one, second])? - origin, at(&[first, other])? - origin, at(&[one, other])? - origin])
        };
        let corners = |from: &[usize]| gains(&|changes: &[FactorLevel]| self.with(from, changes));
        let both = self.points.iter().filter(|(levels, _)| one.is_in(levels) && other.is_in(levels));
        let squares: Vec<[f64; 3]> = both.filter_map(|(levels, _)| corners(levels)).collect();
        let interactions: Vec<f64> = squares.iter().map(|[a, b, both]| both - (a + b)).collect();
        let base = vec![0; self.levels.len()];
        let at_base = corners(&base);
        let is_clear = how.clear == Clear::Pairs;
        let contrasts = || gains(&|wanted: &[FactorLevel]| self.mean_of(wanted));
        let over_all = mean_square(&squares).or_else(|| if is_clear { contrasts() } else { None });
        let sign = if how.more_is_better { 1.0 } else { -1.0 };
        // Without the base point the page has no effects to print beside a verdict; only in a design made for
        // it is there one.
        let judged = at_base.or(over_all.filter(|_| is_clear)).map(|gains| gains.map(|gain| sign * gain));
        let alone = |change| Some(self.with(&base, &[change])? - self.at(&base)?);
        Pair {
            factors: [one.factor, other.factor],
            levels: [one.level, other.level],
            alone: [alone(one).map(f64::exp), alone(other).map(f64::exp)],
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
