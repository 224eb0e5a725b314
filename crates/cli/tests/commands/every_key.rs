//! Every key of a scenario changes the results of some run, or is reported as one without effect.

use crate::support::Place;
use serde_json::Value;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use tailcut::interrupt::Interrupt;
use tailcut::run::arguments::RunOptions;
use tailcut::run::{Keep, Scenario, simulate_and_keep};
use tailcut::scenario;
use tailcut::scenario::keys::{self, Key};

/// A drive of four chips with some hundred requests: a few milliseconds.
const DRIVE: &[&str] = &[
    "device.preset=g-1g",
    "device.geometry.channels=2",
    "device.geometry.chips=2",
    "device.geometry.blocks=32",
    "device.geometry.pages=16",
    "precondition.state=steady",
    "precondition.fill=90%",
    "run.ramp=2ms",
    "run.duration=0s",
    "run.requests=1200",
    "run.round=20ms",
    "workload.pace=closed",
    "workload.depth=16",
    "workload.read=60%",
    "workload.flush_every=100",
    "workload.region_share=90%",
];
const OPEN: &[&str] = &["workload.pace=open", "workload.rate=30000", "run.requests=600"];
const MIXED: &[&str] = &[
    "workload.read_size=4KiB/50:16KiB/50",
    "workload.write_size=2KiB/50:8KiB/50",
    "workload.trim=10%",
    "workload.stream=1",
    "device.ftl.streams=2",
    "device.buffer.size=128KiB",
    "device.cache.size=256KiB",
    "device.cache.ahead=4",
    "workload.sequential=50%",
];
const PREEMPTING: &[&str] = &[
    "device.schedule.chip=reads-first",
    "device.preempt.program=reset",
    "device.preempt.erase=suspend",
    "workload.read_class=1",
    "workload.read=70%",
    "workload.depth=48",
];
const CHIP_DIES: &[&str] = &[
    "device.geometry.dies=2",
    "device.geometry.planes=2",
    "device.geometry.ready_busy=chip",
    "device.schedule.commit=sprinkler",
    "device.timing.cell=mlc",
    "device.timing.program=[\"200us\", \"2200us\"]",
    "workload.depth=64",
];

