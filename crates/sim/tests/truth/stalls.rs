//! The time that requests wait at a full queue, exact to the nanosecond.

use super::drives;
use super::queueing::one_sector;
use super::runs::{TO_THE_END, drive, run, source};
use tailcut_base::Nanos;
use tailcut_sim::world::{Limits, Stats, World};
use tailcut_ssd::precondition::PreparedState;
use tailcut_workload::{ArrivalPlan, Recipe};

/// Command, cell and transfer of a page of 512 B at 333 MB/s, and the link behind them.
const SERVICE: u64 = 7 * 25 + 20_000 + 1_538 + 131;

/// Five reads of one chip by a closed loop of `loop_depth` on a queue of `queue_depth`.
fn five_reads(loop_depth: u32, queue_depth: u32, limits: Limits) -> Stats {
    reads(ArrivalPlan::Closed, loop_depth, queue_depth, limits)
}

/// Five reads of one chip, at most `depth` at a time, on a queue of `queue_depth`.
fn reads(arrivals: ArrivalPlan, depth: u32, queue_depth: u32, limits: Limits) -> Stats {
    let mut config = drives::plane(64, 16);
    config.ftl.spare = 200_000;
    config.queue.depth = queue_depth;
    let (ssd, checker) = drive(&config, PreparedState::Sequential, 1);
    let sectors = config.ftl.logical_pages(&config.geometry);
    let recipe = one_sector(Recipe {
        read_ppm: 1_000_000,
        arrivals,
        depth,
        requests: Some(5),
        ..Recipe::new(sectors)
    });
    let mut world = World::new(ssd, checker, vec![source("reads", &recipe, 1)], limits);
    run(&mut world).expect("it runs to the end");
    world.stats
}

#[test]
fn a_loop_of_two_waits_before_a_queue_of_one_until_the_last_read_is_in() {
    let stats = five_reads(2, 1, TO_THE_END);
    assert_eq!((stats.elapsed(), stats.queue_stall), (Nanos(5 * SERVICE), Nanos(4 * SERVICE)));
}

#[test]
fn a_queue_that_has_room_does_not_stall() {
    for depth in [1, 2] {
        assert_eq!(five_reads(depth, 2, TO_THE_END).queue_stall, Nanos::ZERO);
    }
}

#[test]
fn a_stall_counts_from_the_end_of_the_ramp() {
    let ramp = Nanos(SERVICE + SERVICE / 2);
    let stats = five_reads(2, 1, Limits { ramp, ..TO_THE_END });
    assert_eq!(stats.queue_stall, Nanos(4 * SERVICE) - ramp);
}

#[test]
fn what_waits_before_a_full_queue_is_not_issued_after_the_end() {
    // All are due at once; the third gets a tag before the end, the fourth after it.
    let duration = Nanos(2 * SERVICE + SERVICE / 2);
    let arrivals = ArrivalPlan::Uniform { rate: 1_000_000_000 };
    let stats = reads(arrivals, 5, 1, Limits { duration, ..TO_THE_END });
    assert_eq!(stats.requests(), 3);
}
