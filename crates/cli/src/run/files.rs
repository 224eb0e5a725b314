//! The files that a run leaves in its folder.

use super::slowest::SlowRow;
use super::{Scenario, Simulated};
use crate::failure::OutputError;
use crate::output::Folder;
use crate::scenario::{self, Comments};
use serde::{Deserialize, Serialize};
use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;
use tailcut_base::cause::HeldUp;
use tailcut_base::config::Choice;
use tailcut_base::histogram::LatencyHistogram;
use tailcut_base::{Cause, Op};
use tailcut_sim::Report;
use tailcut_sim::report::{Detail, class_kind};
use tailcut_sim::world::{OpStats, SlowRequest, Stats};

/// The report and the scenario, as JSON.
pub const REPORT: &str = "report.json";
/// The complete scenario: what `tailcut run` takes to repeat the run.
pub const SCENARIO: &str = "scenario.toml";
/// The slowest requests of each kind, one line each, the slowest of all first.
pub const SLOWEST: &str = "slowest.csv";
/// Where the time of the requests of each latency went.
pub const ATTRIBUTION: &str = "attribution.csv";
/// The latency curve, for plotting.
pub const CURVE: &str = "curve.csv";
/// Seconds that the run took. The only file that differs between two runs of one scenario.
pub(super) const ELAPSED: &str = "elapsed.txt";

/// The content of `report.json`, from which a run is shown, explained and repeated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Saved {
    /// The report of the run.
    #[serde(flatten)]
    pub report: Report,
    /// Fine curves, bands of latency and the timeline, for charts.
    #[serde(default)]
    pub detail: Detail,
    /// The slowest requests of each kind, the slowest first.
    #[serde(default)]
    slowest: Vec<SlowRow>,
    /// True when lines of the trace that cannot be read were skipped.
    pub skip_bad_lines: bool,
    /// The complete scenario of the run as TOML.
    pub scenario: String,
}

impl Saved {
    /// The saved data of a run of `scenario`.
    pub fn new(scenario: &mut Scenario, simulated: &Simulated, skip_bad_lines: bool) -> Saved {
        Saved {
            report: simulated.report.clone(),
            detail: simulated.detail.clone(),
            slowest: SlowRow::of(simulated),
            skip_bad_lines,
            scenario: scenario::write(scenario, Comments::Left),
        }
    }

    /// The slowest requests of each kind, the slowest first; none in files of older versions.
    pub(super) fn slowest(&self) -> &[SlowRow] {
        &self.slowest
    }

    /// The JSON text; in one line where it holds a timeline, whose lists have thousands of numbers.
    #[expect(clippy::missing_panics_doc, reason = "plain data becomes JSON")]
    pub fn to_json(&self) -> String {
        let write = match self.detail.timeline {
            Some(_) => serde_json::to_string,
            None => serde_json::to_string_pretty,
        };
        let mut text = write(self).expect("a report is plain data");
        text.push('\n');
        text
    }
}

/// Writes all files of a run into `folder`. `json` is what [`Saved::to_json`] makes of it.
///
/// # Errors
/// A folder or file that cannot be written.
pub fn write(folder: &Path, saved: &Saved, json: &str, stats: &Stats) -> Result<(), OutputError> {
    let folder = Folder::create(folder)?;
    folder.write(REPORT, json.as_bytes())?;
    folder.write(SCENARIO, saved.scenario.as_bytes())?;
    folder.write_with(SLOWEST, |file| slowest(file, &stats.slowest()))?;
    folder.write_with(ATTRIBUTION, |file| attribution(file, stats))?;
    folder.write_with(CURVE, |file| curve(file, stats))
}

/// Writes how long a run took, so that a command that repeats it can announce that.
///
/// # Errors
/// A folder or file that cannot be written.
pub(super) fn write_elapsed(folder: &Path, elapsed: Duration) -> Result<(), OutputError> {
    Folder::create(folder)?.write(ELAPSED, format!("{:.3}\n", elapsed.as_secs_f64()).as_bytes())
}

