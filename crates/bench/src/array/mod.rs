//! `tailcut-bench array`: what a request costs an array, by layout and size of its drives.

pub mod harness;

use crate::process::spawn;
use crate::study::Study;
use harness::{Harness, Load};
use std::fmt;
use std::io::Write;
use std::path::Path;
use std::time::Instant;
use tailcut::failure::Failure;
use tailcut::output::{is_stdout, write_json};
use tailcut::terminal::{ColorMode, Waiting};
use tailcut_base::config::Choice;
use tailcut_host::array::LayoutKind;

const LAYOUTS: [LayoutKind; 4] =
    [LayoutKind::Raid5, LayoutKind::LogRaid5, LayoutKind::Swan5, LayoutKind::Epochs];

/// Blocks of a drive: 64 MiB and 1 GiB. What a request costs must not depend on it.
const BLOCKS: [u64; 2] = [1 << 14, 1 << 18];

/// Requests that are measured, after [`Harness::settle`].
const COUNT: u64 = 300_000;

const REPETITIONS: usize = 3;

/// A layout and its load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Case {
    layout: LayoutKind,
    reads: bool,
    blocks: u64,
}

/// Measures all cases.
///
/// # Errors
/// A measurement fails, or the results cannot be written.
pub fn array(json: Option<&Path>, out: &mut dyn Write) -> Result<(), Failure> {
    let mut study = Study::new("bench-array");
    let mut smaller = None;
    for case in cases() {
        let mut runs: Vec<f64> = Vec::new();
        for repetition in 1..=REPETITIONS {
            let _waiting = Waiting::new(format!("{case}: {repetition} of {REPETITIONS}"), false);
            runs.push(spawn("array", &case.to_string())?);
        }
        let this = study.add_row(case.to_string(), "per request", "s", runs, None);
        if case.blocks == BLOCKS[0] {
            smaller = this;
        } else {
            let growth = this.zip(smaller).map(|(this, smaller)| this / smaller);
            study.derived(case.to_string(), "growth", "x", growth, "over drives of 64 MiB; 1 but for caches");
        }
    }
    if !json.is_some_and(is_stdout) {
        write!(out, "{}\n{READING}", study.show(ColorMode::of_stdout()))?;
        out.flush()?;
    }
    match json {
        Some(file) => write_json(&study.to_json(), file, out),
        None => Ok(()),
    }
}

/// Measures the case that is named `what` and prints the seconds per request.
///
/// # Errors
/// There is no case of this name, or standard output cannot be written.
pub fn measure_alone(what: &str, out: &mut dyn Write) -> Result<(), Failure> {
    let case = cases().find(|case| case.to_string() == what);
    let case = case.ok_or_else(|| Failure::Input(format!("there is no measurement '{what}'")))?;
    writeln!(out, "{}", measure(case))?;
    Ok(out.flush()?)
}

fn cases() -> impl Iterator<Item = Case> {
    let loads = [false, true].into_iter().flat_map(|reads| BLOCKS.map(|blocks| (reads, blocks)));
    LAYOUTS
        .into_iter()
        .flat_map(move |layout| loads.clone().map(move |(reads, blocks)| Case { layout, reads, blocks }))
}

fn measure(case: Case) -> f64 {
    let Case { layout, reads, blocks } = case;
    let (groups, drives) = if layout == LayoutKind::Swan5 { (2, 6) } else { (1, 4) };
    let mut harness = Harness::new(Load { layout, groups, drives, blocks, reads });
    harness.settle();
    let before = harness.done();
    let begun = Instant::now();
    harness.serve(COUNT);
    begun.elapsed().as_secs_f64() / (harness.done() - before) as f64
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let load = if self.reads { "reads" } else { "writes" };
        write!(f, "{}/{load}/{}MiB", self.layout.name(), self.blocks >> 8)
    }
}

const READING: &str = "\
Wall clock per request of one block at a random place, 64 at a time, over four
drives (swan5: two groups of three) that answer everything after 100 µs of
virtual time and cost nothing themselves but a queue; four fifths of the space
are in use, and logs collect.
";
