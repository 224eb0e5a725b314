use super::*;
use crate::path::Background;
use tailcut_base::config::Choice;
use tailcut_host::PlacementPolicy;
use tailcut_host::array::epoch::EpochMode;
use tailcut_host::array::{LayoutKind, ReadPolicy};
use tailcut_ssd::config::{Allocation, ChipPolicy, CommitPolicy, MappingLevel, VictimPolicy};
use tailcut_ssd::flash::geometry::ReadyBusy;

fn because(scenario: &Scenario, path: &str) -> Option<String> {
    scenario.ineffective().into_iter().find(|keys| keys.covers(path)).map(|keys| keys.because)
}

#[test]
fn keys_of_a_synthetic_workload_have_no_effect_with_a_trace_but_for_its_classes() {
    let mut scenario = Scenario::default();
    assert_eq!(because(&scenario, "workload.rate"), None);
    assert!(because(&scenario, "trace.depth").is_some());
    scenario.trace.file = "a.csv".into();
    assert!(because(&scenario, "workload.rate").is_some_and(|why| why.contains("trace.file")));
    assert!(because(&scenario, "workload.addresses.distribution").is_some());
    assert_eq!(because(&scenario, "workload.read_class"), None);
    assert!(because(&scenario, "workload.write_class").is_some_and(|why| why.contains("alike")));
    scenario.array.drives = 3;
    assert_eq!(because(&scenario, "workload.write_class"), None);
    assert_eq!(because(&scenario, "trace.depth"), None);
    assert_eq!(because(&scenario, "run.requests"), None);
}

#[test]
fn keys_of_parts_that_a_drive_lacks_have_no_effect() {
    let mut scenario = Scenario::default();
    assert_eq!(because(&scenario, "device.gc.victim"), None);
    assert!(because(&scenario, "device.ftl.stripe").is_some());
    assert!(because(&scenario, "device.cache.streams").is_some_and(|why| why.contains("device.cache.size")));
    (scenario.device.ftl.mapping, scenario.device.buffer.size) = (MappingLevel::Block, 0);
    assert!(because(&scenario, "device.gc.victim").is_some_and(|why| why.contains("device.ftl.mapping")));
    assert!(because(&scenario, "device.buffer.capacitor").is_some());
    assert_eq!(because(&scenario, "device.ftl.stripe"), None);
}

#[test]
fn operations_of_a_store_are_those_of_its_mix() {
    let mut scenario = Scenario::default();
    scenario.lsm.enabled = true;
    let keys = ["clients", "operations", "gets", "readers", "update_reads"];
    let mut effective = |mix| {
        scenario.lsm.mix = mix;
        keys.map(|key| because(&scenario, &format!("lsm.{key}")).is_none())
    };
    assert_eq!(effective(Mix::PutsAndGets), [false, false, true, true, false]);
    assert_eq!(effective(Mix::Load), [true, false, false, false, false]);
    assert_eq!(effective(Mix::YcsbA), [true, true, false, false, true]);
    assert_eq!(effective(Mix::YcsbC), [true, true, false, false, false]);
}

#[test]
fn properties_of_writes_need_a_drive_that_minds_them() {
    let mut scenario = Scenario::default();
    scenario.device.buffer.capacitor = true;
    assert!(because(&scenario, "workload.fua").is_some_and(|why| why.contains("capacitor")));
    assert!(because(&scenario, "workload.stream").is_some_and(|why| why.contains("streams")));
    (scenario.device.buffer.capacitor, scenario.device.ftl.streams) = (false, 2);
    assert_eq!((because(&scenario, "workload.fua"), because(&scenario, "workload.stream")), (None, None));
    (scenario.device.buffer.capacitor, scenario.array.drives) = (true, 4);
    assert!(because(&scenario, "workload.fua").is_some(), "raid0 hands it to its drives");
    scenario.array.layout = LayoutKind::LogRaid5;
    assert_eq!(because(&scenario, "workload.fua"), None, "an array may wait for its drives");
    assert_eq!(because(&scenario, "precondition.fill"), None);
    scenario.precondition.state = PreparedState::Empty;
    assert!(because(&scenario, "precondition.fill").is_some());
}

