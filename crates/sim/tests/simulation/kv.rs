//! A key-value server over simulated drives, as users run it: every value is checked, every span adds up, two
//! runs agree.

use proptest::prelude::*;
use std::ops::ControlFlow;
use tailcut_base::{Device, Nanos};
use tailcut_host::Disk;
use tailcut_host::array::{ArrayConfig, LayoutKind};
use tailcut_sim::cpu::{Spent, costs as cores};
use tailcut_sim::ending::run_to_end;
use tailcut_sim::kv::{Backing, ByteDisk, Kept, KvConfig, Loaded, Path, SimulatedServer, costs, load};
use tailcut_sim::report::Report;
use tailcut_sim::world::{Checker, Limits, RunError, World};
use tailcut_sim::{Scenario, Storage};
use tailcut_ssd::precondition::PreparedState;
use tailcut_ssd::{Precondition, Preset};
use tailcut_workload::address_config::Distribution;
use tailcut_workload::config::PaceKind;
use tailcut_workload::{AddressConfig, SyntheticConfig};

/// Half gets, half sets, in a small store on small drives.
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
    let mut world = scenario.kv_world(|| (), false).expect("it is a good scenario");
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
        assert!(figures.from_flash.count() > 200, "{layout:?}: {}", figures.from_flash.count());
        let (_, again) = run(&scenario);
        assert_eq!(report, again, "{layout:?}");
    }
}

/// A server whose flash is behind a host: the host's threads execute its requests, on cores of their own.
fn behind_a_host(mut scenario: Scenario, strategy: &str, threads: u32) -> Scenario {
    scenario.host.strategy = strategy.into();
    scenario.host.threads = threads;
    scenario.host.cores = 2;
    scenario
}

#[test]
fn what_a_server_asks_for_goes_the_path_of_any_strategy() {
    let layouts = [None, Some(LayoutKind::Epochs), Some(LayoutKind::LogRaid5)];
    for layout in layouts {
        for (strategy, threads) in [("nvme", 64), ("coop+precomplete", 64), ("nonblocking", 5), ("poll", 32)]
        {
            let scenario = behind_a_host(scenario(layout), strategy, threads);
            let (world, report) = run(&scenario);
            let case = format!("{layout:?} {strategy}");
            assert_eq!((report.all().requests, report.all().errors), (5_000, 0), "{case}");
            assert!(report.content_checked, "{case}");
            let (kv, host) = (world.device.kv_figures(), world.device.host_figures());
            let (kv, host) = (kv.expect("it is a server"), host.expect("it has a host"));
            assert!(kv.from_flash.count() > 200, "{case}: {}", kv.from_flash.count());
            assert!(host.time.total() - host.time.of(Spent::Idle) > Nanos::ZERO, "{case}");
            let (_, again) = run(&scenario);
            assert_eq!(report, again, "{case}");
        }
    }
}

#[test]
fn several_threads_serve_more_than_one() {
    let rate = |threads: u32| {
        let mut scenario = scenario(None);
        (scenario.kv.threads, scenario.kv.links, scenario.kv.memory) = (threads, 4, 64 << 20);
        (scenario.workload.read, scenario.kv.keep) = (1_000_000, Kept::WhatIsUsed);
        let (world, report) = run(&scenario);
        let figures = world.device.kv_figures().expect("it is a server");
        assert_eq!(report.all().errors, 0);
        (report.all().requests_per_s, figures.thread)
    };
    let [one, two] = [1, 2].map(rate);
    assert!(one.1 > 0.9, "24 clients keep a thread busy: {}", one.1);
    assert!(two.0 > 1.5 * one.0, "{} with one, {} with two", one.0, two.0);
}

