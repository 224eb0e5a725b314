//! The workload named on the command line, and its errors.

use super::arguments::{RunArguments, RunOptions};
use super::{Scenario, simulation::NotRun};
use crate::failure::Failure;
use crate::scenario::effect;
use crate::scenario::keys::Key;
use crate::scenario::{self, Problem, Problems, Source, keys};
use crate::terminal::ColorMode;
use std::collections::BTreeMap;
use std::path::Path;
use tailcut_base::Nanos;
use tailcut_base::config::Choice;
use tailcut_sim::scenario::InputError;
use tailcut_sim::world::Limits;
use tailcut_ssd::Preset;
use tailcut_workload::datacenter::Workload;
use tailcut_workload::trace::TraceError;

/// Reads the scenario and the further settings of the command line.
///
/// # Errors
/// A file that cannot be read, or everything that is wrong with the scenario and settings.
pub fn read(scenario: &mut Scenario, arguments: &RunArguments) -> Result<(), Failure> {
    read_with_warnings(scenario, arguments).map(|_| ())
}

/// Reads the scenario as [`read`] does, and prints warnings about keys without effect on standard error.
///
/// # Errors
/// A file that cannot be read, or everything that is wrong with the scenario and settings.
pub fn read_and_warn(scenario: &mut Scenario, arguments: &RunArguments) -> Result<(), Failure> {
    let warnings = read_with_warnings(scenario, arguments)?;
    if !warnings.list().is_empty() {
        crate::tell!("{}", warnings.warn(ColorMode::of_stderr()));
    }
    Ok(())
}

/// Reads the scenario as [`read`] does; returns warnings about keys without effect.
///
/// # Errors
/// A file that cannot be read, or everything that is wrong with the scenario and settings.
pub fn read_with_warnings(scenario: &mut Scenario, arguments: &RunArguments) -> Result<Problems, Failure> {
    let (source, settings) = (arguments.source()?, arguments.options.settings());
    let mut ahead = scenario.clone();
    scenario::read_leniently(&mut ahead, source.clone(), &settings);
    choose(&mut ahead, &arguments.options)?;
    *scenario = before_reading(&ahead);
    scenario::read(scenario, source.clone(), &settings)?;
    choose(scenario, &arguments.options)?;
    if arguments.options.long {
        lengthen(&mut scenario.run)?;
    }
    let defaults = defaults(scenario);
    let ineffective = scenario.ineffective();
    let reason = |path: &str| {
        let found = ineffective.iter().find(|keys| keys.covers(path))?;
        Some(found.because.clone())
    };
    let found = effect::find(scenario, &defaults, source.clone(), &settings, reason);
    Ok(found.and(idle_preset(scenario, source, &settings)))
}

/// Multiplies what is measured by [`LONG`]: the built-in scenario then has the ten million requests that
/// resolve 99.9999 %.
fn lengthen(run: &mut Limits) -> Result<(), Failure> {
    if run.duration == Nanos::ZERO && run.requests == 0 {
        return Err(Failure::Input(
            "--long has no effect: the run ends with its workload; raise what ends that, such as \
             workload.requests or trace.times, or set run.duration"
                .into(),
        ));
    }
    let measured = run.duration.saturating_sub(run.ramp);
    if measured > Nanos::ZERO {
        run.duration = Nanos(run.ramp.0.saturating_add(measured.0.saturating_mul(LONG)));
    }
    run.requests = run.requests.saturating_mul(LONG);
    Ok(())
}

/// How many times as long a run with `--long` measures.
const LONG: u64 = 8;

/// What a scenario like `ahead` starts from. A trace, a job file and a data-centre workload end by
/// themselves; the limits of the built-in load are not theirs, nor is what contradicts those limits an error.
fn before_reading(ahead: &Scenario) -> Scenario {
    match ahead.is_synthetic() {
        true => Scenario::default(),
        false => Scenario { run: Limits::NONE, ..Scenario::default() },
    }
}

/// The keys of a scenario whose values the user has not set: those of a preset are not set by the user.
fn defaults(scenario: &Scenario) -> Vec<Key> {
    let device = scenario.device.preset.config();
    keys::list(&mut Scenario { device, ..before_reading(scenario) })
}

/// A scenario as text, to be edited and run: every key with its value and what it means. A key that has
/// another value than by default and no effect is a comment with the reason: who reads the text again has not
/// chosen it, and is not warned of it.
pub fn to_be_read_again(scenario: &mut Scenario) -> String {
    let (ineffective, now) = (scenario.ineffective(), keys::list(scenario));
    // Keys of sections that are not in use by default have no default.
    let defaults: BTreeMap<String, String> =
        defaults(scenario).into_iter().map(|key| (key.path, key.default)).collect();
    let differs = |key: &&Key| !key.is_section() && defaults.get(&key.path) != Some(&key.default);
    let reason = |key: &Key| {
        let found = ineffective.iter().find(|keys| keys.covers(&key.path))?;
        Some((key.path.clone(), found.because.clone()))
    };
    let idle = now.iter().filter(differs).filter_map(reason).collect();
    scenario::to_be_read_again(scenario, &idle)
}