#[test]
fn keys_of_other_layouts_have_no_effect() {
    let mut scenario = Scenario::default();
    (scenario.array.drives, scenario.array.layout) = (4, LayoutKind::Raid5);
    for key in ["array.log.checkpoint_every", "array.epoch.copies"] {
        assert!(because(&scenario, key).is_some_and(|why| why.contains("raid5")), "{key}");
    }
    assert_eq!(because(&scenario, "array.raid.chunk"), None);
    // Without writes of a journal, it takes space nevertheless.
    for key in ["array.raid.journal", "array.raid.write_hole"] {
        assert_eq!(because(&scenario, key), None, "{key}");
    }
    scenario.array.layout = LayoutKind::Epochs;
    assert_eq!(because(&scenario, "array.epoch.copies"), None);
    assert!(because(&scenario, "array.raid.chunk").is_some());
    scenario.array.layout = LayoutKind::Swan5;
    assert_eq!(because(&scenario, "array.log.spare"), None);
}

#[test]
fn preemption_needs_reads_that_may_preempt() {
    let mut scenario = Scenario::default();
    scenario.device.preempt.erase = Handling::Suspend;
    let why = |scenario: &Scenario| because(scenario, "device.preempt.erase");
    assert!(why(&scenario).is_some_and(|why| why.contains("workload.read_class = 2")));
    scenario.workload.read_class = 2;
    assert_eq!(why(&scenario), None);
    assert!(because(&scenario, "device.preempt.resets").is_some());
    scenario.lsm.enabled = true;
    assert_eq!(why(&scenario), None, "gets of a store are of class 1");
    (scenario.lsm.get_class, scenario.lsm.compaction_read_class) = (4, 3);
    assert!(why(&scenario).is_some_and(|why| why.contains("lsm.compaction_read_class")));
    scenario.device.schedule.classes = Classes::Equal;
    assert_eq!(why(&scenario), None);
}

#[test]
fn parameters_of_a_distribution_have_no_effect_on_others() {
    let mut scenario = Scenario::default();
    let why = |scenario: &Scenario, key: &str| because(scenario, key).unwrap_or_default();
    for key in ["theta", "h", "deviation", "centre", "hot_space", "hot_access", "zones", "scatter"] {
        let path = format!("workload.addresses.{key}");
        let why = why(&scenario, &path);
        assert!(why.contains("workload.addresses.distribution is \"uniform\": set it to"), "{path}: {why}");
    }
    let theta = "workload.write_addresses.theta";
    assert!(why(&scenario, theta).contains("write_addresses.distribution is \"same\""));
    scenario.workload.write_addresses.distribution = Distribution::Zipf;
    assert_eq!(because(&scenario, theta), None);
    scenario.workload.read = 1_000_000;
    assert!(why(&scenario, theta).contains("lower workload.read"));
    scenario.workload.addresses.distribution = Distribution::HotCold;
    assert_eq!(because(&scenario, "workload.addresses.hot_space"), None);
    assert!(why(&scenario, "workload.addresses.theta").contains("\"zipf\" or \"zipfian-ycsb\""));
    scenario.workload.read = 0;
    assert!(why(&scenario, "workload.addresses.hot_space").contains("raise workload.read"));
    assert!(because(&scenario, "beside.addresses.theta").is_some_and(|why| why.contains("beside.enabled")));
}

#[test]
fn a_sample_size_has_an_effect_on_d_choices_alone() {
    let mut scenario = Scenario::default();
    assert!(
        because(&scenario, "device.gc.choices").is_some_and(|why| why.contains("set it to \"d-choices\""))
    );
    scenario.device.gc.victim = VictimPolicy::DChoices;
    assert_eq!(because(&scenario, "device.gc.choices"), None);
}

