//! The JSON of `tailcut study run`: one study, or a list, which is written to its file after each study and
//! continued by `--resume`.

use crate::failure::Failure;
use crate::output::{is_stdout, write_json};
use crate::sweep::point::digest_of;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::{env, fs};
use tailcut_study::claims::Summary;
use tailcut_study::{Options, Table};

/// The studies of a run, and those of the run that it continues.
#[derive(Debug)]
pub struct Saved<'a> {
    file: Option<&'a Path>,
    /// Of a list of studies.
    origin: Option<Origin>,
    /// Complete studies of the run that is continued.
    complete: Vec<Table>,
    /// A study that was stopped: its table is not complete.
    incomplete: Option<&'static str>,
}

/// What decides all figures, besides the scenarios of the studies.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Origin {
    /// Digest of the program file: it changes with the model.
    program: String,
    /// Seed of all runs.
    seed: u64,
    /// Whether the studies were run in their short form.
    quick: bool,
    /// Folder of recorded traces.
    traces: Option<PathBuf>,
}

/// The part of the file that `--resume` reads.
#[derive(Debug, Deserialize)]
struct Resumed {
    origin: Origin,
    #[serde(default)]
    incomplete: Option<String>,
    studies: Vec<Table>,
}

impl Saved<'_> {
    /// The studies of a run that writes to `file`; `is_list` if there may be several. With `resumes`, those
    /// that the file holds are known.
    ///
    /// # Errors
    /// If a run cannot be continued: one study, standard output, or a file that cannot be read, is no list of
    /// studies, or was made by another program or with other options.
    pub fn new<'a>(
        file: Option<&'a Path>,
        is_list: bool,
        resumes: bool,
        options: &Options,
    ) -> Result<Saved<'a>, Failure> {
        let mut saved = Saved { file, origin: None, complete: Vec::new(), incomplete: None };
        let Some(file) = file.filter(|_| is_list || resumes) else { return Ok(saved) };
        let origin = Origin::new(options)?;
        if resumes {
            if !is_list || is_stdout(file) {
                return Err(Failure::Input(RESUMES.into()));
            }
            saved.complete = complete(file, &origin)?;
        }
        saved.origin = Some(origin);
        Ok(saved)
    }

    /// The complete study of that name, if the continued run has it.
    pub fn take(&mut self, id: &str) -> Option<Table> {
        let at = self.complete.iter().position(|table| table.study == id)?;
        Some(self.complete.swap_remove(at))
    }

    /// Records whether the last study was stopped, and which it is.
    pub fn note_incomplete(&mut self, id: Option<&'static str>) {
        self.incomplete = id;
    }

    /// Writes the studies so far, and those of the continued run that are still to come; a list with what all
    /// claims come to.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn write(&self, tables: &[Table], out: &mut dyn Write) -> Result<(), Failure> {
        let Some(file) = self.file else { return Ok(()) };
        let Some(origin) = &self.origin else {
            return tables.first().map_or(Ok(()), |one| write_json(&json!(one), file, out));
        };
        let tables: Vec<Table> = tables.iter().chain(&self.complete).cloned().collect();
        let mut all = json!({ "claims": Summary::of(&tables), "origin": origin, "studies": tables });
        if let Some(id) = self.incomplete {
            all["incomplete"] = id.into();
        }
        write_json(&all, file, out)
    }
}

impl Origin {
    /// This program with these options.
    fn new(options: &Options) -> Result<Origin, Failure> {
        let program = env::current_exe().and_then(|file| digest_of(&file));
        let program = program.map_err(|error| {
            Failure::Operation(format!(
                "cannot read the program file, whose digest --resume compares: {error}"
            ))
        })?;
        let Options { quick, seed, traces } = options.clone();
        Ok(Origin { program, seed, quick, traces })
    }

    fn difference(&self, now: &Origin) -> &'static str {
        match self {
            _ if self.program != now.program => "another build of the program has made it",
            _ if self.seed != now.seed => "it was made with another --seed",
            _ if self.quick != now.quick => "it has the other form of the studies (--quick)",
            _ => "it was made with other --traces",
        }
    }
}

