//! From finished runs to results: quantities of points, ranks, effects.

use super::cells::{Cell, Cells};
use super::design::{Design, Kind};
use super::effects::{Clear, Judgement, Sample, effects};
use super::request::Request;
use super::results::{self, Effects, FORMAT, Factor, Head, Point, Results, RunOf};
use crate::scenario::{self, Comments};
use crate::sweep::{Outcome, Quantity, Records, RunResult};
use std::collections::BTreeMap;

/// The results of all that is in `records`.
pub fn assemble(request: &Request, design: &Design, cells: &Cells, records: &Records) -> Results {
    let quantities = request.quantities();
    let point = |cell: &Cell| point(cell, &request.factors, &quantities, records);
    let mut points: Vec<Point> = cells.cells.iter().map(point).collect();
    let missing = points.iter().filter(|point| point.runs.len() as u64 != request.seeds).count() as u64;
    rank(&mut points, &request.by);
    if let Some(other) = &request.pareto {
        mark_pareto(&mut points, &request.by, other);
    }
    let mut base = cells.base.clone();
    Results {
        format: FORMAT,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        scenario: scenario::write(&mut base, Comments::Left),
        by: request.by.to_string(),
        seeds: (0..request.seeds).map(|offset| base.seed.wrapping_add(offset)).collect(),
        design: results::Design {
            kind: kind(design.kind).to_owned(),
            grid: design.grid,
            impossible: cells.impossible.clone(),
            ineffective: cells.ineffective.clone(),
            missing,
            resolution: if let Kind::Regular { resolution } = design.kind { resolution } else { 0 },
        },
        factors: request.factors.clone(),
        effects: all_effects(request, design, &quantities, &points),
        quantities: quantities.iter().map(head).collect(),
        pareto: request.pareto.as_ref().map(|other| [request.by.to_string(), other.to_string()]),
        points,
    }
}

fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Full => "full",
        Kind::Regular { .. } => "regular",
        Kind::Spread => "spread",
    }
}

fn head(quantity: &Quantity) -> Head {
    Head {
        name: quantity.to_string(),
        unit: quantity.unit().symbol().to_owned(),
        more_is_better: quantity.more_is_better(),
    }
}

fn point(cell: &Cell, factors: &[Factor], quantities: &[Quantity], records: &Records) -> Point {
    let (mut unresolved, mut volatile_cache, mut overloaded) = (Vec::new(), false, false);
    let mut missing = BTreeMap::new();
    let mut runs = Vec::new();
    for run in &cell.runs {
        let Some(ended) = records.get(&run.digest) else { continue };
        volatile_cache |= ended.outcome().is_some_and(|outcome| outcome.report["volatile_cache"] == true);
        overloaded |= ended.outcome().is_some_and(|outcome| outcome.report["overload"].is_object());
        if let Some(outcome) = ended.outcome() {
            note_missing(&mut missing, outcome, quantities);
        }
        runs.push(run_of(run.scenario.seed, &run.digest, &ended, quantities, &mut unresolved));
    }
    let names = factors.iter().zip(&cell.levels);
    let error = runs.iter().find_map(|run| run.error.clone());
    let whole = error.is_none() && runs.len() == cell.runs.len();
    let over_seeds = |quantity: &Quantity| {
        let name = quantity.to_string();
        let values: Option<Vec<f64>> = runs.iter().map(|run| run.quantities.get(&name).copied()?).collect();
        (name, values.filter(|_| whole).map(|values| typical(&values)))
    };
    Point {
        levels: cell.levels.clone(),
        settings: names.map(|(f, &level)| (f.name.clone(), f.levels[level].name.clone())).collect(),
        rank: None,
        pareto: false,
        quantities: quantities.iter().map(over_seeds).collect(),
        unresolved,
        requests_missing: missing,
        volatile_cache,
        overloaded,
        runs,
        error,
    }
}

/// Notes the percentiles that a run has no figure of, with the most requests that a run of the point is short
/// of.
fn note_missing(missing: &mut BTreeMap<String, u64>, outcome: &Outcome, quantities: &[Quantity]) {
    for quantity in quantities {
        if let Some(requests) = quantity.requests_missing(outcome) {
            let most = missing.entry(quantity.to_string()).or_default();
            *most = requests.max(*most);
        }
    }
}

fn run_of(
    seed: u64,
    digest: &str,
    ended: &RunResult,
    quantities: &[Quantity],
    unresolved: &mut Vec<String>,
) -> RunOf {
    let mut values = BTreeMap::new();
    if let Some(outcome) = ended.outcome() {
        for quantity in quantities {
            let is_measured = quantity.requests_missing(outcome).is_none();
            let (name, figure) = (quantity.to_string(), quantity.of(outcome).filter(|_| is_measured));
            if figure.is_some_and(|figure| !figure.resolved) && !unresolved.contains(&name) {
                unresolved.push(name.clone());
            }
            values.insert(name, figure.map(|figure| figure.value));
        }
    }
    RunOf {
        seed,
        digest: digest.to_owned(),
        history: ended.outcome().and_then(|outcome| outcome.history().map(str::to_owned)),
        quantities: values,
        error: ended.error().map(str::to_owned),
    }
}