#[test]
fn keys_of_scheduling_need_a_scheduler_that_uses_them() {
    let mut scenario = Scenario::default();
    scenario.workload.write_size = "64KiB".into();
    for commit in CommitPolicy::all() {
        scenario.device.schedule.commit = *commit;
        let has = |key: &str| because(&scenario, &format!("device.schedule.{key}")).is_none();
        let layout = ["faro", "rios", "sprinkler"].contains(&commit.name());
        assert_eq!(has("readdressing"), layout, "{commit}");
        assert_eq!(has("passes"), layout && *commit != CommitPolicy::Rios, "{commit}");
        assert_eq!(has("whole_requests"), commit.name() == "pas", "{commit}");
    }
    scenario.device.schedule.commit = CommitPolicy::Pas;
    scenario.device.schedule.whole_requests = true;
    assert_eq!(because(&scenario, "device.schedule.passes"), None);
    let patience = "device.schedule.write_patience";
    scenario.device.schedule.chip = ChipPolicy::Fifo;
    assert!(because(&scenario, patience).is_some_and(|why| why.contains("\"reads-first\"")));
    scenario.device.schedule.chip = ChipPolicy::ReadsFirst;
    assert_eq!(because(&scenario, patience), None);
}

#[test]
fn whole_requests_need_requests_of_several_pages() {
    let mut scenario = Scenario::default();
    scenario.device.schedule.commit = CommitPolicy::Pas;
    let key = "device.schedule.whole_requests";
    assert!(because(&scenario, key).is_some_and(|why| why.contains("one page")));
    for (read_size, align) in [("64KiB", 0), ("4KiB/50:8KiB/50", 0), ("4KiB", 512)] {
        scenario.workload.read_size = read_size.into();
        scenario.workload.align = align;
        assert_eq!(because(&scenario, key), None, "{read_size}, {align}");
    }
}

#[test]
fn dies_share_transactions_behind_one_line_only() {
    let mut scenario = Scenario::default();
    let why = |scenario: &Scenario, key: &str| because(scenario, &format!("device.schedule.{key}"));
    (scenario.device.geometry.dies, scenario.device.geometry.ready_busy) = (1, ReadyBusy::Chip);
    for key in ["die_interleaving", "match_cell_times"] {
        assert!(why(&scenario, key).is_some_and(|why| why.contains("raise device.geometry.dies")));
    }
    (scenario.device.geometry.dies, scenario.device.geometry.ready_busy) = (2, ReadyBusy::Die);
    assert!(why(&scenario, "match_cell_times").is_some_and(|why| why.contains("ready_busy = \"chip\"")));
    scenario.device.geometry.ready_busy = ReadyBusy::Chip;
    assert_eq!(why(&scenario, "die_interleaving"), None);
    scenario.device.timing.program = vec![Nanos::micros(500)];
    assert!(why(&scenario, "match_cell_times").is_some_and(|why| why.contains("equally long")));
    scenario.device.timing.program = vec![Nanos::micros(200), Nanos::micros(800)];
    assert_eq!(why(&scenario, "match_cell_times"), None);
    scenario.device.schedule.die_interleaving = false;
    assert!(why(&scenario, "match_cell_times").is_some_and(|why| why.contains("die_interleaving = true")));
}

#[test]
fn times_of_preemption_need_operations_that_are_preempted_like_that() {
    let mut scenario = Scenario::default();
    scenario.workload.read_class = 1;
    let why = |scenario: &Scenario, key: &str| because(scenario, &format!("device.timing.{key}"));
    let all = [
        "program_suspend",
        "program_resume",
        "program_reset",
        "erase_suspend",
        "erase_resume",
        "erase_reset",
    ];
    let effective = |scenario: &Scenario| -> Vec<&str> {
        all.into_iter().filter(|key| why(scenario, key).is_none()).collect()
    };
    assert_eq!(effective(&scenario), [""; 0]);
    assert!(
        why(&scenario, "erase_suspend").is_some_and(|why| why.contains("device.preempt.erase is \"none\""))
    );
    scenario.device.preempt.program = Handling::Suspend;
    assert_eq!(effective(&scenario), ["program_suspend", "program_resume"]);
    scenario.device.preempt.erase = Handling::Reset;
    assert_eq!(
        effective(&scenario),
        ["program_suspend", "program_resume", "erase_suspend", "erase_resume", "erase_reset"],
        "what may not be reset again is suspended"
    );
    scenario.workload.read_class = 2;
    assert_eq!(effective(&scenario), ["program_suspend", "program_resume", "erase_suspend", "erase_resume"]);
    (scenario.workload.read_class, scenario.device.preempt.suspensions) = (1, 0);
    assert_eq!(effective(&scenario), ["erase_reset"]);
    (scenario.device.preempt.suspensions, scenario.device.preempt.resets) = (1, 0);
    assert!(why(&scenario, "erase_reset").is_some_and(|why| why.contains("device.preempt.resets is 0")));
    scenario.workload.read_class = 3;
    assert!(why(&scenario, "program_suspend").is_some_and(|why| why.contains("workload.read_class = 2")));
}

