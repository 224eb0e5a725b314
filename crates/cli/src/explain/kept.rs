//! The files of a run in its folder.

use super::selection::Selection;
use crate::advise::command as advise;
use crate::compare::command as compare;
use crate::failure::Failure;
use crate::run::{self, ATTRIBUTION, CURVE, REPORT, SCENARIO, SLOWEST, Saved, Scenario, column};
use crate::scenario;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tailcut_base::histogram::LatencyHistogram;
use tailcut_base::{Cause, Nanos, Time};
use tailcut_sim::world::Attribution;

/// A folder that a run wrote.
pub(super) struct SavedRun {
    folder: PathBuf,
    /// The report of the run, its detail and its scenario.
    pub saved: Saved,
}

/// A request of `slowest.csv`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Slow {
    /// Number of the request in the run.
    pub number: u64,
    /// Kind of the request: read, write, trim or flush.
    pub op: String,
    /// Latency class of the request, 1 … 5.
    pub class: u64,
    /// When the request was due, from which its latency counts.
    pub due: Time,
    /// When the host saw the completion.
    pub completed: Time,
    /// The time from `due` to `completed`.
    pub latency: Nanos,
    /// The cause of the request's longest wait, and its length.
    pub most: (Cause, Nanos),
    /// What held the request up longest, by reclaim unit handle; empty if no handle did.
    pub held_up_by: String,
}

impl SavedRun {
    /// Opens the folder of a run. Fails when it holds no report that can be read.
    pub(super) fn open(folder: &Path) -> Result<SavedRun, Failure> {
        if let Some(what) = what_else(folder) {
            return Err(Failure::Input(format!("{}: {what}", folder.display())));
        }
        let text = read(&folder.join(REPORT))?;
        let saved = serde_json::from_str(&text).map_err(|error| {
            let file = folder.join(REPORT);
            Failure::Input(format!("{}: not a report of this version: {error}", file.display()))
        })?;
        Ok(SavedRun { folder: folder.to_owned(), saved })
    }

    /// How long the run took, if it left that behind.
    pub(super) fn elapsed(&self) -> Option<Duration> {
        run::elapsed(&self.folder)
    }

    /// The scenario of the run, as it can be run again.
    pub(super) fn scenario(&self) -> Result<Scenario, Failure> {
        let mut scenario = Scenario::default();
        scenario::load(&mut scenario, Some(&self.folder.join(SCENARIO)), &[])?;
        if self.saved.report.interrupted {
            // The same requests again, and then no more.
            scenario.run.requests = self.saved.report.completed;
        }
        Ok(scenario)
    }

    /// The waits of the selected requests by latency and cause.
    pub(super) fn attribution(&self, selection: Selection) -> Result<Attribution, Failure> {
        let table = Csv::read(&self.folder.join(ATTRIBUTION))?;
        let (from, count, causes) =
            (table.column("latency_from_ns")?, table.column("requests")?, table.causes()?);
        let kind = table.column("kind")?;
        let mut attribution = Attribution::new();
        for (line, row) in table.rows() {
            if !selection.holds(row.get(kind).unwrap_or(&"")) {
                continue;
            }
            let sums: Result<Vec<u64>, Failure> =
                causes.iter().map(|&column| table.number(line, &row, column)).collect();
            let lowest = Nanos(table.number(line, &row, from)?);
            attribution.add_row(lowest, table.number(line, &row, count)?, &sums?);
        }
        Ok(attribution)
    }

    /// The latencies of the selected requests.
    pub(super) fn latencies(&self, selection: Selection) -> Result<LatencyHistogram, Failure> {
        let table = Csv::read(&self.folder.join(CURVE))?;
        let (kind, latency, requests) =
            (table.column("kind")?, table.column("latency_ns")?, table.column("requests")?);
        let wanted = selection.name();
        let mut latencies = LatencyHistogram::new();
        for (line, row) in table.rows().filter(|(_, row)| row.get(kind) == Some(&wanted.as_str())) {
            let number = |column| table.number(line, &row, column);
            latencies.record_many(Nanos(number(latency)?), number(requests)?);
        }
        Ok(latencies)
    }

