//! Which points of a grid are run: all of them, or a fraction that still distinguishes factors.
//!
//! A fraction is *regular* where all factors have the same prime number `p` of levels and the number of
//! points is a power of it: the points are a linear code over the integers modulo `p`, so that any two
//! factors meet in every combination of their levels equally often (an orthogonal array of strength 2 at
//! least; Bose, "Mathematical theory of the symmetrical factorial design", Sankhyā 8, 1947; for two levels
//! Box and Hunter, "The 2^(k-p) fractional factorial designs", Technometrics 3, 1961). Otherwise points are
//! added one by one: of some random candidates the one whose levels, and pairs of levels, were chosen the
//! least so far.
//!
//! The point with every factor at its first level is always there.

use std::collections::BTreeSet;
use tailcut_base::BadValue;
use tailcut_base::random::Stream;

/// The points that are run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Design {
    /// How the points were chosen from the grid.
    pub kind: Kind,
    /// The level of each factor in each point; in the order of the grid, the last factor changing first.
    pub points: Vec<Vec<usize>>,
    /// Number of points of the full grid; [`u64::MAX`] for more than that.
    pub grid: u64,
}

/// How the points of a design were chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// All points.
    Full,
    /// An orthogonal fraction of that resolution: no effect of fewer factors than that, taken together, looks
    /// like the mean.
    Regular {
        /// From 3 on.
        resolution: u32,
    },
    /// A balanced sample.
    Spread,
}

/// Points of the full grid of factors with these numbers of levels.
pub fn size(levels: &[usize]) -> u64 {
    levels.iter().fold(1u64, |product, &levels| product.saturating_mul(levels as u64))
}

impl Design {
    /// Every point of the grid.
    ///
    /// # Errors
    /// There are more than [`MOST`].
    pub fn full(levels: &[usize]) -> Result<Design, BadValue> {
        let grid = size(levels);
        if grid > MOST {
            return Err(BadValue::new(format!(
                "the grid has {grid} points, more than {MOST}; run a part of it with --points, or vary less"
            )));
        }
        Ok(Design { kind: Kind::Full, points: (0..grid).map(|index| point(levels, index)).collect(), grid })
    }

    /// `wanted` points of the grid, or all where there are no more. `random` draws a sample where no regular
    /// fraction has as many.
    ///
    /// # Errors
    /// `wanted` is more than [`MOST`].
    pub fn fraction(levels: &[usize], wanted: u64, random: Stream) -> Result<Design, BadValue> {
        let grid = size(levels);
        if wanted >= grid {
            return Design::full(levels);
        }
        if wanted > MOST {
            return Err(BadValue::new(format!("{wanted} points are more than {MOST}; ask for fewer")));
        }
        if let Some((points, resolution)) = regular(levels, wanted) {
            return Ok(Design { kind: Kind::Regular { resolution }, points, grid });
        }
        Ok(Design { kind: Kind::Spread, points: spread(levels, wanted as usize, random), grid })
    }
}

/// The point of that number of the full grid.
fn point(levels: &[usize], mut index: u64) -> Vec<usize> {
    let mut point = vec![0; levels.len()];
    for (at, &levels) in point.iter_mut().zip(levels).rev() {
        *at = (index % levels as u64) as usize;
        index /= levels as u64;
    }
    point
}

/// A regular fraction and its resolution, if there is one.
fn regular(levels: &[usize], wanted: u64) -> Option<(Vec<Vec<usize>>, u32)> {
    let p = *levels.first()?;
    let is_prime = p >= 2 && (2..p).all(|divisor| p % divisor != 0);
    if !is_prime || levels.iter().any(|&other| other != p) {
        return None;
    }
    let dimensions = (1..=20).find(|&m| (p as u64).checked_pow(m) == Some(wanted))?;
    let (columns, resolution) = columns(p, dimensions as usize, levels.len())?;
    let basic = vec![p; dimensions as usize];
    let along = |x: &[usize], column: &[usize]| x.iter().zip(column).map(|(a, b)| a * b).sum::<usize>() % p;
    let mut points: Vec<Vec<usize>> = (0..wanted)
        .map(|index| {
            let x = point(&basic, index);
            columns.iter().map(|column| along(&x, column)).collect()
        })
        .collect();
    points.sort_unstable();
    Some((points, resolution))
}

