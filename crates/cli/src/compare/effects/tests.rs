//! Known effects are recovered.

use super::*;
use crate::compare::design::Design;
use proptest::prelude::*;
use tailcut_base::random::Stream;

const LESS: Judgement = Judgement { floor: 0.05, more_is_better: false, clear: Clear::Nothing };

/// The full grid, with the quantity that `law` computes for a point.
fn grid(levels: &[usize], law: impl Fn(&[usize]) -> f64) -> Vec<Sample> {
    let points = Design::full(levels).expect("it is small").points;
    points.into_iter().map(|levels| Sample { values: vec![law(&levels)], levels }).collect()
}

fn close(a: Option<f64>, b: f64) -> bool {
    a.is_some_and(|a| (a - b).abs() < 1e-9)
}

/// A latency of 8 ms; the first factor halves it, the second reduces it by a fifth.
fn independent(point: &[usize]) -> f64 {
    8e6 * [1.0, 0.5][point[0]] * [1.0, 0.8][point[1]]
}

#[test]
fn techniques_that_know_nothing_of_each_other_add() {
    let found = effects("p99", &[2, 2], &grid(&[2, 2], independent), LESS);
    let main = &found.mains[0];
    assert!(close(main.alone, 0.5) && close(main.in_company, 0.5) && close(main.average, 0.5));
    let pair = &found.pairs[0];
    assert!(close(pair.together, 0.4) && close(pair.interaction, 1.0));
    assert_eq!(pair.verdict, Some(Verdict::Add));
}

#[test]
fn techniques_that_remove_the_same_wait_overlap() {
    // Either factor removes the whole wait.
    let law = |point: &[usize]| if point == [0, 0] { 8.0 } else { 2.0 };
    let found = effects("p99", &[2, 2], &grid(&[2, 2], law), LESS);
    assert!(close(found.mains[0].alone, 0.25) && close(found.mains[0].in_company, 1.0));
    assert_eq!(found.pairs[0].verdict, Some(Verdict::Overlap));
    assert!(close(found.mains[0].average, 0.5), "the geometric mean of 1/4 and 1");
    assert!(close(found.mains[0].least, 0.25) && close(found.mains[0].most, 1.0));
}

#[test]
fn techniques_that_are_in_each_others_way_fight_and_others_help() {
    let fight = |point: &[usize]| [[8.0, 4.0], [4.0, 6.0]][point[0]][point[1]];
    assert_eq!(effects("p99", &[2, 2], &grid(&[2, 2], fight), LESS).pairs[0].verdict, Some(Verdict::Fight));
    let help = |point: &[usize]| [[8.0, 8.0], [8.0, 2.0]][point[0]][point[1]];
    assert_eq!(effects("p99", &[2, 2], &grid(&[2, 2], help), LESS).pairs[0].verdict, Some(Verdict::Help));
    // The same numbers as a throughput.
    let more = Judgement { more_is_better: true, ..LESS };
    assert_eq!(effects("iops", &[2, 2], &grid(&[2, 2], help), more).pairs[0].verdict, Some(Verdict::Fight));
}

#[test]
fn verdicts_by_example() {
    let cases = [
        (0.7, 0.3, 1.0, Verdict::Add),
        (0.7, 0.3, 0.7, Verdict::Overlap),
        (0.7, 0.3, 0.69, Verdict::Overlap),
        (0.7, 0.3, 0.5, Verdict::Fight),
        (0.7, 0.3, 1.5, Verdict::Help),
        (0.7, -0.3, 0.4, Verdict::Add),
        (0.7, -0.3, 0.0, Verdict::Fight),
        (0.7, -0.3, 0.7, Verdict::Help),
        (-0.5, -0.5, -0.6, Verdict::Overlap),
        (-0.5, -0.5, -0.1, Verdict::Help),
        (-0.5, -0.5, -2.0, Verdict::Fight),
        (0.0, 0.0, 0.04, Verdict::Add),
    ];
    for (a, b, both, wanted) in cases {
        assert_eq!(verdict(a, b, both, 0.05), wanted, "{a} and {b} make {both}");
        assert_eq!(verdict(b, a, both, 0.05), wanted, "the order of the two does not matter");
    }
}

#[test]
fn noise_between_seeds_widens_the_tolerance() {
    let noisy: Vec<Sample> = grid(&[2, 2], independent)
        .into_iter()
        .map(|sample| Sample { values: [0.8, 1.0, 1.25].map(|f| f * sample.values[0]).into(), ..sample })
        .collect();
    let found = effects("p99", &[2, 2], &noisy, LESS);
    let noise = found.noise.expect("three seeds");
    assert!((noise - 1.25f64.ln()).abs() < 1e-9, "{noise}");
    assert!((found.tolerance - (4.0 * noise / 3f64.sqrt()).exp_m1()).abs() < 1e-9);
    assert!(close(found.mains[0].alone, 0.5), "the geometric mean of the seeds is exact");
    assert_eq!(effects("p99", &[2, 2], &grid(&[2, 2], independent), LESS).noise, None, "one seed");
}