#[test]
fn failing_fast_needs_an_array_that_asks_for_it() {
    let mut scenario = Scenario::default();
    let why = |scenario: &Scenario| because(scenario, "device.schedule.fail_fast");
    assert!(why(&scenario).is_some_and(|why| why.contains("array.reads = \"fail-fast\"")));
    (scenario.array.drives, scenario.array.layout) = (4, LayoutKind::Raid5);
    assert!(why(&scenario).is_some());
    scenario.array.reads = ReadPolicy::FailFast;
    assert_eq!(why(&scenario), None);
    scenario.array.layout = LayoutKind::Raid0;
    assert!(
        why(&scenario).is_some_and(|why| why.contains("other than raid0")),
        "nothing can be reconstructed"
    );
}

#[test]
fn steady_state_is_judged_in_runs_of_more_than_five_rounds() {
    let mut scenario = Scenario::default();
    let why = |scenario: &Scenario| because(scenario, "run.until_steady");
    assert_eq!(why(&scenario), None);
    (scenario.run.duration, scenario.run.round) = (Nanos::secs(5), Nanos::secs(1));
    assert!(
        why(&scenario).is_some_and(|why| why.contains("run.duration above 5.00 s")),
        "{:?}",
        why(&scenario)
    );
    scenario.run.duration = Nanos::millis(5001);
    assert_eq!(why(&scenario), None);
    scenario.run.duration = Nanos::ZERO;
    assert_eq!(why(&scenario), None, "a run without a limit");
}

#[test]
fn keys_of_drives_of_today_need_the_parts_that_they_describe() {
    let mut scenario = Scenario::default();
    for path in ["superblock.program", "queue.arbitration", "pacing.most", "preempt.safe_point"] {
        assert!(because(&scenario, &format!("device.{path}")).is_some(), "{path}");
    }
    scenario.device = tailcut_ssd::Preset::Pm9a3.config();
    for path in ["superblock.program", "queue.arbitration", "pacing.most", "preempt.safe_point"] {
        assert_eq!(because(&scenario, &format!("device.{path}")), None, "{path}");
    }
    for path in ["ftl.allocation", "gc.high", "pacing.window"] {
        assert!(because(&scenario, &format!("device.{path}")).is_some(), "{path}");
    }
}

#[test]
fn the_control_interface_needs_an_array_that_calls_it() {
    let mut scenario = Scenario::default();
    let why = |scenario: &Scenario| because(scenario, "device.control_api");
    assert!(why(&scenario).is_some_and(|why| why.contains("array.turns")));
    (scenario.array.drives, scenario.array.layout) = (3, LayoutKind::Raid5);
    assert!(why(&scenario).is_some());
    scenario.array.turns = Nanos::millis(20);
    assert_eq!(why(&scenario), None);
    scenario.array.turns = Nanos::ZERO;
    scenario.array.layout = LayoutKind::Epochs;
    scenario.array.epoch.mode = EpochMode::GcControl;
    assert_eq!(why(&scenario), None);
    scenario.array.epoch.mode = EpochMode::Epoch;
    assert!(why(&scenario).is_some_and(|why| why.contains("gc-control")));
}