/// A column of the code for each factor, and the resolution: any three columns are independent and so are any
/// four, if there are such columns, or else any three, or any two.
fn columns(p: usize, dimensions: usize, factors: usize) -> Option<(Vec<Vec<usize>>, u32)> {
    (1..=3).rev().find_map(|among| {
        let columns = columns_clear_of(among, p, dimensions, factors)?;
        // Each is clear of all that `among` others make, so that `among + 1` are independent.
        Some((columns, among as u32 + 2))
    })
}

/// Columns of which each is the first vector that `among` or fewer of those before it do not make.
fn columns_clear_of(among: usize, p: usize, dimensions: usize, factors: usize) -> Option<Vec<Vec<usize>>> {
    let basic = vec![p; dimensions];
    // What 0, 1, … columns or fewer make.
    let mut made = vec![BTreeSet::from([vec![0; dimensions]]); among + 1];
    let mut columns: Vec<Vec<usize>> = Vec::new();
    // A vector that was made once stays made, so that none needs a second look.
    let mut vectors = (1..p.pow(dimensions as u32) as u64).map(|index| point(&basic, index));
    while columns.len() < factors {
        let column = vectors.find(|vector| !made[among].contains(vector))?;
        for count in (1..=among).rev() {
            let fewer: Vec<Vec<usize>> = made[count - 1].iter().cloned().collect();
            for (vector, times) in fewer.iter().flat_map(|vector| (1..p).map(move |times| (vector, times))) {
                made[count].insert(vector.iter().zip(&column).map(|(a, b)| (a + times * b) % p).collect());
            }
        }
        columns.push(column);
    }
    Some(columns)
}

/// A balanced sample of different points.
fn spread(levels: &[usize], wanted: usize, mut random: Stream) -> Vec<Vec<usize>> {
    let offsets: Vec<usize> =
        levels.iter().scan(0, |sum, &count| Some(std::mem::replace(sum, *sum + count))).collect();
    let all: usize = levels.iter().sum();
    let mut met = vec![0u64; all * all];
    let mut chosen = BTreeSet::new();
    let mut next = vec![0; levels.len()];
    while chosen.len() < wanted {
        for_pairs(&next, &offsets, |a, b| met[a * all + b] += 1);
        chosen.insert(next.clone());
        if chosen.len() == wanted {
            break;
        }
        let mut best: Option<(u64, Vec<usize>)> = None;
        for _ in 0..CANDIDATES {
            let candidate = new_point(levels, &chosen, &mut random);
            let mut cost = 0;
            for_pairs(&candidate, &offsets, |a, b| cost += if a == b { 4 } else { 1 } * met[a * all + b]);
            if best.as_ref().is_none_or(|(least, _)| cost < *least) {
                best = Some((cost, candidate));
            }
        }
        next = best.expect("there are candidates").1;
    }
    chosen.into_iter().collect()
}

/// A random point that is not among `chosen`: where the draw is, the next one of the grid that is not.
fn new_point(levels: &[usize], chosen: &BTreeSet<Vec<usize>>, random: &mut Stream) -> Vec<usize> {
    let mut point: Vec<usize> = levels.iter().map(|&count| random.below(count as u64) as usize).collect();
    while chosen.contains(&point) {
        for (at, &count) in point.iter_mut().zip(levels).rev() {
            *at = (*at + 1) % count;
            if *at != 0 {
                break;
            }
        }
    }
    point
}

