//! A key-value server over simulated drives, as users run it: every value is checked, every span adds up, two runs agree.

use std::ops::ControlFlow;
use tailcut_host::array::{ArrayConfig, LayoutKind};
use tailcut_sim::ending::run_to_end;
use tailcut_sim::kv::{Backing, KvConfig, SimulatedServer};
use tailcut_sim::report::Report;
use tailcut_sim::workload::address_config::Distribution;
use tailcut_sim::workload::config::PaceKind;
use tailcut_sim::workload::{AddressConfig, SyntheticConfig};
use tailcut_sim::world::{Limits, World};
use tailcut_sim::{Scenario, Storage};
use tailcut_ssd::precondition::PreparedState;
use tailcut_ssd::{Precondition, Preset};

/// Half gets, half sets, of a small store on small drives.
fn scenario(layout: Option<LayoutKind>) -> Scenario {
    let mut device = Preset::G.config();
    device.geometry.blocks = 32;
    let array = layout.map_or_else(ArrayConfig::default, |layout| {
        let groups = if layout.is_swan() || layout.is_mirrored() { 2 } else { 1 };
        let mut array = ArrayConfig { drives: 6, layout, groups, ..ArrayConfig::default() };
        array.log.segment = 256 << 10;
        array.raid.chunk = 16 << 10;
        array.epoch.cache = 4 << 20;
        array
    });
    Scenario {
        device,
        array,
        precondition: Precondition { state: PreparedState::Steady, fill: 800_000 },
        run: Limits { requests: 5_000, ..Limits::NONE },
        workload: SyntheticConfig {
            read: 500_000,
            region_share: 1_000_000,
            pace: PaceKind::Closed,
            depth: 24,
            addresses: AddressConfig { distribution: Distribution::ZipfianYcsb, ..AddressConfig::default() },
            ..SyntheticConfig::default()
        },
        kv: KvConfig {
            enabled: true,
            items: 7_000,
            space: 16 << 20,
            memory: 8 << 20,
            segment: 256 << 10,
            connections: 32,
            ..KvConfig::default()
        },
        ..Scenario::default()
    }
}

type Served = World<SimulatedServer<Backing>>;

fn run(scenario: &Scenario) -> (Served, Report) {
    let mut world = scenario.kv_world(|| (), (), false).expect("it is a good scenario");
    let ends = run_to_end(&mut world, scenario.horizon(), &mut |_| ControlFlow::Continue(()));
    let ends = ends.unwrap_or_else(|error| panic!("{error}"));
    let report = Report::new(scenario, &world, &ends.figures(), false);
    (world, report)
}

#[test]
fn a_store_is_served_from_a_drive_and_from_every_kind_of_array() {
    let layouts = [None, Some(LayoutKind::Raid0), Some(LayoutKind::Epochs), Some(LayoutKind::LogRaid5)];
    for layout in layouts {
        let scenario = scenario(layout);
        let (world, report) = run(&scenario);
        assert_eq!((report.all().requests, report.all().errors), (5_000, 0), "{layout:?}");
        let figures = world.device.kv_figures().expect("it is a server");
        let hits = figures.from_memory.count() + figures.from_flash.count();
        assert_eq!(hits + figures.sets.count(), 5_000, "{layout:?}");
        assert!(figures.from_flash.count() > 500, "{layout:?}: {hits}");
        let (_, again) = run(&scenario);
        assert_eq!(report, again, "{layout:?}");
    }
}
