//! `tailcut-bench sim`: how fast whole simulations run, how much memory they take, and where the time goes.

mod breakdown;
mod case;
mod instant;
mod measure;

use crate::process::{print_measured, spawn};
use crate::study::Study;
use breakdown::Breakdown;
use case::{Case, Part};
use measure::Measured;
use std::io::Write;
use std::path::Path;
use tailcut::failure::Failure;
use tailcut::output::{is_stdout, write_json};
use tailcut::terminal::{ColorMode, TextRole, Waiting};
use tailcut_base::config::Choice;

/// How often each case is measured.
const REPETITIONS: usize = 3;

/// Measures all cases.
///
/// # Errors
/// If a measurement fails or results cannot be written.
pub fn sim(json: Option<&Path>, out: &mut dyn Write) -> Result<(), Failure> {
    let mut study = Study::new("bench-sim");
    let mut breakdowns = Vec::new();
    for &case in Case::all() {
        let runs = repeat(case, Part::Whole)?;
        add(&mut study, case, &runs);
        if case.is_load() {
            let part = |&part: &Part| Ok((part, repeat(case, part)?));
            let parts: Result<Vec<_>, Failure> = Part::all()[1..].iter().map(part).collect();
            breakdowns.push(Breakdown::new(case, &runs, &parts?));
        }
    }
    if !json.is_some_and(is_stdout) {
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

/// Measures the part of a case that is named `what`, as in `read-m-qd64/whole`, and prints the result.
///
/// # Errors
/// There is no such case or part, its run fails, or standard output cannot be written.
pub fn measure_alone(what: &str, out: &mut dyn Write) -> Result<(), Failure> {
    let names = what.split_once('/');
    let chosen = names.and_then(|(case, part)| Some((Case::by_name(case)?, Part::by_name(part)?)));
    let (case, part) = chosen.ok_or_else(|| Failure::Input(format!("there is no measurement '{what}'")))?;
    let measured = measure::measure(case, part)?;
    print_measured(&measured, out)
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

/// Adds the rows of a case.
fn add(study: &mut Study, case: Case, runs: &[Measured]) {
    let mut row = |quantity, unit, figure: &dyn Fn(&Measured) -> Option<f64>| {
        let figures = runs.iter().filter_map(figure).collect();
        study.add_row(case.to_string(), quantity, unit, figures, case.target(quantity));
    };
    if case.is_load() {
        row("requests per second", "1/s", &|run| Some(run.requests as f64 / run.seconds));
        row("flash commands per second", "1/s", &|run| Some(run.flash_commands as f64 / run.seconds));
    } else {
        row("seconds", "s", &|run| Some(run.seconds));
    }
    row("peak memory", "B", &|run| run.peak_bytes.map(|bytes| bytes as f64));
}
