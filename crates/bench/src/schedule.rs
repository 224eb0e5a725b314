//! `tailcut-bench schedule`: what scheduling a memory request costs, by chips and depth of queue.

use crate::process::{peak_bytes, print_measured, spawn};
use crate::study::Study;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::io::Write;
use std::path::Path;
use std::time::Instant;
use tailcut::failure::Failure;
use tailcut::format::figure;
use tailcut::output::{is_stdout, write_json};
use tailcut::terminal::{Align, ColorMode, Table, Waiting};
use tailcut_base::config::Choice;
use tailcut_ssd::commit::harness::{Harness, Load};
use tailcut_ssd::config::CommitPolicy;

const CHIPS: [u32; 3] = [64, 512, 4096];
const DEPTHS: [u32; 3] = [32, 1024, 65_536];
/// Memory requests of an I/O request.
const PAGES: [u32; 2] = [1, 8];
/// Memory requests that are measured, after [`Harness::settle`].
const COUNT: u64 = 500_000;
/// How often each case is measured: more often than a whole simulation, because the result is a difference
/// of two times.
const REPETITIONS: usize = 5;

/// A scheduler and its load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Case {
    policy: CommitPolicy,
    pages: u32,
    chips: u32,
    depth: u32,
}

/// The results of one process.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Measured {
    /// Wall clock per memory request of the harness with its scheduler, in s.
    whole: f64,
    /// Wall clock per memory request of the harness without its scheduler, in s.
    harness: f64,
    /// Memory that the harness has added to the process, in bytes; `None` where the system does not report
    /// it.
    memory: Option<f64>,
}

/// The medians of a case, as they are shown.
#[derive(Clone, Copy, Debug)]
struct Medians {
    case: Case,
    /// In s per memory request.
    scheduling: Option<f64>,
    /// Ratio to the smallest load with the same policy and pages.
    growth: Option<f64>,
    /// In bytes.
    memory: Option<f64>,
}

