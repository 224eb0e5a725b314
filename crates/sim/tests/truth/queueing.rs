//! Waiting times against queueing theory.

use super::drives;
use super::runs::{TO_THE_END, drive, run, source};
use std::ops::ControlFlow;
use tailcut_base::{Nanos, Op};
use tailcut_sim::world::{Limits, Overload, Progress, World};
use tailcut_ssd::SsdConfig;
use tailcut_ssd::precondition::PreparedState;
use tailcut_workload::arrival::BurstEnd;
use tailcut_workload::{ArrivalPlan, Recipe, Schedule};

/// A drive with one die and pages of 4 KiB, and its sectors.
fn one_die() -> (SsdConfig, u64) {
    let mut config = drives::plane(64, 16);
    config.geometry.page_bytes = 4096;
    config.ftl.spare = 200_000;
    let sectors = 8 * config.ftl.logical_pages(&config.geometry);
    (config, sectors)
}

/// Poisson arrivals of reads to one die are an M/D/1 queue: each read holds the die for command, cell and
/// transfer, a constant time, and the link adds a constant behind it. The mean wait is `ρ S / (2 (1 - ρ))`
/// (Pollaczek and Khinchine, for a service time without variance).
#[test]
fn reads_of_one_die_wait_as_in_an_m_d_1_queue() {
    for load_percent in [30, 60, 80] {
        let mut config = drives::plane(64, 16);
        config.geometry.page_bytes = 4096;
        config.ftl.spare = 200_000;
        config.queue.depth = 4096;
        let service = 7 * 25 + 20_000 + 12_301;
        let link = Nanos::for_bytes(4096, config.link.rate).0;
        let (ssd, checker) = drive(&config, PreparedState::Sequential, 1);
        let rate = 1_000_000_000 * load_percent / 100 / service;
        let sectors = 8 * config.ftl.logical_pages(&config.geometry);
        let recipe = Recipe {
            arrivals: ArrivalPlan::Poisson { rate },
            depth: 4096,
            requests: Some(300_000),
            ..Recipe::new(sectors)
        };
        let limits = Limits { ramp: Nanos::millis(500), ..TO_THE_END };
        let mut world = World::new(ssd, checker, vec![source("poisson", &recipe, 1)], limits);
        run(&mut world).expect("it runs to the end");
        let load = rate as f64 * service as f64 / 1e9;
        let wait = load * service as f64 / (2.0 * (1.0 - load));
        let mean = world.stats.op(Op::Read).latency.mean();
        let measured = mean - (service + link) as f64;
        println!(
            "load {load:.3}: wait {measured:.0} ns, theory {wait:.0} ns, {:+.2} %",
            100.0 * (measured / wait - 1.0)
        );
        // 3 % is about three standard errors of the mean wait at 80 % load.
        assert!((measured / wait - 1.0).abs() < 0.03, "load {load}: waited {measured}, theory {wait}");
        let little = world.stats.littles_ratio();
        assert!((little - 1.0).abs() < 0.01, "Little's ratio is {little}");
    }
}

#[test]
fn overload_is_noticed_and_waiting_for_a_tag_is_not_being_in_flight() {
    let mut config = drives::plane(64, 16);
    config.geometry.page_bytes = 4096;
    config.ftl.spare = 200_000;
    config.queue.depth = 4;
    let sectors = 8 * config.ftl.logical_pages(&config.geometry);
    let overload = |rate: u64| {
        let (ssd, checker) = drive(&config, PreparedState::Sequential, 1);
        let recipe =
            Recipe { arrivals: ArrivalPlan::Poisson { rate }, depth: 1 << 16, ..Recipe::new(sectors) };
        let limits = Limits { ramp: Nanos::millis(100), duration: Nanos::secs(2), ..TO_THE_END };
        let mut world = World::new(ssd, checker, vec![source("poisson", &recipe, 1)], limits);
        run(&mut world).expect("it runs to the end");
        let little = world.stats.littles_ratio();
        assert!((little - 1.0).abs() < 0.02, "Little's ratio is {little} at {rate}/s");
        world.overload()
    };
    // A read takes 32 us on the only die.
    assert_eq!(overload(20_000), None);
    let Overload { issued, due, .. } = overload(300_000).expect("ten times what the die can do");
    assert!((560_000..640_000).contains(&due) && issued < due / 8, "{issued} of {due}");
}

#[test]
fn overload_is_noticed_in_a_run_that_is_interrupted() {
    let (config, sectors) = one_die();
    let (ssd, checker) = drive(&config, PreparedState::Sequential, 1);
    let arrivals = ArrivalPlan::Poisson { rate: 300_000 };
    let recipe = Recipe { arrivals, depth: 1 << 16, ..Recipe::new(sectors) };
    let mut world = World::new(ssd, checker, vec![source("poisson", &recipe, 1)], TO_THE_END);
    let mut watch = |progress: &Progress| match progress.completed > 30_000 {
        true => ControlFlow::Break(()),
        false => ControlFlow::Continue(()),
    };
    assert_eq!(world.run(&mut watch, &mut |_, _| {}), Ok(true));
    let Overload { issued, due, .. } = world.overload().expect("ten times what the die can do");
    assert!(due > 8 * issued, "{issued} of {due}");
}

