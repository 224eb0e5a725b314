//! Every key of a scenario changes the results of some run, or is reported as one without effect.

mod bases;

use crate::support::Place;
use bases::{BASES, DRIVE};
use serde_json::Value;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use tailcut::interrupt::Interrupt;
use tailcut::run::arguments::RunOptions;
use tailcut::run::{Keep, Scenario, simulate_and_keep};
use tailcut::scenario;
use tailcut::scenario::keys::{self, Key};

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
        "text" => &["8KiB", "80/20:20/80", "50/50:50/50", "nvme", "host.1", "1ms remove 1"],
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

/// What a run measured, without the texts that repeat its configuration; `None` if the scenario cannot be
/// run.
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
