//! `tailcut pts`: a drive's own tests, as the SNIA Performance Test Specification has them.

pub mod against;
pub mod arguments;
mod csv;
mod form;
mod page;
pub mod plan;
mod rows;
mod subject;
mod watcher;

pub use watcher::Watcher;

use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::output;
use crate::output::is_stdout;
use crate::output::write_json;
use crate::terminal::ColorMode;
use against::ReferenceResults;
use arguments::PtsArguments;
use std::io::Write;
use std::time::{Duration, Instant};
use subject::Subject;
use tailcut_base::Nanos;
use tailcut_pts::{Cell, Procedure, Settings, Test};
use tailcut_rt::pts::End;
use tailcut_study::Row;

/// Facts about a drive and about how it is tested.
#[derive(Clone, Debug)]
pub struct Platform {
    /// Model name that the drive reports.
    pub model: String,
    /// The kind of drive: simulated in virtual time, emulated, a file, a block device.
    pub kind: &'static str,
    /// Path of the drive, or name of the preset that it is.
    pub name: String,
    /// Size of the whole drive in bytes.
    pub capacity: u64,
    /// Number of bytes of the drive that tests use, from its start.
    pub active: u64,
    /// Maximum number of requests in flight that the drive accepts.
    pub depth: u32,
    /// What represents a write cache that is enabled or disabled, in words.
    pub write_cache: &'static str,
    /// How the drive is purged, in words.
    pub purge: &'static str,
    /// Notes on all tests, each as a sentence.
    pub notes: Vec<String>,
}

/// A test that was carried out, as far as it came.
pub struct Tested {
    /// The test with all results so far.
    pub procedure: Procedure,
    /// How the test ended; `None` while it is running.
    pub end: Option<End>,
    /// Share of the drive that the last purge reached, 0 … 1; `None` before a purge.
    pub purged: Option<f64>,
}

impl Tested {
    /// All loads of the test's stages.
    pub fn cells(&self) -> Vec<Cell> {
        self.procedure.stages().iter().flat_map(|stage| stage.work.cells()).collect()
    }

    /// Notes on this test, each as a sentence.
    pub fn notes(&self) -> Vec<String> {
        let brief = (self.procedure.settings.minute < BRIEF_MINUTE).then(|| BRIEF.to_owned());
        let widened = self.cells().iter().any(Cell::is_widened).then(|| WIDENED.to_owned());
        let ended = match self.end {
            Some(End::Stopped) => Some("stopped: what was measured until then is shown".into()),
            Some(End::Failed(why)) => Some(format!("it ended before its time: {why}")),
            Some(End::Complete) | None => None,
        };
        brief.into_iter().chain(widened).chain(ended).collect()
    }
}

/// A minute that is shorter than this is no longer than a drive needs to empty its buffer: 64 MiB at a few
/// hundred MB/s.
const BRIEF_MINUTE: Nanos = Nanos::secs(1);
const BRIEF: &str = "in so short a minute a drive's buffer is much of what is seen: writes go to it, and \
                     reads after them wait for it to be emptied";
const WIDENED: &str = "I/Os that are no multiple of 4 KiB are widened to blocks: a read reads the block, a \
                       write reads it and then writes it";

/// All tests of a drive.
pub struct Report {
    /// The drive under test, and how it is reached.
    pub platform: Platform,
    /// The settings that all tests share.
    pub settings: Settings,
    /// Seed of addresses and contents.
    pub seed: u64,
    /// The tests that have begun, in order.
    pub tests: Vec<Tested>,
    /// Results of the same tests to compare with; `None` unless they were given.
    pub other: Option<ReferenceResults>,
}

impl Report {
    /// True when times, rounds and sizes are those of the specification.
    pub fn is_full_length(&self) -> bool {
        self.settings.is_conforming() && self.settings.capacity >= self.platform.capacity
    }

    /// In which respects times and sizes are not those of the specification, as a sentence; none where they
    /// are.
    pub fn departure(&self) -> Option<String> {
        let settings = &self.settings;
        let mut departures = Vec::new();
        if settings.minute != Settings::MINUTE {
            let minute = tailcut_base::quantity::exact_time(settings.minute);
            departures.push(format!("a minute is {minute}"));
        }
        if settings.shrink > 1 {
            departures.push(format!("of {} samples of a series one is taken", settings.shrink));
        }
        if settings.rounds < Settings::ROUNDS {
            departures.push(format!("{} rounds at the most", settings.rounds));
        }
        if settings.capacity < self.platform.capacity {
            let used = tailcut_base::quantity::show_bytes(settings.capacity as f64);
            departures.push(format!("only {used} of the drive are used"));
        }
        (!departures.is_empty()).then(|| format!("NOT A CONFORMING RUN: {}", departures.join(", ")))
    }

    /// How it came to its end.
    ///
    /// # Errors
    /// The failure of the last test, or that the user stopped it.
    pub fn ended(&self) -> Result<(), Failure> {
        match self.tests.last().and_then(|tested| tested.end) {
            Some(End::Failed(why)) => Err(Failure::Operation(format!(
                "pts: {}: {why}; what was measured before is shown",
                self.platform.name
            ))),
            Some(End::Stopped) => Err(Failure::Interrupted),
            Some(End::Complete) | None => Ok(()),
        }
    }

