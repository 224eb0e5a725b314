//! Tests of the procedures on scripted devices.

use tailcut_base::Nanos;
use tailcut_pts::mutation::{Invariant, broken};
use tailcut_pts::*;

const MINUTE: Nanos = Nanos::secs(60);

fn conforming() -> Settings {
    Settings::conforming(Form::Enterprise, 100 << 30)
}

/// Metrics of a drive with this many IOPS at a mean response time of 1 ms.
fn figures(iops: u64, cell: &Cell, time: Nanos) -> Figures {
    let ios = (u128::from(iops) * u128::from(time.0) / 1_000_000_000) as u64;
    Figures {
        ios,
        bytes: ios * cell.sizes.most_bytes(),
        took: time,
        latency_sum: u128::from(ios) * 1_000_000,
        longest: Nanos::millis(2),
        five_nines: Nanos::micros(1500),
    }
}

/// Runs a test on a drive whose IOPS depend on load and round.
fn carried_out(test: Test, settings: Settings, script: impl Fn(&Cell, u32) -> u64) -> Procedure {
    let mut procedure = Procedure::new(test, settings);
    let mut steps = 0;
    while let Some(step) = procedure.next() {
        let (_, round) = procedure.position();
        let outcome = match step {
            Step::Purge | Step::Rest(_) => Outcome::Done,
            Step::Load(stretch) => {
                // A load limited only by bytes runs for ten minutes.
                let time = stretch.time.min(MINUTE * 10);
                let figures = figures(script(&stretch.cell, round), &stretch.cell, time);
                Outcome::Measured { figures, latency: None }
            }
        };
        procedure.told(outcome);
        steps += 1;
        assert!(steps < 10_000, "it comes to an end");
    }
    procedure
}

fn ending(procedure: &Procedure) -> (Option<Ending>, std::ops::Range<u32>) {
    let rounds = procedure.convergences().last().expect("it has rounds");
    (rounds.ending, rounds.window())
}

#[test]
fn a_steady_drive_needs_five_rounds_of_56_minutes() {
    let test = carried_out(Test::Iops, conforming(), |_, _| 10_000);
    assert_eq!(ending(&test), (Some(Ending::Steady), 0..5));
    assert_eq!(test.of_stage(2).count(), 5 * 56);
    assert!(test.is_finished() && test.next().is_none() && test.left() == Nanos::ZERO);
    let averages = test.averages(&test.convergences()[0], 55).expect("it was measured");
    assert_eq!((averages.iops, averages.mean, averages.longest), (10_000.0, 1e6, 2e6));
}

#[test]
fn a_drive_that_never_settles_ends_after_25_rounds() {
    let test = carried_out(Test::Iops, conforming(), |_, round| 10_000 + 5000 * u64::from(round % 2));
    assert_eq!(ending(&test), (Some(Ending::Rounds), 20..25));
    assert_eq!(test.of_stage(2).count(), 25 * 56);
}

#[test]
fn the_borders_of_excursion_and_drift_are_inside() {
    let first_steady = |rounds: &'static [u64]| {
        let at = |round: u32| rounds[(round as usize).min(rounds.len() - 1)];
        ending(&carried_out(Test::Throughput, conforming(), |_, round| at(round))).1.start
    };
    assert_eq!(first_steady(&[1000, 900, 1100, 1000, 1000]), 0, "an excursion of exactly 20 %");
    assert_ne!(first_steady(&[10_000, 9000, 11_010, 10_000, 10_000]), 0, "of 20.1 %");
    assert_eq!(first_steady(&[950, 975, 1000, 1025, 1050]), 0, "a drift of exactly 10 %");
    assert_ne!(first_steady(&[9490, 9750, 10_000, 10_250, 10_510]), 0, "of 10.2 %");
}

#[test]
fn a_drive_that_falls_by_a_tenth_a_round_is_steady_when_it_has_stopped() {
    let at = |round: u32| 20_000 * 9u64.pow(round.min(6)) / 10u64.pow(round.min(6));
    let test = carried_out(Test::Latency, conforming(), |_, round| at(round));
    // The response time is constant: steady at once.
    assert_eq!(ending(&test), (Some(Ending::Steady), 0..5));
    let test = carried_out(Test::Iops, conforming(), |_, round| at(round));
    assert_eq!(ending(&test).1.start, 5, "one round of the fall is within a tenth of the line");
}

#[test]
fn all_that_is_tracked_has_to_be_steady() {
    // Only large reads are unsteady, during the first nine rounds.
    let script = |cell: &Cell, round: u32| match (cell.reads, cell.size().as_str()) {
        (100, "1024KiB") if round < 9 => 1000 * u64::from(1 + round % 2),
        _ => 1000,
    };
    let run = || ending(&carried_out(Test::Iops, conforming(), script)).1;
    // The ninth round matches the ones after it.
    assert_eq!(run(), 8..13);
    assert_eq!(broken(Invariant::AllTracksAreSteady, run), 0..5, "the test sees when one is enough");
}

#[test]
fn the_window_moves_with_the_rounds() {
    let script = |_: &Cell, round: u32| if round == 0 { 3000 } else { 1000 };
    let run = || ending(&carried_out(Test::Throughput, conforming(), script));
    assert_eq!(run(), (Some(Ending::Steady), 1..6));
    assert_eq!(
        broken(Invariant::TheWindowMoves, run).0,
        Some(Ending::Rounds),
        "the test sees when it stands"
    );
}

