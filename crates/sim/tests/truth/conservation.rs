//! Nothing is lost, nothing is invented, and one seed has one result.

use super::drives;
use super::runs::{TO_THE_END, drive, run, source};
use tailcut_base::random::Stream;
use tailcut_base::{Device, Nanos, Op};
use tailcut_sim::world::World;
use tailcut_ssd::config::QueueArbitration;
use tailcut_ssd::precondition::PreparedState;
use tailcut_ssd::{Ssd, SsdConfig};
use tailcut_workload::size::Sizes;
use tailcut_workload::{ArrivalPlan, Pattern, Recipe, Streams};

/// The results that must be equal in two runs with one seed.
#[derive(Debug, PartialEq)]
struct Result {
    digest: u64,
    requests: [u64; 4],
    errors: u64,
    until: u64,
    programmed: (u64, u64),
    read_only: bool,
}

/// A random mix for a drive: sizes from one sector up, with trims, flushes and forced writes, each of these
/// absent from half of the mixes.
fn recipe(sectors: u64, requests: u64, seed: u64) -> Recipe {
    let mut r = Stream::new(seed, "test.mix");
    let mut some = |most: u64| (r.below(2) * r.below(most)) as u32;
    let mut recipe = Recipe::new(sectors);
    (recipe.read_ppm, recipe.trim_ppm) = (some(700_000), some(100_000));
    (recipe.flush_every, recipe.fua_ppm) = (u64::from(some(20)), some(400_000));
    let largest = (1 + some(40)).min(sectors as u32);
    let skewed = some(2) == 0;
    for lane in [&mut recipe.read, &mut recipe.write, &mut recipe.trim] {
        lane.sizes =
            if largest == 1 { Sizes::Fixed(1) } else { Sizes::Range { smallest: 1, largest, step: 1 } };
        lane.align = 1;
        if skewed {
            lane.pattern = Pattern::HotCold { space_ppm: 200_000, access_ppm: 800_000 };
        }
    }
    recipe.depth = 1 + r.below(40) as u32;
    recipe.requests = Some(requests);
    if r.below(2) == 1 {
        recipe.arrivals = ArrivalPlan::Poisson { rate: 200 + r.below(20_000) };
    }
    recipe
}

/// One run with two sources, one of them with a random stream of its own.
fn result(config: &SsdConfig, state: PreparedState, requests: u64, seed: u64) -> Result {
    // Each source has a submission queue, and commands of several queues have no order to check.
    let mut config = config.clone();
    config.queue.arbitration = QueueArbitration::Fifo;
    let (ssd, checker) = drive(&config, state, seed);
    let sectors = ssd.identify().sectors;
    let mut world: World<Ssd> = World::new(
        ssd,
        checker,
        vec![
            source("a", &recipe(sectors, requests, seed), seed),
            source("b", &Recipe { streams: Streams::One(1), ..recipe(sectors, requests, seed + 1) }, seed),
        ],
        TO_THE_END,
    );
    run(&mut world).unwrap_or_else(|error| panic!("{error}: {}", world.device.why_stuck()));
    world.device.check();
    let figures = world.device.figures(world.now());
    Result {
        digest: world.stats.digest,
        requests: [Op::Read, Op::Write, Op::Trim, Op::Flush].map(|op| {
            let stats = world.stats.op(op);
            stats.latency.count() + stats.errors
        }),
        errors: world.stats.errors(),
        until: world.stats.until.0,
        programmed: (figures.counts.programmed_user, figures.counts.programmed_gc),
        read_only: world.device.read_only().is_some(),
    }
}

#[test]
fn every_request_of_a_random_run_is_answered_with_the_right_content() {
    let mut read_only = 0;
    for seed in 0..150 {
        let config = drives::random(seed);
        let requests = 400;
        let result = result(&config, PreparedState::Empty, requests, seed);
        let [reads, writes, trims, _] = result.requests;
        assert_eq!(
            reads + writes + trims,
            2 * requests,
            "seed {seed}: requests generated and answered differ"
        );
        assert!(result.read_only || result.errors == 0, "seed {seed}: errors of a drive that can write");
        read_only += u64::from(result.read_only);
    }
    assert!((1..100).contains(&read_only), "{read_only} of 150 drives wore out: the mix of drives is no mix");
}

#[test]
fn collection_under_load_loses_nothing() {
    let mut config = drives::plane(64, 16);
    config.ftl.spare = 150_000;
    config.buffer.size = 16 * 512;
    config.ftl.streams = 2;
    let result = result(&config, PreparedState::Steady, 20_000, 4);
    let [reads, writes, trims, _] = result.requests;
    assert_eq!((reads + writes + trims, result.errors), (40_000, 0));
    assert!(result.programmed.1 > 0, "garbage was collected");
}

#[test]
fn one_seed_has_one_result_and_another_seed_has_another() {
    for seed in 0..10 {
        let config = drives::random(seed);
        let run = |seed| result(&config, PreparedState::Empty, 500, seed);
        assert_eq!(run(seed), run(seed));
        assert_ne!(run(seed).digest, run(seed + 100).digest);
    }
}

#[test]
fn a_sweep_has_the_same_results_on_one_thread_and_on_two() {
    let cases: Vec<u64> = (0..12).collect();
    let run = |&seed: &u64| result(&drives::random(seed), PreparedState::Empty, 500, seed);
    let alone: Vec<Result> = cases.iter().map(run).collect();
    let (first, second) = cases.split_at(cases.len() / 2);
    let together: Vec<Result> = std::thread::scope(|scope| {
        let halves = [first, second].map(|half| scope.spawn(|| half.iter().map(run).collect::<Vec<_>>()));
        halves.into_iter().flat_map(|half| half.join().expect("a run panicked")).collect()
    });
    assert_eq!(alone, together);
}

#[test]
fn limits_end_a_run_and_everything_issued_is_still_answered() {
    let mut config = drives::plane(64, 16);
    config.ftl.spare = 200_000;
    let (ssd, checker) = drive(&config, PreparedState::Steady, 1);
    let recipe = Recipe { requests: None, ..recipe(ssd.identify().sectors, 1, 3) };
    let limits = tailcut_sim::world::Limits { duration: Nanos::millis(300), ..TO_THE_END };
    let mut world = World::new(ssd, checker, vec![source("endless", &recipe, 1)], limits);
    run(&mut world).expect("it ends");
    assert_eq!(world.stats.requests(), world.completed());
    assert!(world.now().0 >= 299_000_000);
}