    /// The results of a test, beside those of the other file.
    pub fn rows(&self, tested: &Tested) -> Vec<Row> {
        let rows = rows::rows(&tested.procedure);
        let beside = |row: Row| match &self.other {
            Some(other) => {
                let figure = other.figure(tested.procedure.test, &row);
                row.paper(figure)
            }
            None => row,
        };
        rows.into_iter().map(beside).collect()
    }
}

/// Tests a drive and prints the report to `out`.
///
/// # Errors
/// A drive or a reference file that cannot be read, a test that fails, results that cannot be written, or
/// [`Failure::Interrupted`]. The tests that ended before are printed.
pub fn pts(arguments: &PtsArguments, out: &mut dyn Write) -> Result<(), Failure> {
    let other = arguments.against.as_deref().map(ReferenceResults::read).transpose()?;
    let interrupt = Interrupt::listen()
        .map_err(|error| Failure::Operation(format!("cannot listen for Ctrl-C: {error}")))?;
    let watcher = Watcher::new(interrupt, arguments.quiet);
    let mut keeper = Keeper { arguments, kept: Instant::now() };
    let mut told = |report: &mut Report, procedure: &Procedure| keeper.keep(report, procedure);
    let report = measure(arguments, other, &watcher, &mut told)?;
    drop(watcher);
    print_report(&report, arguments, out)?;
    report.ended()
}

/// Carries the tests out one after another, up to the first that does not come to its end. After each step
/// `told` receives the running test, which is in the report in its initial state.
///
/// # Errors
/// A drive that cannot be tested. A test that fails is in the report: see [`Report::ended`].
pub fn measure(
    arguments: &PtsArguments,
    other: Option<ReferenceResults>,
    watcher: &Watcher,
    told: &mut dyn FnMut(&mut Report, &Procedure),
) -> Result<Report, Failure> {
    let mut subject = Subject::open(arguments, watcher)?;
    let settings = arguments.settings(subject.platform.capacity);
    let platform = subject.platform.clone();
    let mut report = Report { platform, settings, seed: arguments.seed, tests: Vec::new(), other };
    for test in arguments.tests() {
        carry_out(test, &mut subject, &mut report, watcher, told);
        if report.tests.last().is_some_and(|tested| tested.end != Some(End::Complete)) {
            break;
        }
    }
    report.platform.notes = subject.notes();
    Ok(report)
}

/// The tests as they would be carried out, not yet begun.
///
/// # Errors
/// A drive that cannot be tested.
pub fn procedures(arguments: &PtsArguments) -> Result<Vec<Procedure>, Failure> {
    let watcher = Watcher::new(Interrupt::default(), true);
    let settings = arguments.settings(Subject::open(arguments, &watcher)?.platform.capacity);
    Ok(arguments.tests().into_iter().map(|test| Procedure::new(test, settings)).collect())
}

/// Carries one test out; the report has it from its first step on.
fn carry_out(
    test: Test,
    subject: &mut Subject,
    report: &mut Report,
    watcher: &Watcher,
    told: &mut dyn FnMut(&mut Report, &Procedure),
) {
    let procedure = Procedure::new(test, report.settings);
    watcher.begins_test(&procedure);
    let mut running = procedure.clone();
    report.tests.push(Tested { procedure, end: None, purged: None });
    let end = subject.carry_out(&mut running, |procedure| {
        watcher.show(procedure);
        told(report, procedure);
    });
    let purged = subject.purged();
    let tested = report.tests.last_mut().expect("it was just put there");
    *tested = Tested { procedure: running, end: Some(end), purged };
}

/// Saves results while they arrive.
struct Keeper<'a> {
    arguments: &'a PtsArguments,
    kept: Instant,
}

/// How often results are kept.
const KEEP_EVERY: Duration = Duration::from_secs(10);

impl Keeper<'_> {
    /// Writes what there is to the JSON file, if it is time to.
    fn keep(&mut self, report: &mut Report, procedure: &Procedure) {
        let Some(file) = self.arguments.json.as_deref().filter(|file| !is_stdout(file)) else { return };
        if self.kept.elapsed() < KEEP_EVERY {
            return;
        }
        report.tests.last_mut().expect("it goes on").procedure = procedure.clone();
        // A full or missing folder is reported at the end; until then it may become writable again.
        let _ = write_json(&form::to_json(report), file, &mut std::io::sink());
        self.kept = Instant::now();
    }
}

fn print_report(report: &Report, arguments: &PtsArguments, out: &mut dyn Write) -> Result<(), Failure> {
    if !arguments.json.as_deref().is_some_and(is_stdout) {
        out.write_all(page::page(report, ColorMode::of_stdout()).as_bytes())?;
        out.flush()?;
    }
    if let Some(file) = &arguments.csv {
        output::write_file(file, csv::text(report).as_bytes())?;
    }
    match &arguments.json {
        Some(file) => write_json(&form::to_json(report), file, out),
        None => Ok(()),
    }
}