    /// The slowest requests, the slowest first.
    pub(super) fn slowest(&self) -> Result<Vec<Slow>, Failure> {
        let table = Csv::read(&self.folder.join(SLOWEST))?;
        let [number, due, completed, latency] =
            ["number", "due_ns", "completed_ns", "latency_ns"].map(|name| table.column(name));
        let (number, due, completed, latency) = (number?, due?, completed?, latency?);
        let (op, class, causes) = (table.column("op")?, table.column("class")?, table.causes()?);
        let held_up_by = table.column("held_up_by").ok();
        let mut slowest = Vec::new();
        for (line, row) in table.rows() {
            let read = |column: usize| table.number(line, &row, column);
            let mut most = (Cause::HostQueue, Nanos::ZERO);
            for (cause, &column) in Cause::ALL.into_iter().zip(&causes) {
                let time = Nanos(read(column)?);
                most = if time > most.1 { (cause, time) } else { most };
            }
            slowest.push(Slow {
                number: read(number)?,
                class: read(class)?,
                op: row.get(op).unwrap_or(&"").to_string(),
                due: Time(read(due)?),
                completed: Time(read(completed)?),
                latency: Nanos(read(latency)?),
                most,
                held_up_by: held_up_by.and_then(|column| row.get(column)).unwrap_or(&"").to_string(),
            });
        }
        Ok(slowest)
    }
}

/// What a folder without a report of a run is, as far as that can be told, and what to give in its place.
fn what_else(folder: &Path) -> Option<String> {
    if folder.join(REPORT).exists() {
        return None;
    }
    let give = "give the folder that 'tailcut run' wrote with --out";
    let has = |file: &str| folder.join(file).is_file();
    Some(match () {
        () if !folder.exists() => format!("there is no such folder; {give}"),
        () if !folder.is_dir() => format!("this is no folder; {give}"),
        () if has(compare::RESULTS) => String::from(
            "this is the folder of 'tailcut compare', which keeps no requests; run one of its points by \
             itself, 'tailcut run --set KEY=VALUE --out DIR' with the settings of its row, and explain DIR",
        ),
        () if has(advise::RESULTS) => format!(
            "this is the folder of 'tailcut advise', which keeps no requests; 'tailcut run {} --out DIR', \
                and explain DIR",
            folder.join(advise::SCENARIO).display()
        ),
        () => format!("no run has written here, for there is no {REPORT}; {give}"),
    })
}

/// A table with a head, as a run writes it: no quotes.
struct Csv {
    file: PathBuf,
    text: String,
}

impl Csv {
    fn read(file: &Path) -> Result<Csv, Failure> {
        Ok(Csv { file: file.to_owned(), text: read(file)? })
    }

    fn column(&self, name: &str) -> Result<usize, Failure> {
        let head = self.text.lines().next().unwrap_or_default();
        head.split(',').position(|title| title == name).ok_or_else(|| {
            Failure::Input(format!("{}:1: no column '{name}'; run the scenario again", self.file.display()))
        })
    }

    /// The column of each cause.
    fn causes(&self) -> Result<Vec<usize>, Failure> {
        Cause::ALL.into_iter().map(|cause| self.column(&column(cause))).collect()
    }

    /// Each line below the head with its number.
    fn rows(&self) -> impl Iterator<Item = (usize, Vec<&str>)> {
        self.text.lines().enumerate().skip(1).map(|(index, line)| (index + 1, line.split(',').collect()))
    }

    fn number(&self, line: usize, row: &[&str], column: usize) -> Result<u64, Failure> {
        let text = row.get(column).copied().unwrap_or_default();
        text.parse().map_err(|_| {
            let file = self.file.display();
            Failure::Input(format!("{file}:{line}: '{text}' is not a whole number; run the scenario again"))
        })
    }
}

fn read(file: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(file).map_err(|error| {
        let file = file.display();
        Failure::Input(format!("{file}: {error}; give the folder that 'tailcut run' wrote with --out"))
    })
}