/// Measures all cases.
///
/// # Errors
/// A measurement fails, or the results cannot be written.
pub fn schedule(json: Option<&Path>, out: &mut dyn Write) -> Result<(), Failure> {
    let mut study = Study::new("bench-schedule");
    let mut all: Vec<Medians> = Vec::new();
    for case in cases() {
        let runs = repeat(case)?;
        let smallest = all.iter().find(|m| m.case == case.smallest()).and_then(|m| m.scheduling);
        all.push(add(&mut study, case, &runs, smallest));
    }
    if !json.is_some_and(is_stdout) {
        write!(out, "{}\n\n{READING}", show(&all, ColorMode::of_stdout()))?;
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
/// There is no case of this name, or standard output cannot be written.
pub fn measure_alone(what: &str, out: &mut dyn Write) -> Result<(), Failure> {
    let case = Case::by_name(what);
    let case = case.ok_or_else(|| Failure::Input(format!("there is no measurement '{what}'")))?;
    print_measured(&measure(case), out)
}

fn cases() -> impl Iterator<Item = Case> {
    let loads = || CHIPS.into_iter().flat_map(|chips| DEPTHS.map(|depth| (chips, depth)));
    CommitPolicy::all().iter().flat_map(move |&policy| {
        loads().flat_map(move |(chips, depth)| PAGES.map(|pages| Case { policy, pages, chips, depth }))
    })
}

fn repeat(case: Case) -> Result<Vec<Measured>, Failure> {
    let mut runs = Vec::new();
    for repetition in 1..=REPETITIONS {
        let _waiting = Waiting::new(format!("{case}: {repetition} of {REPETITIONS}"), false);
        runs.push(spawn("schedule", &case.to_string())?);
    }
    Ok(runs)
}

/// A harness with a scheduler, and one that follows the record of its answers: their difference is the
/// scheduler.
fn measure(case: Case) -> Measured {
    let Case { policy, pages, chips, depth } = case;
    let before = peak_bytes();
    let mut harness = Harness::new(policy, Load { chips, depth, pages, fua: 0 });
    harness.settle();
    let memory = peak_bytes().zip(before).map(|(after, before)| (after - before) as f64);
    let mut bare = harness.clone();
    bare.follow(harness.clone().record(COUNT));
    Measured { whole: time(&mut harness), harness: time(&mut bare), memory }
}

/// Seconds per memory request.
fn time(harness: &mut Harness) -> f64 {
    let before = harness.ended();
    let begun = Instant::now();
    harness.serve(COUNT);
    begun.elapsed().as_secs_f64() / (harness.ended() - before) as f64
}

/// Adds the rows of a case.
fn add(study: &mut Study, case: Case, runs: &[Measured], smallest: Option<f64>) -> Medians {
    let figures = |figure: &dyn Fn(&Measured) -> Option<f64>| runs.iter().filter_map(figure).collect();
    let mut row = |quantity, unit, figure: &dyn Fn(&Measured) -> Option<f64>| {
        study.add_row(case.to_string(), quantity, unit, figures(figure), None)
    };
    let scheduling = row("scheduling per memory request", "s", &|run| Some(run.whole - run.harness));
    row("harness per memory request", "s", &|run| Some(run.harness));
    let memory = row("memory of the harness", "B", &|run| run.memory);
    let growth = scheduling.zip(smallest.or(scheduling)).map(|(this, smallest)| this / smallest);
    study.derived(case.to_string(), "growth", "x", growth, "over 64 chips and a queue of 32");
    Medians { case, scheduling, growth, memory }
}

/// A row for each policy, chips and depth; columns for each size of I/O requests.
fn show(all: &[Medians], tone: ColorMode) -> String {
    let right = |title| (title, Align::Right);
    let head = [
        ("policy", Align::Left),
        right("chips"),
        right("queue"),
        right("1 page"),
        right("growth"),
        right("memory"),
        right("8 pages"),
        right("growth"),
        right("memory"),
    ];
    let mut table = Table::new(&head, tone);
    for row in all.chunks(PAGES.len()) {
        let Case { policy, chips, depth, .. } = row[0].case;
        let mut cells = vec![policy.to_string(), chips.to_string(), depth.to_string()];
        for m in row {
            let shown = |x: Option<f64>, unit| x.map_or(String::from("-"), |x| figure(x, unit));
            cells.extend([shown(m.scheduling, "s"), shown(m.growth, "x"), shown(m.memory, "B")]);
        }
        table.row(&cells);
    }
    table.to_string()
}

impl Case {
    fn by_name(name: &str) -> Option<Case> {
        let mut parts = name.split('/');
        let policy = CommitPolicy::by_name(parts.next()?)?;
        let mut number = || parts.next()?.parse().ok();
        let case = Case { policy, pages: number()?, chips: number()?, depth: number()? };
        cases().any(|known| known == case).then_some(case)
    }

    /// What its growth is counted from.
    fn smallest(self) -> Case {
        Case { chips: CHIPS[0], depth: DEPTHS[0], ..self }
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}/{}", self.policy, self.pages, self.chips, self.depth)
    }
}

const READING: &str = "\
Wall clock per memory request, for I/O requests of 1 and of 8 pages at random
places: a scheduler with a full queue before chips that cost nothing, less the
same with the scheduler's answers read from a record. growth: over the first row
of the policy. memory: of the scheduler, the queue and the chips; where it
outgrows a cache, the same steps take longer. The steps themselves are counted by
the tests.
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_case_is_found_by_its_name() {
        for case in cases() {
            assert_eq!(Case::by_name(&case.to_string()), Some(case));
        }
        assert_eq!(Case::by_name("vas/1/64"), None);
        assert_eq!(Case::by_name("vas/3/64/32"), None);
    }

    #[test]
    fn the_smallest_load_comes_first() {
        let mut seen: Vec<Case> = Vec::new();
        for case in cases() {
            seen.push(case);
            assert!(seen.contains(&case.smallest()), "{case}");
        }
    }
}