#[test]
fn streams_need_writes_that_name_them_and_a_drive_that_gets_them() {
    let mut scenario = Scenario::default();
    let both = |scenario: &Scenario| {
        ["device.ftl.streams", "workload.stream"].map(|key| because(scenario, key).is_none())
    };
    scenario.device.fdp.handles = 2;
    let stream = |scenario: &Scenario| because(scenario, "workload.stream").is_none();
    assert!(stream(&scenario), "handles are named by streams");
    scenario.device.fdp.handles = 1;
    scenario.device.ftl.streams = 4;
    assert_eq!(both(&scenario), [false, true]);
    scenario.workload.stream = 2;
    assert_eq!(both(&scenario), [true, true]);
    scenario.array.drives = 3;
    assert_eq!(both(&scenario), [false, false]);
    (scenario.array.drives, scenario.trace.file) = (0, "a.csv".into());
    assert_eq!(both(&scenario), [false, false], "one disk of a trace has the first");
    scenario.trace.streams = 2;
    assert_eq!(both(&scenario), [true, false], "several take turns");
    assert!(because(&scenario, "trace.streams").is_none());
    scenario.trace.disk = "0".into();
    assert!(because(&scenario, "trace.streams").is_some_and(|why| why.contains("trace.disk")));
    (scenario.trace.disk, scenario.device.ftl.streams) = (String::new(), 1);
    scenario.device.fdp.handles = 2;
    assert!(because(&scenario, "trace.streams").is_none());
    scenario.trace.streams = 3;
    assert!(because(&scenario, "trace.streams").is_some_and(|why| why.contains("streams 0 to 1")));
}

#[test]
fn handles_need_a_layer_that_names_them() {
    let mut scenario = Scenario::default();
    scenario.device.fdp.handles = 2;
    let keys = ["device.fdp.isolation", "placement.policy", "workload.stream"];
    let effective = |scenario: &Scenario| keys.map(|key| because(scenario, key).is_none());
    assert_eq!(effective(&scenario), [false, true, true], "every source names the first");
    assert!(because(&scenario, "device.fdp.handles").is_none(), "the other has an open superblock");
    scenario.placement.policy = PlacementPolicy::Size;
    assert_eq!(effective(&scenario), [true, true, false]);
    scenario.kv.enabled = true;
    assert_eq!(effective(&scenario), [true, false, false]);
    (scenario.kv.enabled, scenario.array.drives) = (false, 3);
    scenario.array.layout = LayoutKind::Raid0;
    assert_eq!(effective(&scenario), [true, true, false], "raid0 passes handles on");
    scenario.placement.policy = PlacementPolicy::Named;
    assert_eq!(effective(&scenario), [false, true, true], "raid0 has no parity");
    scenario.array.layout = LayoutKind::Raid5;
    assert_eq!(effective(&scenario), [true, false, false], "it needs both");
    scenario.device.fdp.handles = 4;
    assert_eq!(effective(&scenario), [true, true, true]);
    scenario.array.layout = LayoutKind::LogRaid5;
    assert_eq!(effective(&scenario), [true, false, false]);
    (scenario.array.drives, scenario.device.fdp.handles) = (0, 1);
    assert!(because(&scenario, "placement.policy").is_some_and(|why| why.contains("device.fdp.handles")));
}

#[test]
fn reads_of_urgent_classes_are_distinguished_by_any_scheduler() {
    let mut scenario = Scenario::default();
    scenario.device.schedule.chip = ChipPolicy::Fifo;
    for (class, has_effect) in [(3, false), (2, true), (1, true)] {
        scenario.workload.read_class = class;
        assert_eq!(because(&scenario, "device.schedule.classes").is_none(), has_effect, "{class}");
    }
    scenario.workload.read_class = 3;
    scenario.device.schedule.classes = Classes::Inferred;
    assert_eq!(because(&scenario, "device.schedule.classes"), None);
}

#[test]
fn levelling_of_queues_needs_dynamic_allocation_and_backlogs_need_preemption_of_programs() {
    let mut scenario = Scenario::default();
    for (allocation, has_effect) in [(Allocation::Static, false), (Allocation::Dynamic, true)] {
        scenario.device.ftl.allocation = allocation;
        assert_eq!(because(&scenario, "device.schedule.level_queues").is_none(), has_effect, "{allocation}");
    }
    scenario.workload.read_class = 1;
    scenario.device.preempt.erase = Handling::Suspend;
    for (program, has_effect) in [(Handling::None, false), (Handling::Suspend, true)] {
        scenario.device.preempt.program = program;
        assert_eq!(because(&scenario, "device.preempt.under_backlog").is_none(), has_effect, "{program}");
    }
}

