//! Address patterns compared with theory.

use proptest::prelude::*;
use rand_core::SeedableRng;
use rand_distr::Distribution;
use rand_xoshiro::Xoshiro256PlusPlus;
use tailcut_base::random::Stream;
use tailcut_workload::address::{Address, Pattern, Place, Zone};

/// Number of hits of each of `slots` slots in `n` draws.
fn hits(pattern: &Pattern, slots: u64, n: u64) -> Vec<u64> {
    let mut stream = Stream::new(11, "test");
    let mut address = Address::new(pattern, slots, 3);
    let mut hits = vec![0; slots as usize];
    for _ in 0..n {
        hits[address.draw(&mut stream) as usize] += 1;
    }
    hits
}

/// Pearson's statistic, normalised to mean 0 and deviation 1 for many degrees of freedom.
fn excess(observed: &[u64], expected: impl Fn(usize) -> f64) -> f64 {
    let terms = observed.iter().enumerate().map(|(i, &o)| (o as f64 - expected(i)).powi(2) / expected(i));
    let freedom = observed.len() as f64 - 1.0;
    (terms.sum::<f64>() - freedom) / (2.0 * freedom).sqrt()
}

#[test]
fn uniform_passes_a_chi_square_test() {
    let (slots, n) = (1000, 1_000_000);
    let z = excess(&hits(&Pattern::Uniform, slots, n), |_| n as f64 / slots as f64);
    assert!(z.abs() < 4.0, "z = {z}");
}

#[test]
fn zipf_passes_a_chi_square_test_for_exponents_below_at_and_above_one() {
    let (slots, n) = (500u64, 2_000_000u64);
    for theta in [0.2, 0.8, 0.99, 1.0, 1.2, 2.0] {
        let zeta: f64 = (1..=slots).map(|k| (k as f64).powf(-theta)).sum();
        let expected = |i: usize| n as f64 * ((i + 1) as f64).powf(-theta) / zeta;
        let ranks = hits(&Pattern::Zipf { theta, place: Place::From(0) }, slots, n);
        let z = excess(&ranks, expected);
        assert!(z.abs() < 4.5, "theta {theta}: z = {z}");
    }
}

#[test]
fn zipf_agrees_with_rand_distr() {
    let (slots, n) = (100_000u64, 400_000u64);
    for theta in [0.5, 0.99, 1.0, 1.3] {
        let ours = hits(&Pattern::Zipf { theta, place: Place::From(0) }, slots, n);
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(5);
        let zipf = rand_distr::Zipf::new(slots as f64, theta).expect("valid parameters");
        let mut theirs = vec![0u64; slots as usize];
        for _ in 0..n {
            theirs[zipf.sample(&mut rng) as usize - 1] += 1;
        }
        // Shares of the head, for growing lengths; the tolerance is five standard errors.
        for head in [1, 2, 3, 10, 100, 1_000, 30_000] {
            let share = |hits: &[u64]| hits[..head].iter().sum::<u64>() as f64 / n as f64;
            let (a, b) = (share(&ours), share(&theirs));
            let error = 5.0 * (2.0 * a * (1.0 - a) / n as f64).sqrt();
            assert!((a - b).abs() < error, "theta {theta}, head {head}: {a} against {b}");
        }
    }
}

#[test]
fn the_formula_of_ycsb_is_biased_at_the_head_and_zipf_is_not() {
    let (slots, n, theta) = (1_000u64, 2_000_000u64, 0.99);
    let zeta: f64 = (1..=slots).map(|k| (k as f64).powf(-theta)).sum();
    let third = |pattern: Pattern| hits(&pattern, slots, n)[2] as f64 / n as f64;
    let exact = 3f64.powf(-theta) / zeta;
    let place = Place::From(0);
    let error = |share: f64| (share - exact).abs();
    assert!(error(third(Pattern::Zipf { theta, place })) < 0.0008);
    assert!(error(third(Pattern::ZipfYcsb { theta, place })) > 0.002);
}

#[test]
fn scattered_hot_slots_are_spread_and_lose_nothing_of_their_heat() {
    let (slots, n) = (4096u64, 400_000);
    let heat = |place| {
        let mut hits = hits(&Pattern::Zipf { theta: 1.0, place }, slots, n);
        let first_half: u64 = hits[..2048].iter().sum();
        hits.sort_unstable_by(|a, b| b.cmp(a));
        (first_half as f64 / n as f64, hits[..40].iter().sum::<u64>() as f64 / n as f64)
    };
    let (scattered_half, scattered_top) = heat(Place::Scattered);
    let (plain_half, plain_top) = heat(Place::From(0));
    assert!((scattered_top - plain_top).abs() < 0.01);
    assert!(plain_half > 0.9 && scattered_half < 0.75, "{plain_half} {scattered_half}");
}

