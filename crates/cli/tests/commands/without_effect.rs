//! Settings without effect: each is reported, and the requests of a run do not depend on it.

use crate::support::{Place, stderr};
use std::ops::ControlFlow;
use tailcut::run::arguments::RunArguments;
use tailcut::run::{self, Scenario};
use tailcut::scenario::{self, Source};
use tailcut_base::config::Choice;
use tailcut_sim::ending::run_to_end;
use tailcut_ssd::Preset;
use tailcut_study::{Options, Study};

/// A drive of four chips and a load that keeps it collecting.
const SMALL: &[&str] = &[
    "device.preset=g-1g",
    "device.geometry.channels=2",
    "device.geometry.chips=2",
    "device.geometry.blocks=32",
    "device.geometry.pages=16",
    "precondition.state=steady",
    "precondition.fill=100%",
    "run.ramp=0s",
    "run.duration=0s",
    "run.requests=3000",
    "run.round=0s",
    "workload.pace=closed",
    "workload.depth=32",
    "workload.read=60%",
    "workload.region_share=100%",
];
const ZIPF: &[&str] = &["workload.addresses.distribution=zipf"];
const ALL_READS: &[&str] = &["workload.read=100%"];
const ALL_WRITES: &[&str] = &["workload.read=0%", "workload.write_addresses.distribution=uniform"];
const D_CHOICES: &[&str] = &["device.gc.victim=d-choices"];
const SPRINKLER: &[&str] = &["device.schedule.commit=sprinkler"];
const SPRINKLER_IN_ORDER: &[&str] = &["device.schedule.commit=sprinkler", "device.schedule.chip=fifo"];
const FIFO: &[&str] = &["device.schedule.chip=fifo"];
const READS_FIRST: &[&str] = &["device.schedule.chip=reads-first"];
const VAS: &[&str] = &["device.schedule.commit=vas"];
const PAS: &[&str] = &["device.schedule.commit=pas"];
const SOS: &[&str] = &["device.schedule.commit=sos"];
const RIOS: &[&str] = &["device.schedule.commit=rios"];
const ONE_DIE: &[&str] = &["device.geometry.dies=1", "device.geometry.ready_busy=chip"];
const DIES_APART: &[&str] = &["device.geometry.dies=2", "device.geometry.ready_busy=die"];
const DIES_TOGETHER: &[&str] = &["device.geometry.dies=2", "device.geometry.ready_busy=chip"];
const UNEQUAL_PAGES: &[&str] = &[
    "device.geometry.dies=2",
    "device.geometry.ready_busy=chip",
    "device.timing.cell=mlc",
    "device.timing.program=[\"200us\", \"2200us\"]",
];
const DIES_IN_TURN: &[&str] =
    &["device.geometry.dies=2", "device.geometry.ready_busy=chip", "device.schedule.die_interleaving=false"];
const SUSPEND_PROGRAMS: &[&str] =
    &["device.schedule.chip=reads-first", "device.preempt.program=suspend", "workload.read_class=1"];
const SUSPEND_ERASES: &[&str] =
    &["device.schedule.chip=reads-first", "device.preempt.erase=suspend", "workload.read_class=2"];
const RESET: &[&str] = &[
    "device.schedule.chip=reads-first",
    "device.preempt.program=reset",
    "device.preempt.erase=reset",
    "workload.read_class=1",
];
const RESET_BY_CLASS_2: &[&str] = &[
    "device.schedule.chip=reads-first",
    "device.preempt.program=reset",
    "device.preempt.erase=reset",
    "workload.read_class=2",
];
const RAID0: &[&str] = &["array.drives=3", "array.layout=raid0", "array.reads=fail-fast"];
const RAID5: &[&str] =
    &["array.drives=3", "array.layout=raid5", "array.reads=fail-fast", "array.raid.journal=1MiB"];