#[test]
fn classes_of_reads_need_a_drive_that_distinguishes_them() {
    let mut scenario = Scenario::default();
    let why = |scenario: &Scenario, key: &str| because(scenario, key);
    assert!(why(&scenario, "workload.write_class").is_some_and(|why| why.contains("alike")));
    scenario.device.schedule.chip = ChipPolicy::Fifo;
    assert!(why(&scenario, "device.schedule.classes").is_some_and(|why| why.contains("reads-first")));
    scenario.device.preempt.erase = Handling::Suspend;
    assert_eq!(why(&scenario, "device.schedule.classes"), None);
    assert_eq!(why(&scenario, "workload.read_class"), None);
    scenario.device.schedule.classes = Classes::Equal;
    assert!(why(&scenario, "workload.read_class").is_some_and(|why| why.contains("\"told\"")));
    scenario.beside.enabled = true;
    scenario.beside.source.read_class = 1;
    assert_eq!(why(&scenario, "workload.read_class"), None, "the report has each class");
}

#[test]
fn a_high_mark_needs_a_collection_that_goes_up_to_it_and_erases_wait_for_reads_that_preempt() {
    let mut scenario = Scenario::default();
    let why = |scenario: &Scenario, key: &str| because(scenario, &format!("device.{key}"));
    (scenario.device.gc.low, scenario.device.gc.high, scenario.device.gc.background) = (3, 5, false);
    assert!(why(&scenario, "gc.high").is_some_and(|why| why.contains("device.gc.background = true")));
    scenario.device.gc.high = 3;
    assert_eq!(why(&scenario, "gc.high"), None, "no lower mark is allowed");
    (scenario.device.gc.high, scenario.device.gc.background) = (5, true);
    assert_eq!(why(&scenario, "gc.high"), None);
    assert!(why(&scenario, "preempt.time_erases").is_some_and(|why| why.contains("workload.read_class = 2")));
    scenario.workload.read_class = 2;
    assert_eq!(why(&scenario, "preempt.time_erases"), None);
}

#[test]
fn keys_of_a_host_need_the_part_that_they_describe() {
    let mut scenario = Scenario::default();
    scenario.host.strategy = "coop".into();
    let keys = ["array_core", "background_threads", "background_latency", "poll_interval", "window"];
    let effective = |scenario: &Scenario| {
        keys.into_iter().filter(|key| because(scenario, &format!("host.{key}")).is_none()).collect::<Vec<_>>()
    };
    assert_eq!(effective(&scenario), [""; 0]);
    scenario.host.background = Background::Cpu;
    assert_eq!(effective(&scenario), ["background_threads"]);
    (scenario.host.background, scenario.host.strategy) = (Background::Io, "poll".into());
    assert_eq!(effective(&scenario), ["background_threads", "background_latency", "poll_interval"]);
    (scenario.host.strategy, scenario.array.drives) = ("precomplete".into(), 3);
    assert_eq!(effective(&scenario), ["array_core", "background_threads", "background_latency", "window"]);
}

#[test]
fn keys_of_copies_need_an_array_that_makes_some() {
    let mut scenario = Scenario::default();
    (scenario.host.strategy, scenario.array.drives) = ("scsi".into(), 6);
    let effective = |scenario: &Scenario| {
        let keys = ["host.array_block", "host.array_thread", "lsm.loaded_last"];
        keys.into_iter().filter(|key| because(scenario, key).is_none()).collect::<Vec<_>>()
    };
    scenario.lsm.enabled = true;
    scenario.precondition.state = PreparedState::Steady;
    scenario.array.layout = LayoutKind::Raid0;
    assert_eq!(effective(&scenario), [""; 0]);
    scenario.array.layout = LayoutKind::Raid5;
    assert_eq!(effective(&scenario), ["host.array_block"]);
    scenario.host.array_block = Nanos(900);
    assert_eq!(effective(&scenario), ["host.array_block", "host.array_thread"]);
    scenario.array.layout = LayoutKind::LogRaid0;
    assert_eq!(effective(&scenario), ["host.array_block", "host.array_thread", "lsm.loaded_last"]);
}