#[test]
fn what_is_missing_is_left_out_and_the_rest_is_said() {
    let mut samples = grid(&[2, 3], independent_of_three);
    samples[0].values = vec![0.0];
    let found = effects("p99", &[2, 3], &samples, LESS);
    assert!(found.mains[0].alone.is_none(), "a zero has no logarithm");
    assert!(close(found.mains[0].in_company, 0.5));
    assert!(close(found.mains[0].average, 0.5), "of the two pairs that there are");
    assert!(found.pairs[0].verdict.is_none() && found.pairs[0].average.is_none());
}

#[test]
fn a_technique_whose_partners_are_missing_has_no_average() {
    // The second factor requires the first, which alone halves the latency.
    let samples =
        grid(&[2, 2], independent).into_iter().filter(|sample| sample.levels[0] == sample.levels[1]);
    let found = effects("p99", &[2, 2], &samples.collect::<Vec<Sample>>(), LESS);
    assert!(found.mains.iter().all(|main| main.average.is_none()), "{:?}", found.mains);
}

fn independent_of_three(point: &[usize]) -> f64 {
    9.0 * [1.0, 0.5][point[0]] * [1.0, 0.7, 1.4][point[1]]
}

#[test]
fn an_orthogonal_fraction_finds_the_effects_of_the_grid() {
    let law = |p: &[usize]| {
        let (a, b, c, d, e) = (p[0] as f64, p[1] as f64, p[2] as f64, p[3] as f64, p[4] as f64);
        (3.0 - 0.7 * a - 0.2 * b + 0.4 * c - 0.1 * d + 0.3 * e + 0.5 * a * b).exp()
    };
    let levels = [2; 5];
    let design = Design::fraction(&levels, 16, Stream::new(1, "fraction")).expect("it is small");
    let samples: Vec<Sample> =
        design.points.into_iter().map(|levels| Sample { values: vec![law(&levels)], levels }).collect();
    let how = Judgement { clear: Clear::Pairs, ..LESS };
    let found = effects("p99", &levels, &samples, how);
    let full = effects("p99", &levels, &grid(&levels, law), how);
    for (part, whole) in found.mains.iter().zip(&full.mains) {
        assert!(close(part.average, whole.average.expect("the grid is full")), "{part:?} {whole:?}");
    }
    assert!(close(found.pairs[0].average, 0.5f64.exp()), "{:?}", found.pairs[0]);
    assert_eq!(found.pairs[1].verdict, Some(Verdict::Add));
    assert_eq!(full.pairs[0].verdict, Some(Verdict::Fight), "the planted pair is in its own way");
}

proptest! {
    /// Whatever the other factors do, multiplicative effects are found exactly, and add up.
    #[test]
    fn planted_products_are_found(
        factors in proptest::collection::vec(proptest::collection::vec(0.05f64..20.0, 1..3), 1..5),
        base in 1.0f64..1e9,
    ) {
        let levels: Vec<usize> = factors.iter().map(|ratios| ratios.len() + 1).collect();
        let ratio = |factor: usize, level: usize| if level == 0 { 1.0 } else { factors[factor][level - 1] };
        let law = |point: &[usize]| point.iter().enumerate().map(|(f, &l)| ratio(f, l)).product::<f64>() * base;
        let found = effects("x", &levels, &grid(&levels, law), LESS);
        for main in &found.mains {
            let want = ratio(main.factor, main.level);
            for got in [main.alone, main.in_company, main.average, main.least, main.most] {
                prop_assert!((got.expect("the grid is full") / want - 1.0).abs() < 1e-9);
            }
        }
        for pair in &found.pairs {
            prop_assert_eq!(pair.verdict, Some(Verdict::Add));
        }
    }

    /// A known interaction of two factors is found, whatever the other effects, and for no other pair.
    #[test]
    fn a_planted_interaction_is_found(ratios in proptest::array::uniform3(0.2f64..5.0), more in 0.3f64..3.0) {
        let law = |p: &[usize]| {
            let alone: f64 = (0..3).filter(|&f| p[f] == 1).map(|f| ratios[f]).product();
            if p[0] == 1 && p[1] == 1 { alone * more } else { alone }
        };
        let found = effects("x", &[2, 2, 2], &grid(&[2, 2, 2], law), LESS);
        for pair in &found.pairs {
            let want = if pair.factors == [0, 1] { more } else { 1.0 };
            prop_assert!((pair.interaction.expect("full") / want - 1.0).abs() < 1e-9);
            prop_assert!((pair.average.expect("full") / want - 1.0).abs() < 1e-9);
        }
        let is_small = more.ln().abs() <= 1.05f64.ln();
        prop_assert_eq!(found.pairs[0].verdict == Some(Verdict::Add), is_small);
    }
}
