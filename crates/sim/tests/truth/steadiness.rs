//! Steady state of runs, by the SNIA Performance Test Specification (section 2.1.4).

use super::drives;
use super::queueing::one_sector;
use super::runs::{TO_THE_END, drive, run, source};
use tailcut_base::{Device, Nanos};
use tailcut_sim::world::{Limits, World};
use tailcut_ssd::Ssd;
use tailcut_ssd::precondition::PreparedState;
use tailcut_workload::Recipe;

/// Random writes until the rounds are level. A round is half of the time that writing the empty drive once
/// takes.
fn until_steady(state: PreparedState) -> World<Ssd> {
    let mut config = drives::plane(256, 16);
    config.ftl.spare = 150_000;
    let (ssd, checker) = drive(&config, state, 1);
    let sectors = ssd.identify().sectors;
    let recipe = Recipe { read_ppm: 0, depth: 4, ..one_sector(Recipe::new(sectors)) };
    let round = Nanos::micros(105) * (sectors / 2);
    let limits = Limits { round, until_steady: true, requests: 50 * sectors, ..TO_THE_END };
    let mut world = World::new(ssd, checker, vec![source("writes", &recipe, 1)], limits);
    run(&mut world).expect("it ends");
    world
}

#[test]
fn an_empty_drive_is_not_steady_until_its_spare_space_has_been_used() {
    let world = until_steady(PreparedState::Empty);
    let steady = world.rounds.steady().expect("the run ended because it was steady");
    // A little more than two rounds fill the drive for the first time, without any collection; they are
    // perfectly level, but the third is not.
    assert!(steady.first >= 2, "steady from round {}", steady.first);
    assert_eq!(world.rounds.finished().len(), steady.first + 5, "the run ended when it was steady");
    let rounds = world.rounds.finished();
    let (fresh, last) = (rounds[0].requests as f64, steady.mean);
    assert!(last < 0.45 * fresh, "{last} requests per round at last, {fresh} on the fresh drive");
    assert!(steady.excursion <= 0.20 && steady.slope <= 0.10);
}

#[test]
fn a_prepared_drive_is_steady_from_the_first_round() {
    let world = until_steady(PreparedState::Steady);
    let steady = world.rounds.steady().expect("the run ended because it was steady");
    assert_eq!(steady.first, 0);
    let from_empty = until_steady(PreparedState::Empty);
    let mean = from_empty.rounds.steady().expect("steady at last").mean;
    // Rounds level within 20 % may still fall by as much; the prepared drive is in its final state.
    assert!((mean / steady.mean - 1.0).abs() < 0.2, "{mean} and {}", steady.mean);
}