#[test]
fn saturation_ends_with_what_comes_first() {
    let settings = conforming();
    let run = |script: fn(u32) -> u64| {
        let test = carried_out(Test::WriteSaturation, settings, move |_, round| script(round));
        (ending(&test).0, test.of_stage(1).count())
    };
    // Rounds of 30 minutes: 100,000 IOPS transfer 400 GiB in 17.5 minutes.
    assert_eq!(run(|_| 100_000), (Some(Ending::Bytes), 18));
    assert_eq!(run(|_| 1000), (Some(Ending::Steady), 150));
    assert_eq!(run(|round| 1000 + 1000 * u64::from(round % 2)), (Some(Ending::Time), 360));
}

#[test]
fn a_short_form_is_not_steady_on_a_fresh_drive() {
    let settings = Settings::quick(Form::Enterprise, 64 << 20);
    let test = carried_out(Test::HostIdleRecovery, settings, |_, _| 10_000);
    let written: u64 = test.of_stage(1).map(|record| record.figures.bytes).sum();
    assert!((64 << 20..68 << 20).contains(&written), "{written}");
    assert!(!settings.is_conforming() && conforming().is_conforming());
}

#[test]
fn rests_of_idle_recovery_follow_each_write() {
    let mut procedure = Procedure::new(Test::HostIdleRecovery, Settings::quick(Form::Client, 1 << 20));
    let mut rests = Vec::new();
    while let Some(step) = procedure.next() {
        let outcome = match step {
            Step::Rest(rest) => {
                rests.push(rest);
                Outcome::Done
            }
            Step::Purge => Outcome::Done,
            Step::Load(stretch) => {
                let figures = figures(50_000, &stretch.cell, stretch.time);
                Outcome::Measured { figures, latency: None }
            }
        };
        procedure.told(outcome);
    }
    // Six of 360 cycles, with a minute scaled to 50 ms.
    assert_eq!(rests.len(), 5 * 6);
    assert_eq!((rests[0], rests[29]), (Nanos(50_000_000 * 5 / 60), Nanos(50_000_000 * 50 / 60)));
    assert_eq!(procedure.stages()[2].name, "wait 5 s");
}

#[test]
fn the_times_are_those_of_the_specification() {
    let hours = |test| Procedure::new(test, conforming()).left().as_secs_f64() / 3600.0;
    assert_eq!(hours(Test::CrossStimulusRecovery), 22.0);
    assert_eq!(hours(Test::WriteSaturation), 6.0 + 1.0 / 3.0);
    assert_eq!(hours(Test::Iops), 25.0 * 56.0 / 60.0);
    // Up to 12.5 hours beforehand, 360 times 5 s plus the rests, and five times half an hour.
    assert_eq!(hours(Test::HostIdleRecovery), 12.5 + (360.0 * (25.0 + 105.0)) / 3600.0 + 2.5);
}

#[test]
fn three_points_are_chosen_from_the_last_round() {
    // More demand increases IOPS, but with 1024 outstanding I/Os each takes longer than 5 ms.
    let mut procedure = Procedure::new(Test::DemandIntensity, Settings::quick(Form::Enterprise, 1 << 20));
    while let Some(step) = procedure.next() {
        let outcome = match step {
            Step::Load(stretch) => {
                let depth = u64::from(stretch.cell.load().depth);
                let mut figures = figures(1000 * depth.min(500), &stretch.cell, stretch.time);
                let each = 1_000_000 * depth.max(500) / 500 * if depth > 512 { 6 } else { 1 };
                figures.latency_sum = u128::from(figures.ios) * u128::from(each);
                Outcome::Measured { figures, latency: None }
            }
            _ => Outcome::Done,
        };
        procedure.told(outcome);
    }
    let points: Vec<(String, String)> = procedure.stages()[3..]
        .iter()
        .filter_map(|stage| match &stage.work {
            Work::Histogram { cell, .. } => Some((stage.name.clone(), cell.demand())),
            _ => None,
        })
        .collect();
    let want = [("max IOPS", "T32Q16"), ("mid IOPS", "T32Q8"), ("min IOPS", "T1Q1")];
    assert_eq!(points, want.map(|(name, demand)| (name.to_owned(), demand.to_owned())));
}

#[test]
fn every_test_begins_with_a_purge_and_has_its_own_names() {
    for test in Test::ALL {
        for form in [Form::Client, Form::Enterprise] {
            let done = carried_out(test, Settings::quick(form, 1 << 20), |_, _| 20_000);
            assert_eq!(done.stages()[0].work, Work::Purge);
            let mut names: Vec<&str> = done.stages().iter().map(|stage| stage.name.as_str()).collect();
            let count = names.len();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), count, "{test}");
            assert!(done.records().iter().all(|record| record.stage < count));
        }
    }
}

#[test]
#[should_panic(expected = "is no outcome of")]
fn an_outcome_of_something_else_is_a_bug() {
    let mut procedure = Procedure::new(Test::Iops, conforming());
    procedure.told(Outcome::Measured { figures: Figures::default(), latency: None });
}

#[test]
fn the_shares_of_the_composite_workload_add_up() {
    assert_eq!(plan::COMPOSITE_SIZES.iter().map(|&(share, _)| u32::from(share)).sum::<u32>(), 100);
    assert_eq!(plan::COMPOSITE_ZONES.iter().map(|&(share, _)| u32::from(share)).sum::<u32>(), 100);
    assert_eq!(plan::COMPOSITE_ZONES.iter().map(|&(_, width)| u32::from(width)).sum::<u32>(), 100);
}