/// What the runs differ in beside the drive: a name, and settings. `FILE` is a trace, `JOBS` a file of fio jobs.
const BASES: &[(&str, &[&[&str]])] = &[
    ("closed loop", &[]),
    ("open loop", &[OPEN]),
    ("bursts", &[OPEN, &["workload.arrivals=bursts", "workload.idle=3ms", "workload.burst_time=3ms"]]),
    ("mixed sizes", &[MIXED]),
    ("preemption", &[PREEMPTING]),
    ("dies of a chip", &[CHIP_DIES]),
    ("short queue", &[&["device.queue.depth=32", "workload.read=10%"]]),
    ("suspended programs", &[PREEMPTING, &["device.preempt.program=suspend", "device.preempt.erase=reset"]]),
    ("d-choices", &[&["device.gc.victim=d-choices", "workload.read=20%", "device.wear.levelling=true"]]),
    (
        "fifo",
        &[&[
            "device.schedule.chip=fifo",
            "workload.read_class=1",
            "beside.read_class=3",
            "beside.enabled=true",
        ]],
    ),
    (
        "timed erases",
        &[&[
            "device.preempt.time_erases=true",
            "device.schedule.classes=equal",
            "device.gc.low=6",
            "device.gc.high=9",
            "device.gc.background=true",
            "device.wear.levelling=true",
            "device.wear.spread=2",
            "workload.read=40%",
            "workload.trim=10%",
            "workload.pace=open",
            "workload.rate=3000",
        ]],
    ),
    ("zipf", &[&["workload.addresses.distribution=zipf", "workload.write_addresses.distribution=zipf"]]),
    (
        "pareto",
        &[&["workload.addresses.distribution=pareto", "workload.write_addresses.distribution=pareto"]],
    ),
    (
        "normal",
        &[&["workload.addresses.distribution=normal", "workload.write_addresses.distribution=normal"]],
    ),
    (
        "hot and cold",
        &[&["workload.addresses.distribution=hot-cold", "workload.write_addresses.distribution=hot-cold"]],
    ),
    ("zones", &[&["workload.addresses.distribution=zoned", "workload.write_addresses.distribution=zoned"]]),
    (
        "open loop beside",
        &[OPEN, &["beside.enabled=true", "beside.pace=open", "beside.rate=9000", "beside.arrivals=bursts"]],
    ),
    (
        "zipf beside",
        &[&[
            "beside.enabled=true",
            "beside.addresses.distribution=zipf",
            "beside.write_addresses.distribution=zipf",
        ]],
    ),
    (
        "pareto beside",
        &[&[
            "beside.enabled=true",
            "beside.addresses.distribution=pareto",
            "beside.write_addresses.distribution=pareto",
        ]],
    ),
    (
        "normal beside",
        &[&[
            "beside.enabled=true",
            "beside.addresses.distribution=normal",
            "beside.write_addresses.distribution=normal",
        ]],
    ),
    (
        "hot and cold beside",
        &[&[
            "beside.enabled=true",
            "beside.addresses.distribution=hot-cold",
            "beside.write_addresses.distribution=hot-cold",
        ]],
    ),
    (
        "zones beside",
        &[&[
            "beside.enabled=true",
            "beside.addresses.distribution=zoned",
            "beside.write_addresses.distribution=zoned",
        ]],
    ),
    (
        "durable writes",
        &[&["device.buffer.capacitor=false", "beside.enabled=true", "device.buffer.size=128KiB"]],
    ),
    ("paced", &[OPEN, &["device.pacing.mode=even", "device.pacing.most=3000", "device.pacing.growth=50%"]]),
    ("until steady", &[&["run.until_steady=true", "run.round=20ms", "run.requests=30000"]]),
    (
        "beside",
        &[
            MIXED,
            &[
                "beside.enabled=true",
                "beside.requests=300",
                "beside.depth=4",
                "beside.trim=10%",
                "beside.read_class=1",
            ],
        ],
    ),
    (
        "superblocks",
        &[&[
            "device.preset=pm9a3-960",
            "device.geometry.channels=2",
            "device.geometry.chips=2",
            "device.geometry.blocks=64",
            "device.geometry.pages=24",
            "device.buffer.size=512KiB",
        ]],
    ),
    ("block mapping", &[&["device.ftl.mapping=block", "device.geometry.blocks=64"]]),
    ("sets", &[&["device.sets.count=2", "array.members=sets", "array.drives=2", "array.layout=raid0"]]),
    (
        "raid5",
        &[&[
            "array.drives=3",
            "array.layout=raid5",
            "array.reads=fail-fast",
            "array.raid.journal_always=true",
            "array.raid.journal=1MiB",
        ]],
    ),
    (
        "raid4",
        &[&[
            "array.drives=3",
            "array.layout=raid4",
            "array.raid.journal=1MiB",
            "array.checksums=on",
            "array.checksums_idle=1ms",
            "array.reads=around-collection",
            "array.turns=5ms",
        ]],
    ),
    (
        "swan",
        &[&[
            "array.drives=6",
            "array.groups=2",
            "array.layout=swan4",
            "array.log.segment=256KiB",
            "run.requests=3000",
        ]],
    ),
    (
        "log",
        &[&["array.drives=4", "array.layout=log-raid5", "array.log.segment=256KiB", "run.requests=3000"]],
    ),
    (
        "epochs",
        &[&[
            "array.drives=4",
            "array.groups=2",
            "array.layout=epochs",
            "array.epoch.cache=1MiB",
            "run.requests=3000",
        ]],
    ),
    ("host", &[&["host.strategy=coop", "host.background=cpu", "host.cores=2", "run.requests=600"]]),
    ("polling host", &[&["host.strategy=poll", "host.background=io", "run.requests=600"]]),
    ("precompleting host", &[&["host.strategy=precomplete", "host.drives=2", "run.requests=600"]]),
    (
        "host of an array",
        &[&[
            "host.strategy=coop",
            "array.drives=3",
            "array.layout=raid5",
            "array.raid.journal=1MiB",
            "host.cores=2",
            "run.requests=600",
        ]],
    ),
    ("server", &[&["kv.enabled=true", "kv.items=2000", "kv.memory=1MiB", "kv.segment=256KiB"]]),
    (
        "store",
        &[&[
            "lsm.enabled=true",
            "lsm.gets=500",
            "lsm.puts=4000",
            "lsm.scale=0.001",
            "lsm.keys=5000",
            "device.geometry.blocks=128",
            "run.requests=0",
        ]],
    ),
    (
        "YCSB",
        &[&[
            "lsm.enabled=true",
            "lsm.mix=ycsb-a",
            "lsm.operations=2000",
            "lsm.scale=0.001",
            "lsm.keys=5000",
            "device.geometry.blocks=128",
            "run.requests=0",
        ]],
    ),
    ("trace", &[&["trace.file=FILE"]]),
    ("closed trace", &[&["trace.file=FILE", "trace.timing=closed"]]),
    ("fio", &[&["fio.file=JOBS"]]),
    ("data centre", &[&["datacenter.workload=cfs0"]]),
    ("open data centre", &[&["datacenter.workload=cfs0", "datacenter.pace=open"]]),
];

