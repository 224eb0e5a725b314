//! A search that was stopped, in a file beside its result.

use crate::failure::Failure;
use crate::output;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};
use tailcut_study::drives::fit::{Problem, Record};
use xxhash_rust::xxh3::xxh3_128;

/// The file of a search, and what it is a search for.
pub(super) struct State {
    path: PathBuf,
    digest: String,
}

#[derive(Serialize, Deserialize)]
struct Content {
    /// Of everything that decides which candidates a search evaluates, and their costs.
    digest: String,
    record: Record,
}

impl State {
    /// The file of the search whose result goes to `output`.
    pub(super) fn new(output: &Path, problem: &Problem, seed: u64) -> State {
        let mut name = output.file_name().unwrap_or_default().to_os_string();
        name.push(".state.json");
        let whole = format!("{} {seed} {problem:?}", env!("CARGO_PKG_VERSION"));
        State { path: output.with_file_name(name), digest: format!("{:032x}", xxh3_128(whole.as_bytes())) }
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// What a search of the same problem has left; `None` where there is no file.
    ///
    /// # Errors
    /// A file of another search: it is left alone.
    pub(super) fn load(&self) -> Result<Option<Record>, Failure> {
        let Ok(text) = fs::read_to_string(&self.path) else { return Ok(None) };
        match serde_json::from_str::<Content>(&text) {
            Ok(content) if content.digest == self.digest => Ok(Some(content.record)),
            _ => Err(Failure::Input(format!(
                "{} is of a search with other rows, options or another version; remove it to begin anew, or \
                 name another --output",
                self.path.display()
            ))),
        }
    }

    /// Keeps what the search has learnt.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub(super) fn save(&self, record: &Record) -> Result<(), Failure> {
        let content = Content { digest: self.digest.clone(), record: record.clone() };
        let text = serde_json::to_string(&content).expect("plain data");
        Ok(output::write_file(&self.path, text.as_bytes())?)
    }

    /// Removes the file: the result is written.
    pub(super) fn remove(&self) {
        // A file that stays is refused or resumed by the next search; neither is wrong.
        let _ = fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailcut_ssd::Preset;
    use tailcut_study::drives::TestRun;

    #[test]
    fn a_record_is_of_one_problem_and_seed() {
        let folder = tempfile::tempdir().expect("a folder");
        let output = folder.path().join("drive.toml");
        let problem = Problem {
            base: Preset::G.config(),
            parameters: Vec::new(),
            rows: Vec::new(),
            test: TestRun::default(),
        };
        let state = State::new(&output, &problem, 1);
        assert_eq!(state.load().expect("no file"), None);
        state.save(&Record::default()).expect("it can be written");
        assert_eq!(state.load().expect("its own file"), Some(Record::default()));
        let Err(Failure::Input(message)) = State::new(&output, &problem, 2).load() else { panic!("refused") };
        assert!(message.contains("drive.toml.state.json is of a search with other rows"), "{message}");
        state.remove();
        assert_eq!(state.load().expect("no file"), None);
    }
}
