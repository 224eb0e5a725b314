//! `tailcut study`: tables and figures of papers, measured again, and drive tests.

pub mod arguments;
pub mod drive;
pub mod entry;
pub mod html;
pub mod page;
pub mod real_drives;
pub mod runner;
pub mod saved;

pub use entry::Entry;

use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::output::is_stdout;
use crate::pts::Watcher;
use crate::scenario::nearest::{closest, enumerate, nearest};
use crate::terminal::{ColorMode, Progress, window};
use arguments::{StudyCommand, StudyForm, StudyRun};
use runner::Runner;
use saved::Saved;
use serde_json::Value;
use std::io::Write;
use tailcut_study::claims::Summary;
use tailcut_study::{Options, Study, Table};

/// Does what the arguments ask and prints to `out`.
///
/// # Errors
/// An unknown study or case, options that it does not have, a failed run, results that cannot be written, or
/// [`Failure::Interrupted`].
pub fn study(command: &StudyCommand, out: &mut dyn Write) -> Result<(), Failure> {
    match command {
        StudyCommand::List { json } => list(*json, out),
        StudyCommand::Run(arguments) => run(arguments, out),
        StudyCommand::Show { id, case, form } => show(id, case.as_deref(), form, out),
    }
}

fn list(as_json: bool, out: &mut dyn Write) -> Result<(), Failure> {
    let all = Entry::all();
    if as_json {
        writeln!(out, "{:#}", all.into_iter().map(Entry::to_json).collect::<Value>())?;
    } else {
        out.write_all(page::list(&all, ColorMode::of_stdout()).as_bytes())?;
    }
    Ok(out.flush()?)
}

fn run(arguments: &StudyRun, out: &mut dyn Write) -> Result<(), Failure> {
    let chosen = if arguments.all { Entry::papers() } else { chosen(&arguments.ids)? };
    let is_list = arguments.all || chosen.len() > 1;
    check_options(&chosen, arguments)?;
    let options = options(&arguments.form)?;
    let interrupt = Interrupt::listen()
        .map_err(|error| Failure::Operation(format!("cannot listen for Ctrl-C: {error}")))?;
    let to_stdout = arguments.json.as_deref().is_some_and(is_stdout);
    let mut saved = Saved::new(arguments.json.as_deref(), is_list, arguments.resume, &options)?;
    let mut tables = Vec::new();
    let mut ended = Ok(());
    for entry in chosen {
        let (table, end) = match saved.take(entry.id()) {
            Some(table) => (Some(table), Ok(())),
            None => measure(entry, &options, arguments, &interrupt),
        };
        if let Some(table) = table {
            saved.note_incomplete(end.is_err().then(|| entry.id()));
            tables.push(table);
            if !to_stdout {
                print(entry, &tables, out)?;
                saved.write(&tables, out)?;
            }
        }
        ended = end;
        if ended.is_err() {
            break;
        }
    }
    let summary = Summary::of(&tables);
    if is_list && !to_stdout && !summary.papers().is_empty() {
        writeln!(out, "\n{}", page::summary(&summary).trim_end())?;
        out.flush()?;
    }
    if to_stdout || tables.is_empty() {
        saved.write(&tables, out)?;
    }
    if let Some(file) = arguments.html.as_deref().filter(|_| !tables.is_empty()) {
        crate::html::write(file, &html::page(&tables), None)?;
    }
    ended.and_then(|()| all_explained(&tables))
}

/// Refuses options of real-drives where other studies run, and a file for two results.
fn check_options(chosen: &[Entry], arguments: &StudyRun) -> Result<(), Failure> {
    let data = arguments.html.as_deref().map(crate::html::data_file);
    if let Some(file) = arguments.json.as_ref().filter(|file| data.as_ref() == Some(file)) {
        let file = file.display();
        return Err(Failure::Input(format!(
            "--json {file}: --html writes the data of its page there; name another file for one of them"
        )));
    }
    let is_alone = matches!(chosen, [Entry::RealDrives]);
    match arguments.real_drives.given().filter(|_| !is_alone) {
        Some(option) => Err(Failure::Input(format!(
            "{option} is an option of one study: leave it out, or run 'tailcut study run real-drives' alone"
        ))),
        None => Ok(()),
    }
}