/// Values to try, by the kind of a key; those that do not fit are passed over.
fn candidates(key: &Key) -> Vec<String> {
    let list: &[&str] = match key.kind {
        "time" => &["3us", "70us", "5ms", "0s", "300ms"],
        "time or list of times" => &["90us", "3ms"],
        "size" => &["64KiB", "1MiB", "8KiB", "512B", "256B", "16MiB", "0B"],
        "rate" => &["20MB/s", "900MB/s", "0B/s"],
        "share" => &["3%", "40%", "95%", "0%"],
        "number" => &["0.05", "0.2", "0.6", "2"],
        "count" => &["0", "1", "2", "3", "5", "20", "500", "30000"],
        "true or false" => &["true", "false"],
        "text" => &["8KiB", "80/20:20/80", "50/50:50/50", "nvme", "host.1"],
        _ => &[],
    };
    let names =
        if key.kind == "name" { key.allowed.split(", ").map(String::from).collect() } else { Vec::new() };
    list.iter().map(|&value| value.to_owned()).chain(names).filter(|value| *value != key.default).collect()
}

fn read(settings: &[String]) -> Option<Scenario> {
    let mut scenario = Scenario::default();
    scenario::read(&mut scenario, None, settings).ok()?;
    Some(scenario)
}

/// What a run measured, without the texts that repeat its configuration; `None` if the scenario cannot be run.
fn results(scenario: &Scenario) -> Option<Value> {
    let options = RunOptions { quiet: true, ..RunOptions::default() };
    let run = || {
        let keep = Keep::default();
        simulate_and_keep(scenario, &options, keep, &Interrupt::default(), &mut |_, _, _| {}).ok()
    };
    let simulated = catch_unwind(AssertUnwindSafe(run)).expect("a run ends with results or an error")?;
    let mut value = serde_json::to_value(&simulated.report).expect("a report is plain data");
    let report = value.as_object_mut().expect("a report has fields");
    for echo in ["version", "seed", "drive_name", "sources"] {
        report.remove(echo);
    }
    Some(value)
}

/// What is known of a key in one base.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Effect {
    /// Some value changes the results.
    Some,
    /// No value that can be run changes the results, and there is no warning.
    Silent,
    /// There is a warning that it has none.
    Warned,
    /// No other value can be run.
    Untried,
}

fn effect(base: &[String], before: &Value, key: &Key) -> Effect {
    let mut known = Effect::Untried;
    for value in candidates(key) {
        let mut settings = base.to_vec();
        settings.push(format!("{}={value}", key.path));
        let Some(changed) = read(&settings) else { continue };
        if read(base).as_ref() == Some(&changed) {
            continue;
        }
        if changed.ineffective().iter().any(|keys| keys.covers(&key.path)) {
            known = if known == Effect::Untried { Effect::Warned } else { known };
            continue;
        }
        match results(&changed) {
            Some(after) if after != *before => return Effect::Some,
            Some(_) => known = Effect::Silent,
            None => {}
        }
    }
    known
}

fn settings_of(base: &[&[&str]], trace: &str, jobs: &str) -> Vec<String> {
    let all = DRIVE.iter().chain(base.iter().copied().flatten());
    all.map(|setting| setting.replace("FILE", trace).replace("JOBS", jobs)).collect()
}

/// Two disks of MSR's format, one request every 100 µs.
fn trace() -> String {
    let line = |i: u64| {
        let op = if i.is_multiple_of(3) { "Write" } else { "Read" };
        let (disk, offset) = (i % 2, i * 7919 % 4000 * 4096);
        format!("{},host,{disk},{op},{offset},8192,100\n", 128_166_372_003_061_629 + i * 1000)
    };
    (0..300).map(line).collect()
}

const JOBS: &str = "[mix]\nrw=randrw\nbs=4k\niodepth=8\nsize=4m\nnumber_ios=300\n";

