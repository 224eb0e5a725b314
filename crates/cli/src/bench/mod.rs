//! `tailcut bench`: what this program itself costs, by the wall clock.
//!
//! Each measurement runs in a process of its own, so that its peak memory is its own and no
//! measurement warms the caches of the next.

pub mod arguments;
mod array;
pub mod block;
mod breakdown;
mod case;
mod emulate;
mod instant;
pub mod kv;
mod measure;
pub(crate) mod path;
mod schedule;
mod study;

use crate::failure::Failure;
use crate::output::write_json;
use crate::terminal::{ColorMode, TextRole, Waiting};
use arguments::BenchCommand;
use breakdown::Breakdown;
use case::{Case, Part};
use measure::Measured;
use serde::de::DeserializeOwned;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use study::Study;
use tailcut_base::config::Choice;

/// How often each case is measured.
const REPETITIONS: usize = 3;

/// Does what the arguments ask and prints to `out`.
pub fn bench(command: &BenchCommand, out: &mut dyn Write) -> Result<(), Failure> {
    match command {
        BenchCommand::Sim { alone: Some(what), .. } => measure_alone(what, out),
        BenchCommand::Sim { json, .. } => simulation(json.as_deref(), out),
        BenchCommand::Array { alone: Some(what), .. } => array::measure_alone(what, out),
        BenchCommand::Array { json, .. } => array::array(json.as_deref(), out),
        BenchCommand::Path(arguments) => path::path(arguments, out),
        BenchCommand::Emulate { alone: Some(what), .. } => emulate::measure_alone(what, out),
        BenchCommand::Emulate { json, .. } => emulate::emulate(json.as_deref(), out),
        BenchCommand::Schedule { alone: Some(what), .. } => schedule::measure_alone(what, out),
        BenchCommand::Schedule { json, .. } => schedule::schedule(json.as_deref(), out),
        BenchCommand::Block(arguments) => block::block(arguments, out),
        BenchCommand::Kv(arguments) => kv::kv(arguments, out),
    }
}

/// `tailcut bench sim`.
fn simulation(json: Option<&Path>, out: &mut dyn Write) -> Result<(), Failure> {
    let to_stdout = json.is_some_and(crate::output::is_stdout);
    let mut study = Study::new("bench-sim");
    let mut breakdowns = Vec::new();
    for &case in Case::all() {
        let runs = repeat(case, Part::Whole)?;
        study.add(case, &runs);
        if case.is_load() {
            let part = |&part: &Part| Ok((part, repeat(case, part)?));
            let parts: Result<Vec<_>, Failure> = Part::all()[1..].iter().map(part).collect();
            breakdowns.push(Breakdown::new(case, &runs, &parts?));
        }
    }
    if !to_stdout {
        let tone = ColorMode::of_stdout();
        let heading = tone.paint(TextRole::Heading, "where the time goes, per request");
        writeln!(out, "{}\n{heading}\n{}", study.show(tone), breakdown::show(&breakdowns, tone))?;
        out.flush()?;
    }
    match json {
        Some(file) => write_json(&study.to_json(), file, out),
        None => Ok(()),
    }
}

/// Measures a part of a case several times, the fastest first.
fn repeat(case: Case, part: Part) -> Result<Vec<Measured>, Failure> {
    let mut runs: Vec<Measured> = Vec::new();
    for repetition in 1..=REPETITIONS {
        let _waiting = Waiting::new(format!("{case}, {part}: {repetition} of {REPETITIONS}"), false);
        runs.push(spawn("sim", &format!("{case}/{part}"))?);
    }
    runs.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
    Ok(runs)
}

/// One measurement of a command in a process of its own.
fn spawn<T: DeserializeOwned>(command: &str, what: &str) -> Result<T, Failure> {
    let failed = |why: String| Failure::Operation(format!("measuring {what}: {why}"));
    let program = std::env::current_exe().map_err(|error| failed(error.to_string()))?;
    let child = Command::new(program)
        .args(["bench", command, "--alone", what])
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| failed(error.to_string()))?;
    if !child.status.success() {
        return Err(failed(format!("it ended with {}", child.status)));
    }
    serde_json::from_slice(&child.stdout).map_err(|error| failed(error.to_string()))
}

fn measure_alone(what: &str, out: &mut dyn Write) -> Result<(), Failure> {
    let names = what.split_once('/');
    let chosen = names.and_then(|(case, part)| Some((Case::by_name(case)?, Part::by_name(part)?)));
    let (case, part) = chosen.ok_or_else(|| Failure::Input(format!("there is no measurement '{what}'")))?;
    let measured = measure::measure(case, part)?;
    writeln!(out, "{}", serde_json::to_string(&measured).expect("plain data"))?;
    Ok(out.flush()?)
}