/// The results of a study, and how it ended: a drive test that is stopped returns its results so far.
fn measure(
    entry: Entry,
    options: &Options,
    arguments: &StudyRun,
    interrupt: &Interrupt,
) -> (Option<Table>, Result<(), Failure>) {
    let measured = match entry {
        Entry::Paper(study) => {
            let pool = Runner::new(arguments.jobs.map(usize::from), arguments.quiet, interrupt);
            pool.measure(study, options)
                .map(|done| (Some(tailcut_study::table(study, options, &done)), Ok(())))
        }
        Entry::Drive(test) => {
            let watcher = Watcher::new(interrupt.clone(), arguments.quiet);
            test.measure(options, &watcher, &mut |_| {}).map(|carried| (carried.table, carried.ended))
        }
        Entry::RealDrives => {
            let mut progress = Progress::counting("runs", entry.id(), None, arguments.quiet);
            let mut report = |done, all| {
                progress.expect(Some(all));
                progress.count(done);
            };
            let (given, jobs) = (&arguments.real_drives, arguments.jobs.map(usize::from));
            let table = real_drives::measure(given, options, jobs, &|| interrupt.asked(), &mut report);
            table.map(|table| (Some(table), Ok(())))
        }
    };
    measured.unwrap_or_else(|failure| (None, Err(failure)))
}

/// Prints the last of the tables, behind a blank line where it is not the first.
fn print(entry: Entry, tables: &[Table], out: &mut dyn Write) -> Result<(), Failure> {
    let Some(table) = tables.last() else { return Ok(()) };
    let gap = if tables.len() > 1 { "\n" } else { "" };
    let text = page::table(entry, table, usize::from(window()), ColorMode::of_stdout());
    out.write_all(format!("{gap}{text}").as_bytes())?;
    Ok(out.flush()?)
}

/// Requires an explanation for every claim that does not hold: each is either a finding or a fault.
fn all_explained(tables: &[Table]) -> Result<(), Failure> {
    let row =
        |table: &Table, row: &tailcut_study::Row| format!("{}: {}, {}", table.study, row.case, row.quantity);
    let all = tables.iter().flat_map(|table| table.unexplained().into_iter().map(move |r| row(table, r)));
    let unexplained: Vec<String> = all.collect();
    if unexplained.is_empty() {
        return Ok(());
    }
    Err(Failure::Operation(format!(
        "these claims of papers fail, and no note explains it:\n  {}",
        unexplained.join("\n  ")
    )))
}

fn show(id: &str, case: Option<&str>, form: &StudyForm, out: &mut dyn Write) -> Result<(), Failure> {
    let entry = chosen(&[id.to_string()])?[0];
    let options = options(form)?;
    match (entry, case) {
        (Entry::Paper(study), _) => show_runs(study, case, &options, out),
        (Entry::Drive(test), Some(_)) => Err(test.no_case()),
        (Entry::RealDrives, Some(_)) => Err(Failure::Input(
            "real-drives has no run that is a scenario by itself: its clients are seven threads\n  \
             its points run alone with --points FILE"
                .into(),
        )),
        (Entry::RealDrives, None) => {
            writeln!(out, "{}", real_drives::cases(&Default::default(), &options)?.join("\n"))?;
            Ok(out.flush()?)
        }
        (Entry::Drive(test), None) => {
            writeln!(out, "{}", test.stages(&options)?.join("\n"))?;
            Ok(out.flush()?)
        }
    }
}