/// How long the run in a folder took; `None` where that is not known.
pub fn elapsed(folder: &Path) -> Option<Duration> {
    let text = std::fs::read_to_string(folder.join(ELAPSED)).ok()?;
    Duration::try_from_secs_f64(text.trim().parse().ok()?).ok()
}

/// The name of a cause's column.
pub fn column(cause: Cause) -> String {
    format!("{}_ns", cause.label().replace(": ", " ").replace([' ', '-'], "_"))
}

fn causes() -> String {
    Cause::ALL.map(column).join(",")
}

fn slowest(file: &mut dyn Write, requests: &[SlowRequest]) -> io::Result<()> {
    let has_handles = requests.iter().any(|r| r.spans.held_up().by().is_some());
    writeln!(
        file,
        "number,source,op,class,status,sector,sectors,due_ns,submitted_ns,completed_ns,latency_ns,{}{}",
        causes(),
        if has_handles { ",held_up_by,held_up_ns" } else { "" }
    )?;
    for r in requests {
        let mut sums = [0u64; Cause::ALL.len()];
        for (cause, time) in r.spans.iter() {
            sums[cause as usize] += time.0;
        }
        write!(file, "{},{},{},{},{}", r.number, r.source, r.op, r.class.number(), r.status)?;
        write!(file, ",{},{}", r.sector, r.sectors)?;
        write!(file, ",{},{},{},{}", r.due.0, r.submitted.0, r.completed.0, r.latency.0)?;
        write_sums(file, &sums)?;
        if has_handles {
            let held_up = r.spans.held_up();
            write!(file, ",{},{}", held_up_by(held_up), held_up.time().0)?;
        }
        writeln!(file)?;
    }
    Ok(())
}

/// What held a request up longest, as in `collection of handle 3`; empty if no handle did.
fn held_up_by(held_up: HeldUp) -> String {
    held_up.by().map_or_else(String::new, |by| by.to_string())
}

fn write_sums(file: &mut dyn Write, sums: &[u64]) -> io::Result<()> {
    sums.iter().try_for_each(|sum| write!(file, ",{sum}"))
}

fn attribution(file: &mut dyn Write, stats: &Stats) -> io::Result<()> {
    writeln!(file, "kind,latency_from_ns,requests,{}", causes())?;
    for &op in Op::all() {
        // Each request stands in one row: reads of several classes in those of their class.
        let classes = if op == Op::Read { stats.read_classes() } else { Vec::new() };
        if classes.is_empty() {
            rows(file, op.name(), &stats.op(op))?;
        }
        for (class, reads) in classes {
            rows(file, &class_kind(class), reads)?;
        }
    }
    Ok(())
}

fn rows(file: &mut dyn Write, kind: &str, stats: &OpStats) -> io::Result<()> {
    for (from, count, sums) in stats.attribution.rows() {
        write!(file, "{kind},{},{count}", from.0)?;
        write_sums(file, sums)?;
        writeln!(file)?;
    }
    Ok(())
}

fn curve(file: &mut dyn Write, stats: &Stats) -> io::Result<()> {
    writeln!(file, "kind,latency_ns,requests,share_at_or_below")?;
    points(file, "all", &stats.all().latency)?;
    for &op in Op::all() {
        points(file, op.name(), &stats.op(op).latency)?;
    }
    for (class, reads) in stats.read_classes() {
        points(file, &class_kind(class), &reads.latency)?;
    }
    Ok(())
}

fn points(file: &mut dyn Write, kind: &str, latency: &LatencyHistogram) -> io::Result<()> {
    let mut below = 0;
    for (to, count) in latency.buckets() {
        below += count;
        writeln!(
            file,
            "{kind},{},{count},{:.9}",
            to.0.min(latency.max().0),
            below as f64 / latency.count() as f64
        )?;
    }
    Ok(())
}