/// Keys that these runs do not show to have an effect, with the reason.
const EXCEPTIONS: &[(&str, &str)] = &[
    ("array.background_rate", "warned of in every base"),
    ("array.epoch.copies", "no value of the list fits by itself; to be covered by a base of its own"),
    ("array.epoch.poll", "not reached by a base so short; to be covered by one of its own"),
    ("array.turn_pause", "not reached by a base so short; to be covered by one of its own"),
    ("beside.write_class", "warned of in every base"),
    ("device.gc.high", "not reached by a base so short; to be covered by one of its own"),
    ("device.queue.arbitration", "not reached by a base so short; to be covered by one of its own"),
    ("device.queue.trim", "no value of the list fits by itself; to be covered by a base of its own"),
    ("device.schedule.readdressing", "not reached by a base so short; to be covered by one of its own"),
    ("device.superblock.pace", "not reached by a base so short; to be covered by one of its own"),
    ("device.timing.erase_reset", "not reached by a base so short; to be covered by one of its own"),
    ("device.wear.levelling", "not reached by a base so short; to be covered by one of its own"),
    ("host.array_priority", "not reached by a base so short; to be covered by one of its own"),
    ("lsm.compaction_write_class", "warned of in every base"),
    ("lsm.delayed_rate", "not reached by a base so short; to be covered by one of its own"),
    ("lsm.flush_class", "warned of in every base"),
    ("lsm.l0_stop", "not reached by a base so short; to be covered by one of its own"),
    ("lsm.log_class", "warned of in every base"),
    ("lsm.region_share", "not reached by a base so short; to be covered by one of its own"),
    ("lsm.scale", "no value of the list fits by itself; to be covered by a base of its own"),
    ("lsm.write_buffers", "not reached by a base so short; to be covered by one of its own"),
    ("trace.file", "it names the file that a base replays"),
    ("trace.format", "no other format fits the content, which decides without it"),
    ("fio.file", "it names the file that a base runs"),
    ("array.members", "it fits with device.sets.count only, and a base has both"),
    ("device.sets.count", "it fits with array.members and array.drives only, and a base has all"),
    ("device.superblock.program", "the pages of a block are a multiple of it, and a base has both"),
    ("device.superblock.sense", "the pages of a program are a multiple of it"),
    ("kv.space", "it is a multiple of segments and no less than the items, and the drive is small"),
    ("host.timeout", "no drive takes a millisecond without an end, and that is the least"),
];

/// The place with the files of bases, and their names.
fn files() -> (Place, String, String) {
    let place = Place::new();
    let trace = place.path(&place.put("t.csv", trace().as_bytes())).display().to_string();
    let jobs = place.path(&place.put("jobs.fio", JOBS.as_bytes())).display().to_string();
    (place, trace, jobs)
}

/// The settings of a base, its scenario and its results.
fn base_of(base: &[&[&str]], trace: &str, jobs: &str) -> (Vec<String>, Scenario, Value) {
    let settings = settings_of(base, trace, jobs);
    let mut scenario = Scenario::default();
    scenario::read(&mut scenario, None, &settings).unwrap_or_else(|problems| panic!("{base:?}: {problems}"));
    let before = results(&scenario).unwrap_or_else(|| panic!("{base:?} cannot be run"));
    (settings, scenario, before)
}

#[test]
fn every_key_has_an_effect_or_a_warning_or_a_reason() {
    let (_place, trace, jobs) = files();
    let mut without: BTreeMap<String, Vec<(Effect, &str)>> = BTreeMap::new();
    let all = keys::list(&mut Scenario::default());
    let mut open: Vec<&str> = all.iter().filter(|key| !key.is_section()).map(|key| &*key.path).collect();
    open.retain(|path| !EXCEPTIONS.iter().any(|(key, _)| key == path));
    for (name, base) in BASES {
        let (settings, mut scenario, before) = base_of(base, &trace, &jobs);
        let keys = keys::list(&mut scenario);
        open.retain(|path| {
            let key = keys.iter().find(|key| key.path == *path).expect("all scenarios have all keys");
            let effect = effect(&settings, &before, key);
            without.entry(key.path.clone()).or_default().push((effect, name));
            effect != Effect::Some
        });
    }
    without.retain(|path, effects| {
        effects.retain(|(effect, _)| *effect != Effect::Warned);
        open.contains(&&**path)
    });
    assert!(without.is_empty(), "neither effect nor warning, or never tried: {without:#?}");
}