/// Every level of a point, as a pair with itself, and every pair of its levels.
fn for_pairs(point: &[usize], offsets: &[usize], mut with: impl FnMut(usize, usize)) {
    for (i, (a, from)) in point.iter().zip(offsets).enumerate() {
        for (b, to) in point.iter().zip(offsets).skip(i) {
            with(a + from, b + to);
        }
    }
}

/// The most points of a comparison: the scenario of each is kept in memory, some kilobytes.
pub const MOST: u64 = 100_000;

/// Random points of which the best is taken.
const CANDIDATES: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn stream(seed: u64) -> Stream {
        Stream::new(seed, "fraction")
    }

    /// How often each combination of levels of these factors occurs.
    fn counts(design: &Design, factors: &[usize]) -> BTreeMap<Vec<usize>, usize> {
        let mut counts = BTreeMap::new();
        for point in &design.points {
            *counts.entry(factors.iter().map(|&factor| point[factor]).collect()).or_default() += 1;
        }
        counts
    }

    #[test]
    fn the_last_factor_changes_first() {
        let design = Design::full(&[2, 3]).expect("it is small");
        assert_eq!(design.points[0], [0, 0]);
        assert_eq!(design.points[1], [0, 1]);
        assert_eq!((design.points[5].as_slice(), design.grid), ([1, 2].as_slice(), 6));
        assert!(Design::full(&[1000; 8]).is_err());
    }

    #[test]
    fn a_regular_fraction_is_orthogonal() {
        for (p, factors, points, resolution) in [
            (2, 4, 8, 4),
            (2, 5, 16, 5),
            (2, 7, 8, 3),
            (2, 8, 16, 4),
            (2, 5, 8, 3),
            (3, 4, 9, 3),
            (3, 5, 81, 5),
            (5, 3, 25, 3),
        ] {
            let design = Design::fraction(&vec![p; factors], points, stream(1)).expect("it is small");
            let Kind::Regular { resolution: found } = design.kind else {
                panic!("{p}^{factors} in {points}")
            };
            assert_eq!(found, resolution, "{p}^{factors} in {points}");
            assert_eq!(design.points.len() as u64, points);
            assert_eq!(design.points[0], vec![0; factors], "the base point is there");
            let strength = resolution as usize - 1;
            for a in 0..factors {
                for b in a + 1..factors {
                    let met = counts(&design, &[a, b]);
                    let each = points as usize / (p * p);
                    assert!(met.len() == p * p && met.values().all(|&count| count == each), "{p}^{factors}");
                    for c in b + 1..factors {
                        if strength >= 3 {
                            let met = counts(&design, &[a, b, c]);
                            assert_eq!(met.len(), p * p * p, "{p}^{factors} in {points}: {a} {b} {c}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn other_fractions_are_balanced() {
        let levels = [2, 3, 4, 2, 5];
        let design = Design::fraction(&levels, 60, stream(7)).expect("it is small");
        assert_eq!((design.kind, design.points.len()), (Kind::Spread, 60));
        assert_eq!(design.points[0], [0; 5], "the base point is there");
        for (factor, &count) in levels.iter().enumerate() {
            let (mean, met) = (60 / count, counts(&design, &[factor]));
            assert!(met.values().all(|&n| n.abs_diff(mean) <= 2), "factor {factor}: {met:?}");
        }
        assert_eq!(
            design,
            Design::fraction(&levels, 60, stream(7)).expect("it is small"),
            "one seed, one design"
        );
        assert_ne!(design, Design::fraction(&levels, 60, stream(8)).expect("it is small"));
    }

    #[test]
    fn a_fraction_of_everything_is_the_full_grid() {
        assert_eq!(Design::fraction(&[2, 2], 9, stream(1)), Design::full(&[2, 2]));
        let nearly = Design::fraction(&[3, 2, 2], 11, stream(1)).expect("it is small");
        assert_eq!(nearly.points.len(), 11);
    }
}
