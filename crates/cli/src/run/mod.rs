//! `tailcut run`: from the arguments to the results.

pub mod arguments;
mod files;
pub mod html;
mod input;
mod lanes;
mod next;
#[cfg(feature = "parquet")]
mod parquet;
mod requests;
mod simulation;
mod slowest;

pub use files::{ATTRIBUTION, CURVE, REPORT, SCENARIO, SLOWEST, Saved, column, elapsed, write};
pub use input::{read, read_and_warn, read_with_warnings, refuse, to_be_read_again, trace_failure};
pub use simulation::{Ending, Keep, NotRun, Simulated, drive, failed, prepare, simulate, simulate_and_keep};

use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::output;
use crate::output::is_stdout;
use crate::scenario::keys;
use crate::scenario::nearest::enumerate;
use crate::show::{self, Detail};
use crate::terminal::{ColorMode, TextRole, window};
use arguments::{RunArguments, RunOptions};
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};
use tailcut_sim::Report;

/// The scenario of a run, described by its keys.
pub type Scenario = tailcut_sim::Scenario;

/// Runs a scenario, or prints it or its keys where that is asked for.
///
/// # Errors
/// An invalid scenario, workload or option, a run that fails, results that cannot be written, or
/// [`Failure::Interrupted`].
pub fn run(arguments: &RunArguments, out: &mut dyn Write) -> Result<(), Failure> {
    let options = &arguments.options;
    let mut scenario = Scenario::default();
    if let Some(pattern) = &options.keys {
        return print_keys(&mut scenario, pattern, options.json.as_deref(), out);
    }
    input::read_and_warn(&mut scenario, arguments)?;
    if options.resolved {
        out.write_all(to_be_read_again(&mut scenario).as_bytes())?;
        return Ok(out.flush()?);
    }
    let json = options.json.as_deref().filter(|file| !is_stdout(file));
    let files: Vec<&Path> =
        options.html.as_deref().into_iter().chain(json).chain(options.requests.as_deref()).collect();
    output::check(Some(&options.out), &files)?;
    let interrupt = Interrupt::listen()
        .map_err(|error| Failure::Operation(format!("cannot listen for Ctrl-C: {error}")))?;
    let start = Instant::now();
    let simulated =
        simulate(&scenario, options, &interrupt).map_err(|error| input::refuse(error, arguments))?;
    let elapsed = start.elapsed();
    finish(&mut scenario, &simulated, elapsed, arguments, out)
}

/// Prints the results, then keeps them: a folder that cannot be written costs no result.
fn finish(
    scenario: &mut Scenario,
    simulated: &Simulated,
    elapsed: Duration,
    arguments: &RunArguments,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let options = &arguments.options;
    let saved = Saved::new(scenario, simulated, options.skip_bad_lines);
    let json = saved.to_json();
    // The files are also written when the reader closes standard output early.
    let printed = print(&saved, &json, scenario, arguments, out);
    let kept = keep(&saved, &json, scenario, simulated, options)
        .and_then(|()| Ok(files::write_elapsed(&options.out, elapsed)?));
    match (simulated.ending.failure(), printed.and(kept)) {
        (None, told) => told,
        (Some(failure), Ok(()) | Err(Failure::Deaf)) => Err(failure),
        (Some(failure), Err(unkept)) => {
            // Both are reported; the exit code is that of the run.
            crate::tell!("{}", unkept.render(ColorMode::of_stderr()).to_string().trim_end());
            Err(failure)
        }
    }
}

fn print(
    saved: &Saved,
    json: &str,
    scenario: &Scenario,
    arguments: &RunArguments,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let options = &arguments.options;
    if options.json_to_stdout() {
        out.write_all(json.as_bytes())?;
    } else if let Some(why) = saved.report.unmeasured() {
        // Other reasons are the message of the failure.
        if saved.report.interrupted {
            writeln!(out, "nothing was measured: {why}")?;
        }
    } else {
        let tone = ColorMode::of_stdout();
        let detail = if options.verbose { Detail::Full } else { Detail::Brief };
        let text = show::report(&saved.report, scenario, detail, usize::from(window()), tone);
        out.write_all(text.as_bytes())?;
        writeln!(out, "{}", whereabouts(&saved.report, options, tone))?;
        out.write_all(next::commands(scenario, arguments, tone).as_bytes())?;
    }
    Ok(out.flush()?)
}

/// The digest, and where the files are.
fn whereabouts(report: &Report, options: &RunOptions, tone: ColorMode) -> String {
    let folder = options.out.display();
    let verbosely = if options.verbose { "" } else { "with --verbose, and " };
    format!(
        "\ntailcut {}, seed {}, digest {}\n{}",
        report.version,
        report.seed,
        report.digest,
        tone.paint(TextRole::Faint, &format!("more {verbosely}in {folder}/{REPORT}"))
    )
}

fn keep(
    saved: &Saved,
    json: &str,
    scenario: &Scenario,
    simulated: &Simulated,
    options: &RunOptions,
) -> Result<(), Failure> {
    files::write(&options.out, saved, json, &simulated.stats)?;
    if let Some(file) = &options.html {
        crate::html::write(file, &html::page(saved, scenario), None)?;
    }
    if let (Some(file), Some(kept)) = (&options.requests, &simulated.columns) {
        requests::write(file, kept, options)?;
    }
    match &options.json {
        Some(file) if !is_stdout(file) => Ok(output::write_file(file, json.as_bytes())?),
        _ => Ok(()),
    }
}

fn print_keys(
    scenario: &mut Scenario,
    pattern: &str,
    json: Option<&Path>,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let all = keys::list(scenario);
    let keys = keys::matching(&all, pattern);
    if keys.is_empty() {
        let advice = match keys::similar(&all, pattern).as_slice() {
            [] => String::from("list all keys with 'tailcut run --keys'"),
            near => format!("did you mean {}?", enumerate(near)),
        };
        return Err(Failure::Input(format!("no key or description contains '{pattern}'; {advice}")));
    }
    let Some(file) = json else {
        out.write_all(keys::show(&keys).as_bytes())?;
        return Ok(out.flush()?);
    };
    output::write_json(&keys::to_json(&keys), file, out)
}