/// Reads of classes 1 and 2 suspend what chips do; a write of RAID5 reads with its own class.
const RAID5_IN_CLASSES: &[&str] = &[
    "array.drives=3",
    "array.layout=raid5",
    "array.raid.journal=1MiB",
    "device.schedule.chip=reads-first",
    "device.preempt.program=suspend",
    "device.preempt.erase=suspend",
];
const EPOCHS_IN_CLASSES: &[&str] = &[
    "array.drives=4",
    "array.groups=2",
    "array.layout=epochs",
    "array.epoch.cache=1MiB",
    "device.schedule.chip=reads-first",
    "device.preempt.program=suspend",
    "device.preempt.erase=suspend",
];
const SHORT: &[&str] = &["run.duration=50ms", "run.round=10ms", "run.requests=0", "workload.read=100%"];
const LONG: &[&str] = &["run.duration=90ms", "run.round=10ms", "run.requests=0", "workload.read=100%"];

/// A context, a key, and two values of the key.
type Setting = (&'static [&'static str], &'static str, [&'static str; 2]);

const IDLE: &[Setting] = &[
    (&[], "workload.addresses.theta", ["0.5", "0.9"]),
    (&[], "workload.addresses.h", ["0.1", "0.3"]),
    (&[], "workload.addresses.deviation", ["10%", "50%"]),
    (&[], "workload.addresses.centre", ["10%", "90%"]),
    (&[], "workload.addresses.hot_space", ["5%", "50%"]),
    (&[], "workload.addresses.hot_access", ["10%", "95%"]),
    (&[], "workload.addresses.zones", ["50/50:50/50", "90/10:10/90"]),
    (&[], "workload.addresses.scatter", ["true", "false"]),
    (&[], "workload.write_addresses.theta", ["0.5", "0.9"]),
    (&[], "workload.write_addresses.hot_space", ["5%", "50%"]),
    (ZIPF, "workload.write_addresses.theta", ["0.5", "0.9"]),
    (ZIPF, "workload.addresses.hot_access", ["10%", "95%"]),
    (ALL_READS, "workload.write_addresses.distribution", ["uniform", "sequential"]),
    (ALL_WRITES, "workload.addresses.distribution", ["uniform", "sequential"]),
    (&[], "device.gc.choices", ["2", "64"]),
    (VAS, "device.schedule.passes", ["0", "1000"]),
    (PAS, "device.schedule.passes", ["0", "1000"]),
    (SOS, "device.schedule.passes", ["0", "1000"]),
    (RIOS, "device.schedule.passes", ["0", "1000"]),
    (VAS, "device.schedule.whole_requests", ["true", "false"]),
    (PAS, "device.schedule.whole_requests", ["true", "false"]),
    (VAS, "device.schedule.readdressing", ["true", "false"]),
    (PAS, "device.schedule.readdressing", ["true", "false"]),
    (SOS, "device.schedule.readdressing", ["true", "false"]),
    (FIFO, "device.schedule.write_patience", ["0s", "1s"]),
    (SPRINKLER_IN_ORDER, "device.schedule.write_patience", ["0s", "1s"]),
    (ONE_DIE, "device.schedule.die_interleaving", ["true", "false"]),
    (ONE_DIE, "device.schedule.match_cell_times", ["true", "false"]),
    (DIES_APART, "device.schedule.die_interleaving", ["true", "false"]),
    (DIES_APART, "device.schedule.match_cell_times", ["true", "false"]),
    (DIES_IN_TURN, "device.schedule.match_cell_times", ["true", "false"]),
    (DIES_TOGETHER, "device.schedule.match_cell_times", ["true", "false"]),
    (&[], "device.timing.program_suspend", ["1us", "9ms"]),
    (&[], "device.timing.program_resume", ["1us", "9ms"]),
    (&[], "device.timing.program_reset", ["1us", "9ms"]),
    (SUSPEND_PROGRAMS, "device.timing.program_reset", ["1us", "9ms"]),
    (SUSPEND_PROGRAMS, "device.timing.erase_suspend", ["1us", "9ms"]),
    (SUSPEND_PROGRAMS, "device.timing.erase_resume", ["1us", "9ms"]),
    (SUSPEND_ERASES, "device.timing.erase_reset", ["1us", "9ms"]),
    (SUSPEND_ERASES, "device.timing.program_suspend", ["1us", "9ms"]),
    (RESET_BY_CLASS_2, "device.timing.program_reset", ["1us", "9ms"]),
    (RESET_BY_CLASS_2, "device.timing.erase_reset", ["1us", "9ms"]),
    (&[], "device.schedule.fail_fast", ["collection", "anything"]),
    (RAID0, "device.schedule.fail_fast", ["collection", "anything"]),
    (EPOCHS_IN_CLASSES, "workload.write_class", ["1", "5"]),
    (SHORT, "run.until_steady", ["true", "false"]),
];

