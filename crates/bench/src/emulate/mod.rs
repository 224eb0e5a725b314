//! `tailcut-bench emulate`: how many requests an emulated drive answers in real time, and how late.

pub mod harness;

use crate::process::{print_measured, spawn};
use crate::study::Study;
use harness::{Form, Harness, Load};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::io::Write;
use std::path::Path;
use std::time::Duration;
use tailcut::failure::Failure;
use tailcut::format::figure;
use tailcut::output::{is_stdout, write_json};
use tailcut::terminal::{Align, ColorMode, Table, Waiting};
use tailcut_base::config::Choice;
use tailcut_rt::emulated::Lateness;

/// A single request at a time, a queue that keeps the drive about half busy, and one that fills it; reads,
/// and reads with writes.
const LOADS: [Load; 4] = [
    Load { depth: 1, writes: 0 },
    Load { depth: 32, writes: 0 },
    Load { depth: 128, writes: 0 },
    Load { depth: 32, writes: 30 },
];

/// How long a case is warmed up, and how long it is measured.
const WARM: Duration = Duration::from_millis(300);
const MEASURED: Duration = Duration::from_millis(1000);

/// How often each case is measured, all cases in turn.
const ROUNDS: usize = 3;

/// A drive and its load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Case {
    form: Form,
    load: Load,
}

/// The results of one process. Times in s.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Measured {
    rate: f64,
    /// Time of processors per request.
    processor: f64,
    /// By how much answers were posted late.
    late: Late,
    /// By how much the user saw them late.
    seen: Late,
    /// The mean latency of the model.
    modelled: f64,
}

/// Percentiles of a lateness.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Late {
    p50: f64,
    p99: f64,
    max: f64,
}

/// Measures all cases.
///
/// # Errors
/// A measurement fails, or the results cannot be written.
pub fn emulate(json: Option<&Path>, out: &mut dyn Write) -> Result<(), Failure> {
    let mut runs: Vec<Vec<Measured>> = vec![Vec::new(); cases().count()];
    for round in 1..=ROUNDS {
        for (case, runs) in cases().zip(&mut runs) {
            let _waiting = Waiting::new(format!("{case}: {round} of {ROUNDS}"), false);
            runs.push(spawn("emulate", &case.to_string())?);
        }
    }
    let mut study = Study::new("bench-emulate");
    let mut table = Table::new(&head(), ColorMode::of_stdout());
    for (case, runs) in cases().zip(&runs) {
        table.row(&add(&mut study, case, runs));
    }
    if !json.is_some_and(is_stdout) {
        write!(out, "{table}\n\n{READING}")?;
        out.flush()?;
    }
    match json {
        Some(file) => write_json(&study.to_json(), file, out),
        None => Ok(()),
    }
}

/// Measures the case that is named `what` and prints the result.
///
/// # Errors
/// There is no case of this name, its measurement fails, or standard output cannot be written.
pub fn measure_alone(what: &str, out: &mut dyn Write) -> Result<(), Failure> {
    let case = cases().find(|case| case.to_string() == what);
    let case = case.ok_or_else(|| Failure::Input(format!("there is no measurement '{what}'")))?;
    let measured = measure(case).map_err(|why| Failure::Operation(format!("measuring {what}: {why}")))?;
    print_measured(&measured, out)
}

fn cases() -> impl Iterator<Item = Case> {
    LOADS.into_iter().flat_map(|load| Form::all().iter().map(move |&form| Case { form, load }))
}

fn measure(case: Case) -> std::io::Result<Measured> {
    let mut harness = Harness::new(case.form, case.load)?;
    harness.run(WARM);
    let measured = harness.run(MEASURED);
    let requests = measured.requests as f64;
    Ok(Measured {
        rate: requests / measured.seconds,
        processor: measured.processor / requests,
        late: Late::of(&measured.late),
        seen: Late::of(&measured.seen),
        modelled: measured.modelled.mean() / 1e9,
    })
}

impl Late {
    fn of(lateness: &Lateness) -> Late {
        let seconds = |percentile| lateness.histogram().percentile(percentile).0 as f64 / 1e9;
        Late { p50: seconds(50.0), p99: seconds(99.0), max: seconds(100.0) }
    }
}

fn head() -> [(&'static str, Align); 8] {
    let right = |title| (title, Align::Right);
    [
        ("drive and load", Align::Left),
        right("requests/s"),
        right("cpu/request"),
        right("model says"),
        right("late p50"),
        right("p99"),
        right("max"),
        right("seen late p99"),
    ]
}

/// Adds the rows of a case; returns its line of the table.
fn add(study: &mut Study, case: Case, runs: &[Measured]) -> Vec<String> {
    let mut line = vec![case.to_string()];
    let mut row = |quantity, unit, of: &dyn Fn(&Measured) -> f64| {
        let median = study.add_row(case.to_string(), quantity, unit, runs.iter().map(of).collect(), None);
        line.push(median.map_or(String::from("-"), |median| figure(median, unit)));
    };
    row("requests per second", "1/s", &|run| run.rate);
    row("processor time per request", "s", &|run| run.processor);
    row("mean latency of the model", "s", &|run| run.modelled);
    row("late p50", "s", &|run| run.late.p50);
    row("late p99", "s", &|run| run.late.p99);
    row("late max", "s", &|run| run.late.max);
    row("seen late p99", "s", &|run| run.seen.p99);
    line
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.form, self.load.writes, self.load.depth)
    }
}

const READING: &str = "\
A drive (preset m-32g) in real time with 256 MiB of data on it, and one thread
that asks for random blocks of 4 KiB and copies each once: form / writes in 100 /
requests in flight. late: from the moment that the model says to the moment when
the drive posted the answer; seen late: to the moment when its user had it. The
forms with own-core need a core for the drive and one for its user: with less
than two idle cores they measure who else was there. Medians of three rounds.
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_has_a_name_of_its_own() {
        let names: std::collections::BTreeSet<String> = cases().map(|case| case.to_string()).collect();
        assert_eq!(names.len(), cases().count());
    }
}