#[test]
fn hot_and_cold_get_their_shares() {
    let (slots, n) = (10_000, 1_000_000);
    let mut hits = hits(&Pattern::HotCold { space_ppm: 100_000, access_ppm: 900_000 }, slots, n);
    hits.sort_unstable_by(|a, b| b.cmp(a));
    let hot: u64 = hits[..1000].iter().sum();
    assert!((hot as f64 / n as f64 - 0.9).abs() < 0.002);
    let z = excess(&hits[..1000], |_| hot as f64 / 1000.0);
    assert!(z.abs() < 4.5, "z = {z}");
}

#[test]
fn zones_get_their_shares() {
    let zone = |access: u32, space: u32| Zone { access_ppm: access * 10_000, space_ppm: space * 10_000 };
    let zones = Pattern::Zoned(vec![zone(60, 10), zone(30, 20), zone(8, 30), zone(2, 40)]);
    let n = 1_000_000;
    let hits = hits(&zones, 1000, n);
    for (range, share) in [(0..100, 0.60), (100..300, 0.30), (300..600, 0.08), (600..1000, 0.02)] {
        let measured = hits[range.clone()].iter().sum::<u64>() as f64 / n as f64;
        assert!((measured - share).abs() < 0.003, "{range:?}: {measured}");
    }
}

#[test]
fn pareto_keeps_the_rule_of_its_power_within_itself() {
    // A share 1-h of the requests goes to a share h of the slots, applied twice.
    let (slots, n, h) = (10_000, 1_000_000, 0.2);
    let hits = hits(&Pattern::Pareto { h, place: Place::From(0) }, slots, n);
    let share = |slots: usize| hits[..slots].iter().sum::<u64>() as f64 / n as f64;
    assert!((share(2000) - 0.8).abs() < 0.005, "{}", share(2000));
    assert!((share(400) - 0.64).abs() < 0.005, "{}", share(400));
}

#[test]
fn normal_has_its_centre_and_width() {
    let (slots, n) = (12_000u64, 500_000);
    // Twelve uniform draws: 12 000 / 12 = 1000. A uniform width of 2400 adds 2400²/12.
    for (centre_ppm, width_ppm, expected) in
        [(500_000, 0, 1000.0), (500_000, 200_000, 1216.6), (400_000, 0, 1000.0)]
    {
        let hits = hits(&Pattern::Normal { width_ppm, centre_ppm }, slots, n);
        let mean = hits.iter().enumerate().map(|(i, &h)| i as f64 * h as f64).sum::<f64>() / n as f64;
        let square = |(i, &h): (usize, &u64)| (i as f64 - mean).powi(2) * h as f64;
        let deviation = (hits.iter().enumerate().map(square).sum::<f64>() / n as f64).sqrt();
        let centre = slots as f64 * f64::from(centre_ppm) / 1e6;
        assert!((mean - centre).abs() < 10.0, "mean {mean}");
        assert!((deviation / expected - 1.0).abs() < 0.02, "deviation {deviation}");
    }
}

fn patterns() -> impl Strategy<Value = Pattern> {
    let place = prop_oneof![Just(Place::Scattered), (0u32..=1_000_000).prop_map(Place::From)];
    prop_oneof![
        Just(Pattern::Uniform),
        Just(Pattern::Cover),
        Just(Pattern::Sequential),
        (0.001..5.0f64, place.clone()).prop_map(|(theta, place)| Pattern::Zipf { theta, place }),
        (0.001..0.999f64, place.clone()).prop_map(|(theta, place)| Pattern::ZipfYcsb { theta, place }),
        (0.001..0.999f64, place).prop_map(|(h, place)| Pattern::Pareto { h, place }),
        (0u32..=1_000_000, 0u32..=1_000_000)
            .prop_map(|(width_ppm, centre_ppm)| Pattern::Normal { width_ppm, centre_ppm }),
        (1u32..1_000_000, 0u32..=1_000_000)
            .prop_map(|(space_ppm, access_ppm)| Pattern::HotCold { space_ppm, access_ppm }),
        (0u32..=1_000_000, 1u32..1_000_000).prop_map(|(access, space)| Pattern::Zoned(vec![
            Zone { access_ppm: access, space_ppm: space },
            Zone { access_ppm: 1_000_000 - access, space_ppm: 1_000_000 - space },
        ])),
    ]
}

proptest! {
    #[test]
    fn every_draw_is_a_slot(pattern in patterns(), slots in prop_oneof![1u64..20, 1u64..1 << 40], seed: u64) {
        let mut stream = Stream::new(seed, "test");
        let mut address = Address::new(&pattern, slots, seed);
        for _ in 0..200 {
            prop_assert!(address.draw(&mut stream) < slots);
        }
    }
}