const EFFECTIVE: &[Setting] = &[
    (ZIPF, "workload.addresses.theta", ["0.5", "0.9"]),
    (&["workload.addresses.distribution=hot-cold"], "workload.addresses.hot_space", ["5%", "50%"]),
    (&["workload.write_addresses.distribution=zipf"], "workload.write_addresses.theta", ["0.5", "0.9"]),
    (D_CHOICES, "device.gc.choices", ["1", "64"]),
    (SPRINKLER, "device.schedule.passes", ["0", "1000"]),
    (READS_FIRST, "device.schedule.write_patience", ["0s", "1s"]),
    (DIES_TOGETHER, "device.schedule.die_interleaving", ["true", "false"]),
    (UNEQUAL_PAGES, "device.schedule.match_cell_times", ["true", "false"]),
    (SUSPEND_PROGRAMS, "device.timing.program_suspend", ["1us", "9ms"]),
    (SUSPEND_PROGRAMS, "device.timing.program_resume", ["1us", "9ms"]),
    (SUSPEND_ERASES, "device.timing.erase_suspend", ["1us", "9ms"]),
    (RESET, "device.timing.program_reset", ["1us", "9ms"]),
    (RESET, "device.timing.erase_reset", ["1us", "9ms"]),
    (RESET_BY_CLASS_2, "device.timing.program_suspend", ["1us", "9ms"]),
    (RAID5, "device.schedule.fail_fast", ["collection", "anything"]),
    (RAID5_IN_CLASSES, "workload.write_class", ["1", "5"]),
    (LONG, "run.until_steady", ["true", "false"]),
];

fn scenario(context: &[&str], key: &str, value: &str) -> Scenario {
    let setting = format!("{key}={value}");
    let all = SMALL.iter().chain(context).copied().chain([setting.as_str()]);
    let settings: Vec<String> = all.map(String::from).collect();
    let mut scenario = Scenario::default();
    scenario::read(&mut scenario, None, &settings).unwrap_or_else(|problems| panic!("{problems}"));
    scenario
}

/// The digest of all completions of a run.
fn history(scenario: &Scenario) -> u64 {
    let watch = &mut |_: &_| ControlFlow::Continue(());
    if scenario.array.drives > 0 {
        let mut world = scenario.array_world(|| (), false).expect("a good scenario");
        run_to_end(&mut world, scenario.horizon(), watch).expect("the array makes progress");
        world.stats.digest
    } else {
        let mut world = scenario.world((), false).expect("a good scenario");
        run_to_end(&mut world, scenario.horizon(), watch).expect("the drive makes progress");
        world.stats.digest
    }
}

/// Whether the key is reported as one without effect, and whether both values lead to the same history.
fn judge(&(context, key, values): &Setting) -> (bool, bool) {
    let [one, other] = values.map(|value| scenario(context, key, value));
    let is_reported = |scenario: &Scenario| scenario.ineffective().iter().any(|keys| keys.covers(key));
    let reported = is_reported(&one);
    assert_eq!(reported, is_reported(&other), "{context:?}, {key}");
    (reported, history(&one) == history(&other))
}

#[test]
fn keys_that_are_reported_as_without_effect_have_none() {
    for setting in IDLE {
        assert_eq!(judge(setting), (true, true), "{setting:?}");
    }
}

#[test]
fn keys_with_an_effect_are_not_reported() {
    for setting in EFFECTIVE {
        assert_eq!(judge(setting), (false, false), "{setting:?}");
    }
}