/// An open loop that ends before the run, beside a closed loop: it is behind only where its own requests are
/// late.
#[test]
fn an_open_loop_that_ends_early_is_not_behind_after_its_end() {
    let (config, sectors) = one_die();
    let overload = |rate: u64| {
        let (ssd, checker) = drive(&config, PreparedState::Sequential, 1);
        let schedule = Schedule { until: Some(Nanos::millis(200)), ..Schedule::default() };
        let arrivals = ArrivalPlan::Poisson { rate };
        let open = Recipe { arrivals, depth: 1 << 16, schedule, ..Recipe::new(sectors) };
        let closed = Recipe { depth: 1, ..Recipe::new(sectors) };
        let limits = Limits { duration: Nanos::millis(600), ..TO_THE_END };
        let sources = vec![source("open", &open, 1), source("closed", &closed, 2)];
        let mut world = World::new(ssd, checker, sources, limits);
        run(&mut world).expect("it runs to the end");
        assert_eq!(world.behind_at_end(), None);
        world.overload()
    };
    assert_eq!(overload(5_000), None);
    // A read takes 32 us on the only die, and every second one is the closed loop's at most.
    let Overload { issued, due, .. } = overload(100_000).expect("three times what the die can do");
    assert!((18_000..22_000).contains(&due) && (2_500..8_000).contains(&issued), "{issued} of {due}");
}

#[test]
fn a_device_that_is_behind_for_less_than_half_of_the_run_is_not_overloaded() {
    let (config, sectors) = one_die();
    let after = |duration: Nanos| {
        let (ssd, checker) = drive(&config, PreparedState::Sequential, 1);
        // Bursts of 18,000 requests, of which the only die serves 31,000 a second: it catches up in each
        // pause.
        let (end, idle) = (BurstEnd::After(Nanos::millis(300)), Nanos::millis(700));
        let arrivals = ArrivalPlan::Bursts { rate: 60_000, end, idle };
        let recipe = Recipe { arrivals, depth: 1 << 16, ..Recipe::new(sectors) };
        let limits = Limits { duration, ..TO_THE_END };
        let mut world = World::new(ssd, checker, vec![source("bursts", &recipe, 1)], limits);
        run(&mut world).expect("it runs to the end");
        (world.overload(), world.behind_at_end())
    };
    let (overload, behind) = after(Nanos::millis(2400));
    assert_eq!(overload, None, "400 ms behind of 2.4 s");
    let (lateness, age, left_out) = behind.expect("the next request is late");
    assert!((Nanos::millis(120)..Nanos::millis(300)).contains(&lateness), "{lateness}");
    assert!((Nanos::millis(360)..=Nanos::millis(400)).contains(&age), "{age}");
    // It has issued 31,000 a second of the last 400 ms of the 18,000 of the last burst; the estimate is by
    // lateness.
    assert!((3_500..7_500).contains(&left_out), "{left_out}");
    assert_eq!(after(Nanos::millis(2900)), (None, None), "it has caught up");
    let (overload, behind) = after(Nanos::millis(400));
    assert!(overload.is_some() && behind.is_none(), "none but the first were on time");
}

#[test]
fn littles_law_holds_under_garbage_collection() {
    let mut config = drives::plane(128, 16);
    config.ftl.spare = 200_000;
    let (ssd, checker) = drive(&config, PreparedState::Steady, 1);
    let recipe = Recipe {
        read_ppm: 500_000,
        depth: 8,
        requests: Some(60_000),
        ..Recipe::new(config.ftl.logical_pages(&config.geometry))
    };
    let recipe = one_sector(recipe);
    let limits = Limits { ramp: Nanos::millis(200), ..TO_THE_END };
    let mut world = World::new(ssd, checker, vec![source("mixed", &recipe, 1)], limits);
    run(&mut world).expect("it runs to the end");
    let little = world.stats.littles_ratio();
    assert!((little - 1.0).abs() < 0.01, "Little's ratio is {little}");
    // A closed loop without pauses keeps exactly its depth in flight.
    let (in_flight, outstanding) = (world.stats.in_flight(), world.stats.outstanding());
    assert!((in_flight - 8.0).abs() < 0.08, "{in_flight} in flight");
    assert!(outstanding >= in_flight, "{outstanding} outstanding, {in_flight} in flight");
    assert!(world.device.figures(world.now()).counts.collections > 1000);
}

/// Requests of one sector each, in all lanes.
pub(super) fn one_sector(mut recipe: Recipe) -> Recipe {
    for lane in [&mut recipe.read, &mut recipe.write, &mut recipe.trim] {
        lane.sizes = tailcut_workload::size::Sizes::Fixed(1);
        lane.align = 1;
    }
    recipe
}