/// The geometric mean, or the mean where a value is not positive.
fn typical(values: &[f64]) -> f64 {
    let count = values.len() as f64;
    match values {
        [one] => *one,
        _ if values.iter().all(|value| *value > 0.0) => {
            (values.iter().map(|value| value.ln()).sum::<f64>() / count).exp()
        }
        _ => values.iter().sum::<f64>() / count,
    }
}

/// The value of a quantity such that less is better.
fn cost(point: &Point, quantity: &Quantity) -> Option<f64> {
    let value = point.quantities.get(&quantity.to_string()).copied()??;
    Some(if quantity.more_is_better() { -value } else { value })
}

/// Points of one value have one rank.
fn rank(points: &mut [Point], by: &Quantity) {
    let mut order: Vec<(f64, usize)> =
        points.iter().enumerate().filter_map(|(index, point)| Some((cost(point, by)?, index))).collect();
    order.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let mut rank = 0;
    for (place, &(cost, index)) in order.iter().enumerate() {
        if place == 0 || order[place - 1].0 != cost {
            rank = place + 1;
        }
        points[index].rank = Some(rank);
    }
}

/// Marks what is best in `a` among all that are as good in `b`, and the other way round.
fn mark_pareto(points: &mut [Point], a: &Quantity, b: &Quantity) {
    let costs = |(index, point)| Some((cost(point, a)?, cost(point, b)?, index));
    let mut order: Vec<(f64, f64, usize)> = points.iter().enumerate().filter_map(costs).collect();
    order.sort_by(|x, y| x.0.total_cmp(&y.0).then(x.1.total_cmp(&y.1)));
    let mut best: Option<(f64, f64)> = None;
    for (of_a, of_b, index) in order {
        let is_equal = best == Some((of_a, of_b));
        if is_equal || best.is_none_or(|(_, least)| of_b < least) {
            points[index].pareto = true;
            best = Some((of_a, of_b));
        }
    }
}

fn all_effects(
    request: &Request,
    design: &Design,
    quantities: &[Quantity],
    points: &[Point],
) -> Vec<Effects> {
    let levels = request.levels();
    let of = |quantity: &Quantity| {
        let name = quantity.to_string();
        let sample = |point: &Point| {
            let values: Option<Vec<f64>> = point.runs.iter().map(|run| *run.quantities.get(&name)?).collect();
            let values =
                values.filter(|values| point.error.is_none() && values.len() as u64 == request.seeds)?;
            Some(Sample { levels: point.levels.clone(), values })
        };
        let samples: Vec<Sample> = points.iter().filter_map(sample).collect();
        let how = Judgement {
            floor: request.floor(),
            more_is_better: quantity.more_is_better(),
            clear: match design.kind {
                _ if samples.len() < design.points.len() => Clear::Nothing,
                Kind::Regular { resolution: 5.. } => Clear::Pairs,
                Kind::Full | Kind::Regular { .. } | Kind::Spread => Clear::Mains,
            },
        };
        (!samples.is_empty()).then(|| effects(&name, &levels, &samples, how))
    };
    quantities.iter().filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(values: &[(Option<f64>, f64)]) -> (Vec<Point>, Quantity, Quantity) {
        let (a, b) = (Quantity::parse("mean").expect("good"), Quantity::parse("iops").expect("good"));
        let point = |&(of_a, of_b): &(Option<f64>, f64)| Point {
            levels: Vec::new(),
            settings: BTreeMap::new(),
            rank: None,
            pareto: false,
            quantities: BTreeMap::from([(a.to_string(), of_a), (b.to_string(), Some(of_b))]),
            volatile_cache: false,
            overloaded: false,
            unresolved: Vec::new(),
            requests_missing: BTreeMap::new(),
            runs: Vec::new(),
            error: None,
        };
        (values.iter().map(point).collect(), a, b)
    }

    #[test]
    fn equal_points_share_a_rank_and_unknown_ones_have_none() {
        let (mut points, a, b) = points(&[(Some(3.0), 1.0), (None, 9.0), (Some(2.0), 4.0), (Some(3.0), 2.0)]);
        rank(&mut points, &a);
        assert_eq!(points.iter().map(|p| p.rank).collect::<Vec<_>>(), [Some(2), None, Some(1), Some(2)]);
        rank(&mut points, &b);
        assert_eq!(points[1].rank, Some(1), "more requests per second are better");
    }

    #[test]
    fn what_no_other_beats_is_marked() {
        let (mut points, a, b) = points(&[
            (Some(1.0), 1.0),
            (Some(2.0), 5.0),
            (Some(3.0), 4.0),
            (Some(2.0), 5.0),
            (Some(2.0), 3.0),
        ]);
        mark_pareto(&mut points, &a, &b);
        assert_eq!(points.iter().map(|p| p.pareto).collect::<Vec<_>>(), [true, true, false, true, false]);
    }

    #[test]
    fn seeds_are_averaged_geometrically_where_that_is_possible() {
        assert_eq!(typical(&[7.0]), 7.0);
        assert!((typical(&[2.0, 8.0]) - 4.0).abs() < 1e-12);
        assert_eq!(typical(&[0.0, 8.0]), 4.0);
    }
}
