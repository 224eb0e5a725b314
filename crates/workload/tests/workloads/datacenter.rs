//! The generated data-centre workloads match their rows.

use proptest::prelude::*;
use tailcut_base::config::Choice;
use tailcut_base::random::Stream;
use tailcut_base::{Nanos, Time};
use tailcut_workload::characterization::Characterization;
use tailcut_workload::config::PaceKind;
use tailcut_workload::datacenter::LocalityClass;
use tailcut_workload::datacenter::{Datacenter, DatacenterConfig, Plan, Row, Workload};
use tailcut_workload::{ArrivalPlan, Pace, Request, Source};

/// Sectors of the paper's drive of 64 chips.
const SECTORS: u64 = 499_289_088;

/// On the paper's drive, over a scenario's default region.
fn plan(workload: Workload, requests: u64) -> Plan {
    let config =
        DatacenterConfig { workload, requests, region_share: 800_000, ..DatacenterConfig::default() };
    let plan = config.plan(SECTORS);
    assert!(plan.region > 190 << 21, "most of 256 GiB: {plan:?}");
    plan
}

fn source(plan: &Plan, seed: u64) -> Datacenter {
    Datacenter::new(plan, seed).expect("a good plan")
}

fn requests(plan: &Plan, seed: u64) -> Vec<Request> {
    let mut source = source(plan, seed);
    std::iter::from_fn(|| source.next()).collect()
}

fn rows() -> impl Iterator<Item = (Workload, &'static Row)> {
    Workload::all().iter().filter_map(|&workload| Some((workload, workload.row()?)))
}

/// The distance of a characterization from a row: share of reads, the worse of the mean sizes (relative) and
/// of the randomnesses.
fn distance(characterization: &Characterization, row: &Row) -> [f64; 3] {
    let sizes = [
        (&characterization.reads, row.mean_read_bytes()),
        (&characterization.writes, row.mean_write_bytes()),
    ];
    let random = [(&characterization.reads, row.read_random), (&characterization.writes, row.write_random)];
    [
        (characterization.read_share() - row.read_share()).abs(),
        sizes.map(|(kind, mean)| (kind.mean_bytes() / mean - 1.0).abs()).into_iter().fold(0.0, f64::max),
        random
            .map(|(kind, ppm)| (kind.random_share() - f64::from(ppm) / 1e6).abs())
            .into_iter()
            .fold(0.0, f64::max),
    ]
}

#[test]
fn every_workload_is_measured_as_its_row_states() {
    for (workload, row) in rows() {
        for seed in [1, 2] {
            let characterization =
                Characterization::of_source(&mut source(&plan(workload, 50_000), seed), 50_000);
            assert_eq!(characterization.reads.requests + characterization.writes.requests, 50_000);
            let [share, size, random] = distance(&characterization, row);
            assert!(share < 0.001, "{workload}: share of reads off by {share}");
            assert!(size < 0.02, "{workload}: mean size off by {size}");
            assert!(random < 0.01, "{workload}: randomness off by {random}");
            assert_eq!(
                characterization.locality.class(),
                row.locality,
                "{workload}: {:?}",
                characterization.locality
            );
        }
    }
}

#[test]
fn the_class_does_not_hang_on_length_or_region() {
    for (workload, row) in rows() {
        let long = plan(workload, 100_000);
        for plan in [Plan { requests: 5_000, ..long }, Plan { region: 1 << 21, ..long }, long] {
            let characterization = Characterization::of(requests(&plan, 3));
            assert_eq!(
                characterization.locality.class(),
                row.locality,
                "{plan:?}: {:?}",
                characterization.locality
            );
        }
    }
}

#[test]
fn a_short_sample_keeps_shares_and_sizes() {
    for (workload, row) in rows() {
        let characterization = Characterization::of_source(&mut source(&plan(workload, 2_560), 1), 2_560);
        let [share, ..] = distance(&characterization, row);
        assert!(share < 0.005, "{workload}: share of reads off by {share}");
        for (kind, mean, ppm) in [
            (characterization.reads, row.mean_read_bytes(), row.read_random),
            (characterization.writes, row.mean_write_bytes(), row.write_random),
        ] {
            // At least one sample.
            if kind.requests >= 256 {
                let random = f64::from(ppm) / 1e6;
                assert!((kind.mean_bytes() / mean - 1.0).abs() < 0.05, "{workload}: {kind:?}");
                assert!((kind.random_share() - random).abs() < 0.025, "{workload}: {kind:?}");
            }
        }
    }
}

