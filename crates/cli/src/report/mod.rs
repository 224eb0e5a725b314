//! `tailcut report`: HTML pages and pictures from saved results.

pub mod arguments;
mod claims;
mod pictures;

pub use arguments::ReportArguments;

use crate::compare::{self, Results, command::RESULTS};
use crate::failure::Failure;
use crate::html::{self, Page};
use crate::output;
use crate::run::{self, REPORT, Saved, Scenario};
use crate::scenario::{self, Source};
use crate::serve::history_page;
use crate::study::Entry;
use crate::study::html::page as study_page;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use tailcut_study::Table;

/// Writes the page, or pictures of its charts, and prints the paths.
///
/// # Errors
/// The path has no results of a run, comparison or study, or the page cannot be written.
pub fn report(arguments: &ReportArguments, out: &mut dyn Write) -> Result<(), Failure> {
    if let Some(option) = arguments.misplaced() {
        let why = format!("{option} is for --svg and --png, and has no effect without them: leave it out");
        return Err(Failure::Input(why));
    }
    if let Some(file) = &arguments.markdown {
        output::write_file(file, claims::markdown(&studies(&arguments.path)?).as_bytes())?;
        writeln!(out, "{}", file.display())?;
        return Ok(out.flush()?);
    }
    let source = source(&arguments.path)?;
    let page = page(&source)?;
    if arguments.wants_pictures() {
        pictures::write(arguments, &page, out)?;
        if arguments.html.is_none() {
            return Ok(());
        }
    }
    let file = arguments.html.clone().unwrap_or_else(|| beside(&arguments.path));
    html::write(&file, &page, Some(&source))?;
    writeln!(out, "{}", file.display())?;
    Ok(out.flush()?)
}

/// The file with the data.
fn source(path: &Path) -> Result<PathBuf, Failure> {
    if !path.is_dir() {
        return Ok(path.to_owned());
    }
    let known = [REPORT, RESULTS].map(|name| path.join(name));
    known.into_iter().find(|file| file.is_file()).ok_or_else(|| {
        Failure::Input(format!(
            "{}: there is neither {REPORT} of 'tailcut run' nor {RESULTS} of 'tailcut compare' in it",
            path.display()
        ))
    })
}

/// The default path of the page.
fn beside(path: &Path) -> PathBuf {
    if path.is_dir() { path.join("report.html") } else { path.with_extension("html") }
}

fn page(source: &Path) -> Result<Page, Failure> {
    let text = fs::read_to_string(source).map_err(|error| {
        Failure::Input(format!("{}: {error}; give a folder or a JSON file of results", source.display()))
    })?;
    if history_page::is_history(&text) {
        return history_page::page(&text, source);
    }
    let value: Value = serde_json::from_str(&text)
        .map_err(|error| Failure::Input(format!("{}: not JSON: {error}", source.display())))?;
    let has = |key: &str| value.get(key).is_some();
    match &value {
        Value::Array(_) => Ok(study_page(&read::<Vec<Table>>(&text, source)?)),
        _ if has("studies") => Ok(study_page(&read::<Studies>(&text, source)?.studies)),
        _ if has("study") => Ok(study_page(&[read::<Table>(&text, source)?])),
        _ if has("digest") && value["kinds"].as_array().is_some_and(|kinds| !kinds.is_empty()) => {
            of_run(&read(&text, source)?, source)
        }
        _ if has("points") && has("factors") => Ok(compare::html::page(&read::<Results>(&text, source)?)),
        _ => Err(Failure::Input(format!(
            "{}: neither a run, nor studies, nor a comparison, nor the history of a server",
            source.display()
        ))),
    }
}

/// The list that `tailcut study run` writes.
#[derive(Deserialize)]
struct Studies {
    studies: Vec<Table>,
}

/// The studies of a folder of files of `tailcut study run --json`, in the order of their list, or of one
/// file.
fn studies(path: &Path) -> Result<Vec<Table>, Failure> {
    if !path.is_dir() {
        return studies_of(path);
    }
    let wrong = |error: std::io::Error| Failure::Input(format!("{}: {error}", path.display()));
    let entries: Result<Vec<_>, _> = fs::read_dir(path).map_err(wrong)?.collect();
    let mut all = Vec::new();
    for file in entries.map_err(wrong)?.iter().map(fs::DirEntry::path) {
        if file.extension().is_some_and(|extension| extension == "json") {
            all.extend(studies_of(&file)?);
        }
    }
    all.sort_by_key(|study| Entry::all().iter().position(|entry| entry.id() == study.study));
    Ok(all)
}

/// The studies of a file: one, or a list.
fn studies_of(source: &Path) -> Result<Vec<Table>, Failure> {
    let text = fs::read_to_string(source).map_err(|error| {
        Failure::Input(format!("{}: {error}; give a JSON file of studies", source.display()))
    })?;
    // One study, or the data of a page of several.
    let one = serde_json::from_str::<Table>(&text).map(|study| vec![study]);
    let known = one.or_else(|_| serde_json::from_str::<Vec<Table>>(&text));
    known.or_else(|_| read::<Studies>(&text, source).map(|list| list.studies))
}

/// From the text and not from the value: that would round large whole numbers.
fn read<T: DeserializeOwned>(text: &str, source: &Path) -> Result<T, Failure> {
    serde_json::from_str(text)
        .map_err(|error| Failure::Input(format!("{}: not of this version: {error}", source.display())))
}

fn of_run(saved: &Saved, source: &Path) -> Result<Page, Failure> {
    let mut scenario = Scenario::default();
    let text = Source::file(source.display().to_string(), saved.scenario.clone());
    scenario::read(&mut scenario, Some(text), &[])?;
    Ok(run::html::page(saved, &scenario))
}
