//! Stores and their clients on a simulated drive: every read returns the data last written, and each class
//! has its own figures.

#[path = "../../../workload/tests/workloads/stores.rs"]
#[allow(dead_code, reason = "shared with the tests of workloads, which use all of it")]
mod configs;

use configs::{MIB, cases, counts, fitted, odd, small, ycsb};
use proptest::prelude::*;
use std::ops::ControlFlow;
use tailcut_base::{Class, Nanos, Op, SECTOR_BYTES, Time};
use tailcut_sim::Scenario;
use tailcut_sim::world::{Limits, World};
use tailcut_ssd::{Preset, Ssd};
use tailcut_workload::Source;
use tailcut_workload::lsm::{LsmConfig, Mix};

fn scenario(lsm: LsmConfig) -> Scenario {
    let mut scenario = Scenario { device: Preset::G.config(), run: Limits::NONE, lsm, ..Scenario::default() };
    scenario.device.geometry.blocks = 64;
    scenario
}

fn run_world(scenario: &Scenario) -> World<Ssd> {
    let mut world = scenario.world((), false).expect("the scenario is valid");
    assert!(world.is_checking());
    world.run(&mut |_| ControlFlow::Continue(()), &mut |_, _| {}).expect("it runs to its end");
    world.device.check();
    let store = world.sources().find_map(Source::store).expect("a store");
    assert_eq!(store.failure(), None);
    store.check();
    world
}

#[test]
fn a_drive_serves_a_store_and_classes_are_told_apart() {
    let lsm = LsmConfig { keys: 0, region_share: 800_000, ..small() };
    let scenario = scenario(lsm);
    let world = run_world(&scenario);
    let stats = &world.stats;
    let counts: Vec<(u8, u64)> =
        stats.read_classes().iter().map(|(class, reads)| (class.number(), reads.latency.count())).collect();
    let numbers: Vec<u8> = counts.iter().map(|(class, _)| *class).collect();
    assert_eq!(numbers, [1, 2]);
    assert_eq!(counts.iter().map(|(_, count)| count).sum::<u64>(), stats.op(Op::Read).latency.count());
    let bytes: u64 = stats.read_classes().iter().map(|(_, reads)| reads.bytes).sum();
    assert_eq!(bytes, stats.op(Op::Read).bytes);
    assert!(stats.class(Class::DEFAULT).is_none(), "the log is written and not read");
    assert!(stats.op(Op::Write).latency.count() > 0);
    let gets = world.sources().find_map(Source::store).expect("a store").figures().gets.clone();
    assert_eq!(gets.count(), 20_000);
    assert!(gets.mean() > stats.class(Class::new(1).expect("a class")).expect("gets").latency.mean());
    // A second run is equal.
    assert_eq!(run_world(&scenario).stats.digest, stats.digest);
}

#[test]
fn one_class_of_reads_is_not_split() {
    let lsm = LsmConfig { compaction_read_class: 1, ..small() };
    let world = run_world(&scenario(LsmConfig { keys: 100_000, ..lsm }));
    assert!(world.stats.read_classes().is_empty());
    assert!(world.stats.op(Op::Read).latency.count() > 20_000);
}

#[test]
fn limits_end_a_store_like_any_other_source() {
    let mut scenario = scenario(LsmConfig { keys: 100_000, puts: 1, ..small() });
    scenario.run.requests = 777;
    assert_eq!(run_world(&scenario).completed(), 777);
    scenario.run = Limits { duration: Nanos::millis(50), ramp: Nanos::millis(10), ..Limits::NONE };
    let world = run_world(&scenario);
    let figures = world.sources().find_map(Source::store).expect("a store").figures();
    assert_eq!(figures.from, Time::ZERO + Nanos::millis(10));
    assert!(figures.gets.count() > 100, "{figures:?}");
}

proptest! {
    #![proptest_config(cases(8))]

    #[test]
    fn odd_stores_read_back_what_they_wrote(config in odd(), seed in 0u64..1000) {
        let sectors = 25 * MIB / SECTOR_BYTES;
        let mut scenario = scenario(fitted(config, sectors));
        scenario.seed = seed;
        scenario.lsm.puts = scenario.lsm.puts.min(4000);
        let world = scenario.world((), false);
        prop_assume!(world.is_ok());
        run_world(&scenario);
    }
}

#[test]
fn a_drive_serves_clients_and_every_read_is_right() {
    for mix in [Mix::Load, Mix::YcsbA, Mix::YcsbD] {
        for page_cache in [0, 1 << 30] {
            let lsm = LsmConfig { keys: 8_000, operations: 20_000, page_cache, ..ycsb(mix) };
            let lsm = LsmConfig { scale: 1.0 / 2048.0, region_share: 800_000, ..lsm };
            let mut scenario =
                Scenario { device: Preset::G.config(), run: Limits::NONE, lsm, ..Scenario::default() };
            scenario.device.geometry.blocks = 64;
            let mut world = scenario.world((), false).expect("the scenario is valid");
            assert!(world.is_checking());
            world.run(&mut |_| ControlFlow::Continue(()), &mut |_, _| {}).expect("it runs to its end");
            world.device.check();
            let store = world.sources().find_map(Source::store).expect("a store");
            store.check();
            assert_eq!(store.failure(), None);
            let operations = if mix == Mix::Load { 8_000 } else { 20_000 };
            assert_eq!(counts(store).iter().sum::<u64>(), operations);
        }
    }
}