/// Small, and varied in every setting that can vary.
fn any_scenario() -> impl Strategy<Value = Scenario> {
    let load = (0u32..=100, 1u32..=40, any::<bool>(), 1u64..1000);
    let server = (16u64..6000, any::<bool>(), any::<bool>(), 1u32..=4, any::<bool>());
    let network = (1u32..=3, 0u64..60_000);
    let host = prop::sample::select(vec!["", "", "nvme", "coop", "lazy", "poll", "hybrid"]);
    (load, server, network, 0usize..3, host, 3u32..40).prop_map(
        |(
            (gets, clients, is_open, seed),
            (value, is_cache, durable, cores, siblings),
            (links, moderation),
            layout,
            strategy,
            threads,
        )| {
            let layout = [None, Some(LayoutKind::Raid0), Some(LayoutKind::Epochs)][layout];
            let mut scenario = scenario(layout);
            scenario.seed = seed;
            scenario.run.requests = 800;
            scenario.workload.read = gets * 10_000;
            scenario.workload.depth = clients;
            if is_open {
                (scenario.workload.pace, scenario.workload.rate) = (PaceKind::Open, 20_000);
            }
            let kv = &mut scenario.kv;
            (kv.value, kv.durable, kv.cores, kv.siblings) = (value, durable, cores, siblings);
            (kv.links, kv.moderation) = (links, Nanos(moderation));
            kv.threads = 1 + (seed as u32) % ((cores << u32::from(siblings)) - 1).max(1);
            // An open loop needs more than there are connections.
            kv.connections = clients.div_ceil(2);
            kv.items = 8_000_000 / kv.footprint();
            kv.keep = if is_cache { Kept::WhatIsUsed } else { Kept::Everything };
            kv.memory = 4 << 20;
            behind_a_host(scenario, strategy, threads)
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// Every get is checked against the permitted values, and every request's time is fully attributed.
    #[test]
    fn whatever_it_is_like_a_server_returns_what_was_set(scenario in any_scenario()) {
        let (world, report) = run(&scenario);
        prop_assert_eq!((report.all().requests, report.all().errors), (800, 0));
        let figures = world.device.kv_figures().expect("it is a server");
        let answered = figures.from_memory.count() + figures.from_flash.count() + figures.misses;
        prop_assert_eq!(answered + figures.sets.count(), 800);
        prop_assert_eq!(figures.engine.damaged + figures.engine.failed_reads, 0);
        prop_assert!(figures.thread <= 1.0 && figures.wire_in <= 1.0 && figures.wire_out <= 1.0);
    }
}

/// A server of this scenario, with its disk and its record of the sets modified by `change`.
fn served_wrongly(scenario: &Scenario, change: impl FnOnce(&mut Loaded)) -> Result<bool, RunError> {
    let (drive, checker) = scenario.prepare(()).expect("it is a good scenario");
    let disk = Disk::of(&drive.identify());
    let blocks = scenario.kv.blocks(disk.blocks, &disk).expect("it fits");
    let mut loaded = load(&scenario.kv, &Disk { blocks, ..disk }, scenario.seed);
    change(&mut loaded);
    let bytes = ByteDisk::new(drive, checker, std::mem::take(&mut loaded.blocks));
    let server = SimulatedServer::new(&scenario.kv, loaded, bytes, Path::Direct, true, Nanos::ZERO);
    let sources = scenario.sources(server.identify().sectors, false).expect("it is a good workload");
    let mut world = World::new(server, Checker::off(), sources, scenario.run.clone());
    world.run(&mut |_| ControlFlow::Continue(()), &mut |_, _| {})
}

#[test]
fn without_a_change_nothing_is_wrong() {
    assert_eq!(served_wrongly(&scenario(None), |_| {}), Ok(false));
}

#[test]
#[should_panic(expected = "has been lost")]
fn a_disk_that_has_flipped_bits_is_noticed() {
    let _ = served_wrongly(&scenario(None), |loaded| {
        loaded.blocks.iter_mut().skip(2).for_each(|block| block.as_mut_slice()[777] ^= 1);
    });
}

#[test]
#[should_panic(expected = "a version that nobody has set came back")]
fn a_set_that_changed_nothing_is_noticed() {
    let _ = served_wrongly(&scenario(None), |loaded| {
        let last = loaded.last;
        loaded.versions.iter_mut().for_each(|version| *version += last);
        loaded.last *= 2;
    });
}

/// Every client gets its reply, however small the store: sets wait for free segments.
#[test]
fn a_store_that_is_nearly_full_takes_every_set() {
    let mut scenario = scenario(None);
    scenario.workload.read = 0;
    scenario.kv.items = 8_900;
    let (world, report) = run(&scenario);
    assert_eq!((report.all().requests, report.all().errors), (5_000, 0));
    let figures = world.device.kv_figures().expect("it is a server");
    assert!(figures.engine.reclaimed > 10, "{:?}", figures.engine);
}

/// One client without queueing: each step of a `get` from memory once.
#[test]
fn a_get_from_memory_takes_the_sum_of_its_steps() {
    let mut scenario = scenario(None);
    scenario.workload.read = 1_000_000;
    scenario.workload.depth = 1;
    scenario.run.requests = 50;
    // All items fit.
    (scenario.kv.items, scenario.kv.memory, scenario.kv.moderation) = (100, 8 << 20, Nanos::ZERO);
    let (world, _) = run(&scenario);
    let figures = world.device.kv_figures().expect("it is a server");
    assert_eq!(figures.from_memory.count(), 50);
    let wire = |bytes: u64| Nanos::for_bytes(costs::wire_bytes(bytes), scenario.kv.link);
    // "get " and "VALUE ", the key, the line end; flags and length, the value and the end.
    let (asked, answered) = (4 + 24 + 2, 6 + 24 + 7 + 2 + 1000 + 7);
    let there = costs::SEND + wire(asked) + scenario.kv.latency;
    let interrupt = cores::IDLE_EXIT + cores::HARD_ENTRY + cores::SOFT_ENTRY + costs::PACKET + cores::WAKE;
    let thread = cores::IDLE_EXIT + cores::SWITCH + costs::GET;
    let back = wire(answered) + scenario.kv.latency + costs::CLIENT_RECEIVE;
    let least = there + interrupt + thread + back;
    // A histogram is exact to a thousandth.
    let min = figures.from_memory.min();
    assert!(min.0.abs_diff(least.0) <= least.0 / 1000, "{min} and not {least}");
}
