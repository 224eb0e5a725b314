//! Drives of today: content.

use super::limits::run;
use std::ops::ControlFlow;
use tailcut_base::Nanos;
use tailcut_host::PlacementPolicy;
use tailcut_host::array::LayoutKind;
use tailcut_sim::Scenario;
use tailcut_ssd::Preset;
use tailcut_ssd::precondition::PreparedState;
use tailcut_workload::address_config::Distribution;
use tailcut_workload::config::PaceKind;

/// The world checks every read; the drive its maps.
#[test]
fn every_preset_returns_what_was_written_last() {
    for preset in [Preset::Pm9a3, Preset::Pe8110, Preset::Micron7450Pro, Preset::Cm7R] {
        let mut scenario = Scenario { device: preset.config(), ..Scenario::default() };
        (scenario.device.geometry.blocks, scenario.device.geometry.pages) = (40, 24 * 4);
        scenario.device.ftl.spare = 330_000;
        scenario.precondition.state = PreparedState::Steady;
        (scenario.run.ramp, scenario.run.duration, scenario.run.requests) = (Nanos(0), Nanos(0), 60_000);
        (scenario.workload.read, scenario.workload.depth) = (300_000, 64);
        let mut world = scenario.world((), false).expect("the scenario is valid");
        world.run(&mut |_| ControlFlow::Continue(()), &mut |_, _| {}).expect("it runs to its end");
        world.device.check();
        let figures = world.device.figures(world.now());
        assert!(figures.counts.erases > 0, "{preset} collects");
    }
}

/// Two sources share a few pages: the drive may carry out their requests in any order.
#[test]
fn sources_whose_commands_are_fetched_in_turn_share_pages() {
    let mut scenario = Scenario { device: Preset::Pm9a3.config(), ..Scenario::default() };
    (scenario.device.geometry.blocks, scenario.device.geometry.pages) = (40, 24 * 4);
    (scenario.device.ftl.spare, scenario.device.queue.commands) = (330_000, 4);
    (scenario.run.ramp, scenario.run.duration, scenario.run.requests) = (Nanos(0), Nanos(0), 20_000);
    (scenario.workload.pace, scenario.workload.depth) = (PaceKind::Closed, 64);
    scenario.workload.read = 500_000;
    scenario.workload.addresses.distribution = Distribution::Zipf;
    scenario.workload.addresses.theta = 1.2;
    scenario.beside.enabled = true;
    scenario.beside.source = scenario.workload.clone();
    // The shorter queue overtakes the longer.
    scenario.beside.source.depth = 2;
    let mut world = scenario.world((), false).expect("the scenario is valid");
    world.run(&mut |_| ControlFlow::Continue(()), &mut |_, _| {}).expect("it runs to its end");
    world.device.check();
}

/// On one drive and on those of an array.
#[test]
fn a_policy_chooses_the_handles_of_writes() {
    for drives in [0, 2] {
        let mut scenario = Scenario { device: Preset::Pm9a3.config(), ..Scenario::default() };
        (scenario.device.geometry.blocks, scenario.device.geometry.pages) = (40, 24 * 4);
        (scenario.device.ftl.spare, scenario.device.fdp.handles) = (400_000, 2);
        (scenario.array.drives, scenario.array.layout) = (drives, LayoutKind::Raid0);
        scenario.precondition.state = PreparedState::Empty;
        (scenario.run.ramp, scenario.run.duration, scenario.run.requests) = (Nanos(0), Nanos(0), 4_000);
        (scenario.workload.read, scenario.workload.write_size) = (0, "64KiB".into());
        (scenario.workload.pace, scenario.workload.depth) = (PaceKind::Closed, 16);
        for (policy, has_data) in
            [(PlacementPolicy::Named, [true, false]), (PlacementPolicy::Size, [false, true])]
        {
            scenario.placement.policy = policy;
            let report = run(&scenario);
            let written = report.drive.handles.iter().map(|handle| handle.written_bytes > 0);
            assert_eq!(written.collect::<Vec<_>>(), has_data, "{policy} on {drives}");
        }
    }
}