fn show_runs(
    study: &dyn Study,
    case: Option<&str>,
    options: &Options,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let mut runs = study.next(options, &[]);
    let Some(case) = case else {
        for run in &runs {
            writeln!(out, "{}", run.label)?;
        }
        if let Some(later) = study.later_runs() {
            writeln!(out, "{later}")?;
        }
        return Ok(out.flush()?);
    };
    if study.later_runs().is_some() && runs.iter().all(|run| run.label != case) {
        // Its load depends on what the other runs show.
        let interrupt = Interrupt::listen()
            .map_err(|error| Failure::Operation(format!("cannot listen for Ctrl-C: {error}")))?;
        runs.clear();
        Runner::new(None, false, &interrupt).measure_until(study, options, &mut |batch| {
            runs.extend_from_slice(batch);
            batch.iter().any(|run| run.label == case)
        })?;
    }
    let labels: Vec<&str> = runs.iter().map(|run| run.label.as_str()).collect();
    let Some(run) = runs.iter().find(|run| run.label == case) else {
        let guess = nearest(case, labels.iter().copied());
        let guess = guess.map_or(String::new(), |label| format!("; did you mean '{label}'?"));
        let all = enumerate(&labels);
        return Err(Failure::Input(format!("{} has no run '{case}'{guess}\n  its runs: {all}", study.id())));
    };
    let mut scenario = run.scenario.clone();
    out.write_all(crate::run::to_be_read_again(&mut scenario).as_bytes())?;
    Ok(out.flush()?)
}

/// The studies of these names, each once, in the order given.
///
/// # Errors
/// All names that are wrong at once.
pub fn chosen(ids: &[String]) -> Result<Vec<Entry>, Failure> {
    let (mut found, mut unknown): (Vec<Entry>, Vec<String>) = (Vec::new(), Vec::new());
    let all = Entry::all();
    for id in ids {
        match all.iter().find(|entry| entry.id() == id) {
            Some(&entry) if found.iter().all(|other| other.id() != entry.id()) => found.push(entry),
            Some(_) => {}
            None => unknown.push(no_study(id, &all)),
        }
    }
    if ids.is_empty() {
        unknown.push(String::from("name the studies to run, or run all of the papers' with --all"));
    }
    if unknown.is_empty() {
        return Ok(found);
    }
    Err(Failure::Input(format!("{}\n  all studies: tailcut study list", unknown.join("\n"))))
}

/// The message about a name that no study has, with the names that may have been meant.
fn no_study(id: &str, all: &[Entry]) -> String {
    let mut close = closest(id, all.iter().map(|entry| entry.id()));
    close.truncate(SUGGESTED);
    let names: Vec<String> = close.iter().map(|name| format!("'{name}'")).collect();
    let guess = match names.split_last() {
        None => String::new(),
        Some((last, [])) => format!("; did you mean {last}?"),
        Some((last, others)) => format!("; did you mean {} or {last}?", others.join(", ")),
    };
    format!("there is no study '{id}'{guess}")
}

/// Names that a message suggests at most.
const SUGGESTED: usize = 4;

/// The study options of the command line.
///
/// # Errors
/// A folder of traces that is none.
pub fn options(form: &StudyForm) -> Result<Options, Failure> {
    match &form.traces {
        Some(folder) if !folder.is_dir() => Err(Failure::Input(format!(
            "--traces {}: there is no such folder; name the one that holds the traces",
            folder.display()
        ))),
        traces => Ok(Options { quick: form.quick, seed: form.seed, traces: traces.clone() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailcut_study::Row;

    #[test]
    fn a_row_that_is_off_without_a_note_is_a_failure() {
        let row = |case: &str, measured: f64| Row::new(case, "bandwidth", "B/s", measured).paper(1e9);
        let rows = vec![row("8 chips", 1.1e9), row("16 chips", 2e9).note("wider"), row("32 chips", 3e9)];
        let failure = all_explained(&[Table::new("t-1", 1, true, rows.clone())]);
        let Err(Failure::Operation(message)) = failure else { panic!("a failure") };
        assert!(message.ends_with("t-1: 32 chips, bandwidth") && !message.contains("16 chips"), "{message}");
        assert!(all_explained(&[Table::new("t-1", 1, true, rows[..2].to_vec())]).is_ok());
    }
}