/// The complete studies in `file`; none if there is no such file.
fn complete(file: &Path, origin: &Origin) -> Result<Vec<Table>, Failure> {
    let refused = |why: String| {
        Failure::Input(format!(
            "--resume: {}: {why}\n  name another file, or leave out --resume to replace this one",
            file.display()
        ))
    };
    let text = match fs::read_to_string(file) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        text => text.map_err(|error| refused(error.to_string()))?,
    };
    let resumed: Resumed = serde_json::from_str(&text)
        .map_err(|error| refused(format!("not a list of studies with their origin: {error}")))?;
    if resumed.origin != *origin {
        return Err(refused(resumed.origin.difference(origin).into()));
    }
    let is_complete = |table: &Table| Some(&table.study) != resumed.incomplete.as_ref();
    Ok(resumed.studies.into_iter().filter(is_complete).collect())
}

const RESUMES: &str = "--resume continues a run of several studies from the file of --json: name a file, and \
    several studies or --all";

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;
    use tailcut_study::Row;

    fn table(study: &str) -> Table {
        // Reading it without care changes its last digit.
        let gain = 0.000_198_614_609_439_769_54;
        let row = Row::new("a", "gain", "x", gain).paper(2.0).note("another bus");
        Table::new(study, 1, true, vec![row, Row::new("b", "gain", "x", 2.0).paper(2.0)])
    }

    fn message(failure: Failure) -> String {
        let Failure::Input(message) = failure else { panic!("{failure:?}") };
        message
    }

    fn quick() -> Options {
        Options { quick: true, ..Options::default() }
    }

    fn printed(is_list: bool, tables: &[Table]) -> Value {
        let mut out = Vec::new();
        let saved = Saved::new(Some(Path::new("-")), is_list, false, &quick()).expect("standard output");
        saved.write(tables, &mut out).expect("it is written");
        serde_json::from_slice(&out).expect("JSON")
    }

    #[test]
    fn several_studies_are_a_list_with_the_number_of_claims_that_hold() {
        assert_eq!(printed(false, &[table("swan-0")])["study"], "swan-0");
        let list = printed(true, &[table("swan-0")]);
        assert_eq!(list["studies"][0]["study"], "swan-0");
        assert_eq!(list["claims"]["papers"][0], json!({ "paper": "SWAN", "hold": 1, "counted": 2 }));
        assert_eq!(list["claims"]["all"], json!({ "hold": 1, "counted": 2 }));
        assert_eq!(printed(true, &[])["claims"], json!({ "papers": [], "all": { "hold": 0, "counted": 0 } }));
    }

    #[test]
    fn a_run_continues_with_the_studies_that_are_complete() {
        let folder = tempfile::TempDir::new().expect("a folder");
        let file = folder.path().join("studies.json");
        let resume = || Saved::new(Some(&file), true, true, &quick()).expect("its own file");
        assert_eq!(resume().take("swan-1"), None, "there is no file yet");
        let tables = [table("swan-1"), table("swan-4"), table("pts-lat")];
        let mut first = resume();
        first.note_incomplete(Some("pts-lat"));
        first.write(&tables, &mut Vec::new()).expect("it is written");
        let mut second = resume();
        assert_eq!(second.take("swan-4"), Some(table("swan-4")));
        assert_eq!(second.take("pts-lat"), None, "it was stopped");
        // Stopped again: what was not asked for yet is kept.
        second.write(&[table("swan-4")], &mut Vec::new()).expect("it is written");
        assert_eq!(resume().take("swan-1"), Some(table("swan-1")));
        assert_eq!(resume().take("swan-4"), Some(table("swan-4")));
    }

    #[test]
    fn a_run_that_was_another_one_is_not_continued() {
        let folder = tempfile::TempDir::new().expect("a folder");
        let file = folder.path().join("studies.json");
        let first = Saved::new(Some(&file), true, true, &quick()).expect("its own file");
        first.write(&[table("swan-1")], &mut Vec::new()).expect("it is written");
        let refusal = |options: Options| {
            message(Saved::new(Some(&file), true, true, &options).expect_err("another run"))
        };
        assert!(refusal(Options { seed: 2, ..quick() }).contains("another --seed"));
        assert!(refusal(Options::default()).contains("(--quick)"));
        assert!(refusal(Options { traces: Some("t".into()), ..quick() }).contains("other --traces"));
        let text = fs::read_to_string(&file).expect("it is there");
        fs::write(&file, text.replace("xxh3 ", "xxh3 1")).expect("it is written");
        assert!(refusal(quick()).contains("another build"));
        fs::write(&file, "[]").expect("it is written");
        assert!(refusal(quick()).contains("not a list of studies"));
        let alone = Saved::new(Some(&file), false, true, &quick()).expect_err("one study");
        assert_eq!(message(alone), RESUMES);
    }
}