#[test]
fn a_warning_names_the_key_and_what_to_set() {
    let place = Place::new();
    let settings = [
        ("workload.addresses.theta=0.5", "\"uniform\": set it to \"zipf\" or \"zipfian-ycsb\""),
        ("device.gc.choices=2", "device.gc.victim is \"greedy\": set it to \"d-choices\""),
        ("device.schedule.passes=2", "set it to \"faro\" or \"sprinkler\""),
        ("device.timing.erase_reset=1ms", "device.preempt.erase is \"none\""),
        ("device.schedule.fail_fast=anything", "set array.reads = \"fail-fast\""),
        // The default value: a setting of the command line is meant.
        ("array.layout=raid5", "there is no array (array.drives)"),
    ];
    let mut arguments = vec!["run", "small.toml", "--resolved"];
    arguments.extend(settings.iter().flat_map(|(setting, _)| ["--set", setting]));
    let output = place.run(&arguments);
    assert!(output.status.success(), "{}", stderr(&output));
    let warnings = stderr(&output);
    for (setting, remedy) in settings {
        let key = setting.split('=').next().unwrap_or_default();
        let warning = warnings.lines().find(|line| line.contains(&format!("warning: {key} has no effect")));
        assert!(warning.is_some_and(|line| line.contains(remedy)), "{setting}: {warnings}");
    }
    let plain = place.run(&["run", "small.toml", "--resolved"]);
    assert_eq!(stderr(&plain), "");
}

#[test]
fn no_preset_and_no_resolved_scenario_is_warned_about() {
    let place = Place::new();
    for preset in Preset::all().iter().map(|preset| preset.name()) {
        let set = format!("device.preset={preset}");
        let output = place.run(&["run", "--set", &set, "--resolved"]);
        assert_eq!(stderr(&output), "", "{preset}");
        place.put("resolved.toml", &output.stdout);
        let again = place.run(&["run", "resolved.toml", "--resolved"]);
        assert_eq!(stderr(&again), "", "{preset}");
    }
}

/// The scenario of every run of every study as `study show --case` prints it, with a name for it. Those that
/// depend on recorded traces, or on the results of other runs, are left out.
fn shown_by_studies() -> Vec<(String, String)> {
    let options = Options { quick: true, seed: 1, traces: None };
    let of = |study: &&dyn Study| {
        let (id, runs) = (study.id(), study.next(&options, &[]));
        runs.into_iter().map(move |of| {
            let text = run::to_be_read_again(&mut of.scenario.clone());
            (format!("{id} {}", of.label), text)
        })
    };
    tailcut_study::all().iter().flat_map(of).collect()
}

#[test]
fn no_scenario_that_a_study_prints_is_warned_about() {
    let shown = shown_by_studies();
    assert!(shown.len() > 500, "{}", shown.len());
    for (name, text) in shown {
        let arguments = RunArguments { text: Some(Source::file("shown.toml", text)), ..Default::default() };
        let warnings = run::read_with_warnings(&mut Scenario::default(), &arguments);
        let warnings = warnings.unwrap_or_else(|error| panic!("{name}: {error:?}"));
        assert!(warnings.list().is_empty(), "{name}: {warnings}");
    }
}

#[test]
fn a_key_without_effect_is_printed_as_a_comment_with_the_reason() {
    let place = Place::new();
    let output =
        place.run(&["run", "--set", "device.timing.cell=slc", "--set", "device.preset=g-1g", "--resolved"]);
    // It was chosen here.
    assert!(stderr(&output).contains("device.timing.cell has no effect"), "{}", stderr(&output));
    let text = String::from_utf8(output.stdout).expect("text");
    assert!(text.contains("\n# It has no effect: all pages take equally long"), "{text}");
    assert!(text.contains("\n# cell = \"slc\"\n") && !text.contains("\ncell = "), "{text}");
    // Who uncomments it has chosen it.
    place.put("mine.toml", text.replace("# cell = ", "cell = ").as_bytes());
    let warned = stderr(&place.run(&["run", "mine.toml", "--resolved"]));
    assert!(warned.contains("device.timing.cell has no effect"), "{warned}");
}

#[test]
fn a_warning_that_cannot_be_written_costs_no_result() {
    let place = Place::new();
    let tailcut = env!("CARGO_BIN_EXE_tailcut");
    let run = format!("{tailcut} run small.toml --set workload.rate=10 --quiet 2>/dev/full");
    let output = place.attempt("sh", &["-c", &run]);
    assert_eq!(output.status.code(), Some(0));
    assert!(!output.stdout.is_empty());
}