#[test]
fn keys_of_redundancy_need_some_and_cells_need_pages_of_several_types() {
    let mut scenario = Scenario::default();
    (scenario.array.drives, scenario.array.layout) = (3, LayoutKind::Raid0);
    for key in ["reads", "slow_after", "raid.journal_always", "checksums_idle", "background_rate"] {
        assert!(because(&scenario, &format!("array.{key}")).is_some(), "{key}");
    }
    scenario.array.layout = LayoutKind::Raid5;
    scenario.incidents = "1s remove 0; 2s return 0".into();
    for key in ["reads", "slow_after", "raid.journal_always", "background_rate"] {
        assert_eq!(because(&scenario, &format!("array.{key}")), None, "{key}");
    }
    scenario.incidents = "1s remove 0".into();
    assert!(because(&scenario, "array.background_rate").is_some());
    scenario.incidents.clear();
    assert!(because(&scenario, "device.timing.cell").is_some_and(|why| why.contains("each page type")));
    scenario.device.timing.read = vec![Nanos::micros(50), Nanos::micros(90)];
    assert_eq!(because(&scenario, "device.timing.cell"), None);
    scenario.device.geometry.dies = 1;
    assert!(because(&scenario, "device.geometry.ready_busy").is_some());
    (scenario.device.geometry.dies, scenario.array.drives) = (2, 0);
    assert_eq!(because(&scenario, "device.geometry.ready_busy"), None);
    assert!(because(&scenario, "device.queue.trim").is_some_and(|why| why.contains("workload.trim")));
    scenario.workload.trim = 10_000;
    assert_eq!(because(&scenario, "device.queue.trim"), None);
}

#[test]
fn keys_of_turns_and_calls_need_turns_and_calls() {
    let mut scenario = Scenario::default();
    (scenario.array.drives, scenario.array.layout) = (3, LayoutKind::Raid5);
    scenario.array.reads = ReadPolicy::AroundCollection;
    let why = |scenario: &Scenario, key: &str| because(scenario, key);
    assert!(why(&scenario, "array.reads").is_some_and(|why| why.contains("set array.turns")));
    assert!(why(&scenario, "array.turn_pause").is_some_and(|why| why.contains("array.turns")));
    scenario.array.turns = Nanos::millis(20);
    assert_eq!((why(&scenario, "array.reads"), why(&scenario, "array.turn_pause")), (None, None));
    (scenario.array.turns, scenario.array.layout) = (Nanos::ZERO, LayoutKind::Epochs);
    assert!(why(&scenario, "array.reads").is_some_and(|why| why.contains("token")));
    scenario.array.reads = ReadPolicy::FailFast;
    assert_eq!(why(&scenario, "array.reads"), None);
    for (mode, has_effect) in [(EpochMode::Epoch, false), (EpochMode::GcControl, true)] {
        scenario.array.epoch.mode = mode;
        assert_eq!(why(&scenario, "array.epoch.poll").is_none(), has_effect, "{mode}");
    }
}

#[test]
fn a_share_of_sequential_requests_needs_others() {
    let mut scenario = Scenario::default();
    assert_eq!(because(&scenario, "workload.sequential"), None);
    scenario.workload.addresses.distribution = Distribution::Sequential;
    assert!(because(&scenario, "workload.sequential").is_some_and(|why| why.contains("distribution")));
    scenario.workload.write_addresses.distribution = Distribution::Zipf;
    assert_eq!(because(&scenario, "workload.sequential"), None);
}

#[test]
fn a_threshold_of_dirty_pages_needs_writes() {
    let mut scenario = Scenario::default();
    assert_eq!(because(&scenario, "device.buffer.flush_above"), None);
    scenario.workload.read = 1_000_000;
    assert!(because(&scenario, "device.buffer.flush_above").is_some_and(|why| why.contains("no writes")));
    (scenario.beside.enabled, scenario.beside.source.read) = (true, 0);
    assert_eq!(because(&scenario, "device.buffer.flush_above"), None);
}