/// A warning about a `device.preset` that decides nothing.
fn idle_preset(scenario: &mut Scenario, source: Option<Source>, settings: &[String]) -> Problems {
    let chosen = scenario.device.preset.name();
    let defaults_of = |&preset: &Preset| {
        let mut keys = keys::list(&mut Scenario { device: preset.config(), ..Scenario::default() });
        keys.retain(|key| key.path.starts_with("device.") && !key.is_section());
        (preset.name(), keys)
    };
    let defaults = Preset::all().iter().map(defaults_of).collect();
    let preset = effect::Preset::new("device.preset", chosen, defaults);
    effect::find_idle_preset(scenario, &preset, source, settings)
}

/// Puts the trace or the job file of the command line in the place of the scenario's workload.
/// Paths become absolute, so that the scenario can be run again from another folder.
fn choose(scenario: &mut Scenario, options: &RunOptions) -> Result<(), Failure> {
    if let Some(trace) = &options.trace {
        scenario.trace.file = text(trace)?;
        scenario.fio.file.clear();
        scenario.datacenter.workload = Workload::None;
        scenario.lsm.enabled = false;
        scenario.beside.enabled = false;
        scenario.further.disable();
    }
    if let Some(jobs) = &options.fio {
        scenario.fio.file = text(jobs)?;
        scenario.trace.file.clear();
        scenario.datacenter.workload = Workload::None;
        scenario.lsm.enabled = false;
        scenario.beside.enabled = false;
        scenario.further.disable();
    }
    for file in [&mut scenario.trace.file, &mut scenario.fio.file] {
        if !file.is_empty() {
            let whole = std::path::absolute(&*file);
            *file = text(&whole.map_err(|error| Failure::Input(format!("{file}: {error}")))?)?;
        }
    }
    Ok(())
}

fn text(path: &Path) -> Result<String, Failure> {
    path.to_str().filter(|text| !text.is_empty()).map(str::to_owned).ok_or_else(|| {
        let shown = path.display();
        Failure::Input(format!(
            "the file name '{shown}' is empty or not UTF-8; rename the file or link to it"
        ))
    })
}

/// The failure of a trace that cannot be read or written.
pub fn trace_failure(error: &TraceError) -> Failure {
    match error {
        TraceError::Write { .. } => Failure::Operation(error.to_string()),
        TraceError::BadRecords { .. } | TraceError::LatencyLog { .. } => {
            Failure::Input(format!("{error}\nto skip and count them: --skip-bad-lines"))
        }
        _ => Failure::Input(error.to_string()),
    }
}

/// The failure of a run that did not come to results.
pub fn refuse(error: NotRun, arguments: &RunArguments) -> Failure {
    match error {
        NotRun::Input(InputError::Run(problems)) => attribute("run", problems, arguments),
        NotRun::Input(InputError::Workload(problems)) => attribute("workload", problems, arguments),
        NotRun::Input(InputError::Beside(section, problems)) => attribute(section, problems, arguments),
        NotRun::Input(InputError::Datacenter(problems)) => attribute("datacenter", problems, arguments),
        NotRun::Input(InputError::Array(problems)) => attribute("array", problems, arguments),
        NotRun::Input(InputError::Kv(problems)) => attribute("kv", problems, arguments),
        NotRun::Input(InputError::Lsm(problems)) => attribute("lsm", problems, arguments),
        NotRun::Input(InputError::Memory(problems)) => {
            let found = problems.into_iter().map(|p| (p.key.to_owned(), p.message)).collect();
            blame_keys(found, arguments)
        }
        NotRun::Input(InputError::Fio(errors)) => {
            let list = errors.0.iter().map(|error| Problem::nowhere(error.to_string())).collect();
            Problems::new(Vec::new(), list).into()
        }
        NotRun::Input(InputError::Trace(error)) => trace_failure(&error),
        NotRun::Input(error) => Failure::Input(error.to_string()),
        NotRun::Failed(failure) => failure,
    }
}

/// Problems of a section of the scenario that are known only once the device is.
fn attribute(section: &str, problems: Vec<tailcut_workload::Problem>, arguments: &RunArguments) -> Failure {
    let found = problems.into_iter().map(|p| (format!("{section}.{}", p.key), p.message)).collect();
    blame_keys(found, arguments)
}

/// Problems of keys, by their paths.
fn blame_keys(found: Vec<(String, String)>, arguments: &RunArguments) -> Failure {
    let settings = arguments.options.settings();
    scenario::attribute(arguments.source().ok().flatten(), &settings, &found).into()
}
