//! `tailcut explain --measured TRACE --drive DRIVE`: the slow requests of a measured trace, by what the same
//! requests waited for in a simulated drive.

use super::arguments::ExplainArguments;
use super::recorded::RecordedTrace;
use super::twin::{Explained, TwinRequest, WaitKind};
use crate::failure::Failure;
use crate::format::{counted, short_time};
use crate::interrupt::Interrupt;
use crate::run::arguments::{RunArguments, RunOptions};
use crate::run::{self, Ending, Keep, Scenario};
use crate::terminal::{Align, ColorMode, Progress, Table};
use serde::Serialize;
use std::io::Write;
use std::path::{Path, PathBuf};
use tailcut_base::config::Choice;
use tailcut_base::quantity::show_count;
use tailcut_sim::scenario::WorldKind;
use tailcut_ssd::Preset;

/// How many of the slowest requests are listed.
const LISTED: usize = 5;

/// The drive that is wrong unless another one is named; for itself the other one.
const CONTROLS: [Preset; 2] = [Preset::TlcSata, Preset::TlcNvme];

/// The result as JSON.
#[derive(Debug, Serialize)]
struct Comparison {
    trace: String,
    drive: String,
    percentile: f64,
    requests: usize,
    /// Requests of the trace without a response time: merged, split, or not completed in it.
    without_response: usize,
    slow: usize,
    /// Share of the slow requests that the drive explains.
    explained: f64,
    /// The same share for a drive that is not the one.
    control: Control,
    causes: Vec<CauseRow>,
    slowest: Vec<super::twin::Slow>,
    /// What the drive could not be given as the trace has it.
    notes: Vec<String>,
}

#[derive(Debug, Serialize)]
struct Control {
    drive: String,
    explained: f64,
}

/// The slow requests that waited for one thing longest.
#[derive(Debug, Serialize)]
struct CauseRow {
    /// `None` for those that are not explained.
    waited_for: Option<WaitKind>,
    requests: usize,
    /// Of all slow requests.
    share: f64,
    mean_measured_ns: f64,
    mean_twin_ns: f64,
}

/// Does what the arguments ask and prints to `out`.
///
/// # Errors
/// A trace without response times, a drive that is unknown, or a run that fails.
pub(super) fn explain(
    arguments: &ExplainArguments,
    trace: &Path,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let drive = arguments.drive.as_deref().expect("clap requires it beside --measured");
    if arguments.sets.iter().any(|set| set.trim_start().starts_with("device.preset")) {
        let message = "--set device.preset replaces both drives: name them by --drive and --control";
        return Err(Failure::Input(message.into()));
    }
    let interrupt = Interrupt::listen()
        .map_err(|error| Failure::Operation(format!("cannot listen for Ctrl-C: {error}")))?;
    let recorded = RecordedTrace::open(arguments, trace)?;
    let measured = recorded.requests();
    let compare = |drive: &str| -> Result<(Twin, Explained), Failure> {
        let twin = simulate(arguments, drive, recorded.replayed(), measured.len(), &interrupt)?;
        let explained = Explained::new(measured, &twin.requests, arguments.percentile, arguments.kind);
        Ok((twin, explained))
    };
    let (Twin { drive: name, notes, .. }, explained) = compare(drive)?;
    if explained.requests == 0 {
        let kind = arguments.kind.map_or("request", |kind| kind.name());
        return Err(Failure::Input(format!("{}: no {kind} has a response time", trace.display())));
    }
    let Some(share) = explained.share() else {
        return Err(Failure::Input(format!(
            "{}: {} with a response time are too few for the percentile {}: choose a lower --percentile",
            trace.display(),
            counted(explained.requests as u64, "request"),
            arguments.percentile
        )));
    };
    let control = arguments.control.clone().unwrap_or_else(|| {
        let other = CONTROLS.into_iter().find(|preset| preset.name() != name);
        other.expect("one of two is another").name().to_owned()
    });
    let (control, of_control) = compare(&control)?;
    let causes = WaitKind::ALL.into_iter().map(Some).chain([None]);
    let comparison = Comparison {
        trace: trace.display().to_string(),
        drive: name,
        percentile: arguments.percentile,
        requests: explained.requests,
        without_response: recorded.without_response(arguments.kind),
        slow: explained.slow.len(),
        explained: share,
        control: Control { drive: control.drive, explained: of_control.share().unwrap_or(0.0) },
        causes: causes.map(|cause| CauseRow::of(&explained, cause)).collect(),
        slowest: explained.slow.iter().take(LISTED).copied().collect(),
        notes,
    };
    let text = match arguments.json {
        true => serde_json::to_string_pretty(&comparison).expect("plain data") + "\n",
        false => show(&comparison, ColorMode::of_stdout()),
    };
    out.write_all(text.as_bytes())?;
    Ok(out.flush()?)
}

/// A simulated drive that was given the requests of a trace.
struct Twin {
    drive: String,
    /// By number; `None` for one that did not end.
    requests: Vec<Option<TwinRequest>>,
    /// What was changed of the trace for it.
    notes: Vec<String>,
}