#[test]
fn requests_anywhere_are_low_whatever_their_sizes() {
    // Only msnfs3 writes so much at a time that its requests share planes with themselves.
    for (workload, row) in rows().filter(|(workload, _)| *workload != Workload::Msnfs3) {
        let mut random = Stream::new(1, "anywhere");
        let plan = plan(workload, 20_000);
        let slots = plan.region / 8 - 8192;
        let anywhere =
            requests(&plan, 1).into_iter().map(|r| Request { sector: random.below(slots) * 8, ..r });
        let characterization = Characterization::of(anywhere);
        assert_eq!(characterization.locality.class(), LocalityClass::Low, "{workload} ({})", row.locality);
    }
}

#[test]
fn a_source_states_its_pace_and_length() {
    let closed = source(&plan(Workload::Hm0, 10), 1);
    assert_eq!(closed.pace(), Pace::Closed { depth: 64, think: Nanos::ZERO });
    assert_eq!((closed.name(), closed.len_hint()), ("hm0", Some(10)));
    let open = Plan { arrivals: ArrivalPlan::Poisson { rate: 1_000_000 }, ..plan(Workload::Hm0, 20_000) };
    assert_eq!(source(&open, 1).pace(), Pace::Open { depth: 64 });
    let last = requests(&open, 1).last().expect("there are some").due;
    assert!((0.97..1.03).contains(&(last.0 as f64 / 20e6)), "{last}");
}

#[test]
fn what_cannot_run_is_refused_with_its_keys() {
    let keys = |plan: &Plan| -> Vec<&str> {
        Datacenter::new(plan, 1).expect_err("a bad plan").iter().map(|problem| problem.key).collect()
    };
    let good = plan(Workload::Cfs0, 10);
    assert_eq!(keys(&Plan { workload: Workload::None, ..good }), ["workload"]);
    assert_eq!(keys(&Plan { region: 16, ..good }), ["region_share"]);
    let arrivals = ArrivalPlan::Poisson { rate: 0 };
    assert_eq!(keys(&Plan { requests: 0, depth: 0, arrivals, ..good }), ["requests", "depth", "rate"]);
    // A mean request of msnfs3 is 477 KB.
    assert_eq!(keys(&Plan { region: 900, ..plan(Workload::Msnfs3, 10) }), ["region_share"]);
}

#[test]
fn the_region_is_a_share_of_the_device() {
    let config = DatacenterConfig {
        workload: Workload::Proj4,
        region_share: 250_000,
        pace: PaceKind::Open,
        ..DatacenterConfig::default()
    };
    let plan = config.plan(1_000_003);
    assert_eq!((plan.first, plan.region), (0, 250_000));
    assert_eq!(plan.arrivals, ArrivalPlan::Poisson { rate: config.rate });
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn requests_lie_in_the_region_and_repeat(
        row in 1usize..=16,
        first in 0u64..1 << 40,
        region in 1000u64..1 << 24,
        seed: u64,
        open: bool,
    ) {
        let arrivals = if open { ArrivalPlan::Poisson { rate: 50_000 } } else { ArrivalPlan::Closed };
        let plan = Plan { first, region, arrivals, ..plan(Workload::all()[row], 2_000) };
        let drawn = requests(&plan, seed);
        prop_assert_eq!(drawn.len(), 2_000);
        let mut due = Time::ZERO;
        for r in &drawn {
            prop_assert!(r.sectors > 0 && r.sectors <= 8192);
            prop_assert!(r.sector >= first && r.sector + u64::from(r.sectors) <= first + region);
            prop_assert!(r.due >= due && (open || r.due == Time::ZERO));
            due = r.due;
        }
        prop_assert_eq!(&drawn, &requests(&plan, seed));
        prop_assert_ne!(&drawn, &requests(&plan, seed ^ 1));
    }
}
