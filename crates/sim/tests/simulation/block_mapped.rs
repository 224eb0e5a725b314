//! Block-level mapping: content and cost.

use std::ops::ControlFlow;
use tailcut_base::Nanos;
use tailcut_sim::Scenario;
use tailcut_sim::world::World;
use tailcut_ssd::config::MappingLevel;
use tailcut_ssd::precondition::PreparedState;
use tailcut_ssd::{Preset, Ssd};
use tailcut_workload::address_config::Distribution;

fn scenario(requests: u64) -> Scenario {
    let mut scenario = Scenario { device: Preset::G.config(), ..Scenario::default() };
    scenario.device.geometry.blocks = 32;
    scenario.device.geometry.pages = 16;
    scenario.device.ftl.mapping = MappingLevel::Block;
    scenario.device.ftl.spare = 300_000;
    scenario.device.buffer.size = 64 << 10;
    scenario.precondition.state = PreparedState::Sequential;
    scenario.precondition.fill = 500_000;
    scenario.run.ramp = Nanos(0);
    scenario.run.duration = Nanos(0);
    scenario.run.requests = requests;
    scenario.workload.read = 300_000;
    scenario.workload.depth = 8;
    scenario
}

/// Runs to the end; the world checks every read, and the drive its maps.
fn run(scenario: &Scenario) -> World<Ssd> {
    let mut world = scenario.world((), false).expect("the scenario is valid");
    world.run(&mut |_| ControlFlow::Continue(()), &mut |_, _| {}).expect("it runs to its end");
    world.device.check();
    world
}

#[test]
fn random_writes_keep_their_content_and_cost_copies() {
    let world = run(&scenario(20_000));
    assert!(world.device.figures(world.now()).write_amplification() > 4.0);
    assert_eq!(world.stats.errors(), 0);
}

#[test]
fn partial_pages_trims_and_flushes_keep_their_content() {
    for size in [0, 64 << 10] {
        let mut scenario = scenario(20_000);
        scenario.device.buffer.size = size;
        scenario.device.buffer.capacitor = false;
        scenario.workload.write_size = "512/30:4KiB/40:20KiB/30".into();
        scenario.workload.trim = 200_000;
        scenario.workload.trim_size = "64KiB".into();
        scenario.workload.flush_every = 50;
        scenario.workload.fua = 100_000;
        run(&scenario);
    }
}

#[test]
fn failing_programs_and_erases_lose_nothing() {
    let mut scenario = scenario(20_000);
    scenario.device.geometry.blocks = 128;
    scenario.device.ftl.spare = 600_000;
    scenario.device.faults.program_fail = 0.0005;
    scenario.device.faults.erase_fail = 0.0005;
    let world = run(&scenario);
    assert!(world.device.figures(world.now()).counts.bad_blocks > 0);
}

#[test]
fn sequential_writes_cost_next_to_nothing() {
    let mut scenario = scenario(20_000);
    scenario.workload.read = 0;
    scenario.workload.addresses.distribution = Distribution::Sequential;
    scenario.workload.write_addresses.distribution = Distribution::Sequential;
    let world = run(&scenario);
    let amplification = world.device.figures(world.now()).write_amplification();
    assert!(amplification < 1.05, "write amplification {amplification}");
}