/// Replays the trace on a drive, a preset or a scenario file.
fn simulate(
    arguments: &ExplainArguments,
    drive: &str,
    trace: &Path,
    count: usize,
    interrupt: &Interrupt,
) -> Result<Twin, Failure> {
    let mut sets = arguments.sets.clone();
    let file = match Preset::by_name(drive) {
        Some(preset) => {
            sets.insert(0, format!("device.preset={}", preset.name()));
            None
        }
        None if Path::new(drive).exists() => Some(PathBuf::from(drive)),
        None => {
            let why = crate::value_parsers::preset(drive).expect_err("it is no preset").message;
            return Err(Failure::Input(format!("{drive} is no file, and no drive: {why}")));
        }
    };
    sets.push(format!("run.requests={count}"));
    let options = RunOptions {
        sets,
        trace: Some(trace.to_owned()),
        skip_bad_lines: arguments.skip_bad_lines,
        quiet: arguments.quiet,
        ..RunOptions::default()
    };
    let run = RunArguments { scenario: file, text: None, options };
    let mut scenario = Scenario::default();
    run::read_and_warn(&mut scenario, &run)?;
    if scenario.world_kind() != WorldKind::Drive {
        return Err(Failure::Input(format!(
            "{drive} is an array, a host or a server, and a trace is compared with one drive: leave out its \
             [array], [host] and [kv]"
        )));
    }
    let mut progress = Progress::new("run", None, arguments.quiet);
    let keep = Keep { timeline: false, requests: Some(count) };
    let simulated =
        run::simulate_and_keep(&scenario, &run.options, keep, interrupt, &mut |done, all, now| {
            progress.expect(all);
            progress.update(done, now);
        });
    let simulated = simulated.map_err(|error| run::refuse(error, &run))?;
    if simulated.ending == Ending::Interrupted {
        return Err(Failure::Interrupted);
    }
    let log = simulated.columns.expect("requests were to be kept");
    let is_beyond = |note: &String| note.contains("beyond the device");
    let notes = simulated.report.notes.into_iter().filter(is_beyond).collect();
    Ok(Twin { drive: drive.to_owned(), requests: TwinRequest::of_run(&log, count), notes })
}

impl CauseRow {
    fn of(explained: &Explained, waited_for: Option<WaitKind>) -> CauseRow {
        let own: Vec<_> = explained.slow.iter().filter(|slow| slow.waited_for == waited_for).collect();
        let mean = |sum: u64| if own.is_empty() { 0.0 } else { sum as f64 / own.len() as f64 };
        CauseRow {
            waited_for,
            requests: own.len(),
            share: own.len() as f64 / explained.slow.len() as f64,
            mean_measured_ns: mean(own.iter().map(|slow| slow.measured_ns).sum()),
            mean_twin_ns: mean(own.iter().map(|slow| slow.twin_ns).sum()),
        }
    }
}

fn show(comparison: &Comparison, tone: ColorMode) -> String {
    let Comparison { drive, control, percentile, .. } = comparison;
    let percent = |share: f64| format!("{:.0} %", share * 100.0);
    let left_out = match comparison.without_response {
        0 => String::new(),
        count => format!("; {} more have no response time", show_count(count as f64)),
    };
    let mut text = format!(
        "{} of the slow requests are explained by {drive}, {} by {} (control), {} by chance\n\
         slow: the {} beyond p{percentile} of their kind, of {}{left_out}\n\n",
        percent(comparison.explained),
        percent(control.explained),
        control.drive,
        percent(1.0 - percentile / 100.0),
        counted(comparison.slow as u64, "request"),
        counted(comparison.requests as u64, "request"),
    );
    let right = |title| (title, Align::Right);
    let head = [
        ("waited longest for", Align::Left),
        right("requests"),
        right("share"),
        right("measured"),
        right("twin"),
    ];
    let mut causes = Table::new(&head, tone);
    for row in comparison.causes.iter().filter(|row| row.requests > 0) {
        causes.row(&[
            row.waited_for.map_or("unexplained", WaitKind::name).to_owned(),
            row.requests.to_string(),
            percent(row.share),
            short_time(row.mean_measured_ns),
            short_time(row.mean_twin_ns),
        ]);
    }
    let head = [
        right("slowest"),
        right("at"),
        ("kind", Align::Left),
        right("measured"),
        right("twin"),
        ("waited longest for", Align::Left),
    ];
    let mut slowest = Table::new(&head, tone);
    for slow in &comparison.slowest {
        slowest.row(&[
            slow.number.to_string(),
            short_time(slow.at_ns as f64),
            slow.op.to_owned(),
            short_time(slow.measured_ns as f64),
            short_time(slow.twin_ns as f64),
            slow.waited_for.map_or("unexplained", WaitKind::name).to_owned(),
        ]);
    }
    for note in &comparison.notes {
        text += &format!("{note}: {drive} is smaller than the drive of the trace\n\n");
    }
    let chance = 1.0 - percentile / 100.0;
    if control.explained >= comparison.explained || comparison.explained <= 2.0 * chance {
        let as_many = match control.explained >= comparison.explained {
            true => &control.drive,
            false => "chance",
        };
        text += &format!(
            "the trace is not understood: {as_many} explains about as many. Is {drive} the drive, was it in \
             this state (--set precondition.fill=50%), and was the time spent in it, not in the host?\n\n"
        );
    }
    format!("{text}{causes}\nmeans of measured and simulated latency\n\n{slowest}\n")
}
