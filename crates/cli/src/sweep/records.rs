//! The file of finished runs: a line for each, appended as soon as it is finished.

use super::outcome::RunResult;
use crate::failure::Failure;
use crate::failure::OutputError;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// The name of the file in its folder.
pub const FILE: &str = "points.jsonl";

/// The version that is written into each line.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Finished runs by the digests of [`Point`](super::Point)s, in memory or also in a file.
#[derive(Debug, Default)]
pub struct Records {
    /// The lines as they are written: a report takes several times as much once it is parsed.
    known: HashMap<String, Box<str>>,
    file: Option<(PathBuf, File)>,
}

/// A line of the file.
#[derive(Serialize, Deserialize)]
struct Line {
    digest: String,
    version: String,
    #[serde(flatten)]
    ended: RunResult,
}

impl Records {
    /// The records of a folder, which is made if it is missing. Only those that are `wanted` are
    /// kept in memory: the file may be of many comparisons. A line that is not whole was torn by a power
    /// cut or a kill; it is left out, and its run is done again.
    ///
    /// # Errors
    /// A folder or file that cannot be read or written.
    pub fn open(folder: &Path, wanted: impl Fn(&str) -> bool) -> Result<Records, OutputError> {
        let path = folder.join(FILE);
        let refused = |cause| OutputError { path: path.clone(), cause };
        fs::create_dir_all(folder).map_err(|cause| OutputError { path: folder.to_owned(), cause })?;
        let mut options = File::options();
        let mut file = options.create(true).read(true).append(true).open(&path).map_err(refused)?;
        let known = read(&file, &wanted).map_err(refused)?;
        mend(&mut file).map_err(refused)?;
        Ok(Records { known, file: Some((path, file)) })
    }

    /// Whether the run with this digest is recorded, as a success or a failure.
    pub fn has(&self, digest: &str) -> bool {
        self.known.contains_key(digest)
    }

    /// How the run of that digest ended, if it is finished. It is read from its line, even in the process
    /// that wrote it.
    #[expect(clippy::missing_panics_doc, reason = "only lines that could be read are kept")]
    pub fn get(&self, digest: &str) -> Option<RunResult> {
        let line: Line = serde_json::from_str(self.known.get(digest)?).expect("only whole lines are kept");
        Some(line.ended)
    }

    /// Keeps the end of a run. When this returns, killing the process does not lose it.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn keep(&mut self, digest: &str, ended: RunResult) -> Result<(), OutputError> {
        self.append(digest.to_owned(), line(digest, ended))
    }

    /// Keeps a line that [`Job::run`](super::Job::run) has made, perhaps on another machine. When this
    /// returns, killing the process does not lose it.
    ///
    /// # Errors
    /// A text that is no such line, or one of another version; a file that cannot be written.
    pub fn keep_line(&mut self, text: &str) -> Result<(), Failure> {
        let refuse = |why: String| Failure::Input(format!("this is no finished run: {why}"));
        let line: Line = serde_json::from_str(text).map_err(|error| refuse(error.to_string()))?;
        if line.version != VERSION {
            return Err(refuse(format!("it is of version {}, and this is {VERSION}", line.version)));
        }
        Ok(self.append(line.digest, format!("{}\n", text.trim_end()))?)
    }

    fn append(&mut self, digest: String, text: String) -> Result<(), OutputError> {
        if let Some((path, file)) = &mut self.file {
            // One write: several processes may share a folder.
            file.write_all(text.as_bytes()).map_err(|cause| OutputError { path: path.clone(), cause })?;
        }
        self.known.insert(digest, text.into());
        Ok(())
    }
}

/// The line of a run that has ended, with its line end.
pub(super) fn line(digest: &str, ended: RunResult) -> String {
    let line = Line { digest: digest.to_owned(), version: VERSION.to_owned(), ended };
    serde_json::to_string(&line).expect("records are plain data") + "\n"
}

fn read(file: &File, wanted: &dyn Fn(&str) -> bool) -> io::Result<HashMap<String, Box<str>>> {
    let mut known = HashMap::new();
    let mut reader = BufReader::new(file);
    let mut bytes = Vec::new();
    loop {
        bytes.clear();
        if reader.read_until(b'\n', &mut bytes)? == 0 {
            return Ok(known);
        }
        let Ok(text) = std::str::from_utf8(&bytes) else { continue };
        match serde_json::from_str::<Line>(text) {
            Ok(line) if wanted(&line.digest) => {
                known.insert(line.digest, text.into());
            }
            _ => {}
        }
    }
}

/// Ends a torn last line, so that the next record begins on a line of its own.
fn mend(file: &mut File) -> io::Result<()> {
    if file.seek(SeekFrom::End(0))? == 0 {
        return Ok(());
    }
    file.seek(SeekFrom::End(-1))?;
    let mut last = [0];
    file.read_exact(&mut last)?;
    if last == *b"\n" { Ok(()) } else { file.write_all(b"\n") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sweep::Outcome;
    use serde_json::json;

    fn ended(value: f64) -> RunResult {
        RunResult::Outcome(Box::new(Outcome::bare(json!({ "value": value }))))
    }

    #[test]
    fn a_record_outlives_a_file_torn_at_every_byte() {
        let folder = tempfile::TempDir::new().expect("a folder");
        let path = folder.path().join(FILE);
        let mut records = Records::open(folder.path(), |_| true).expect("a new file");
        records.keep("a", ended(0.1)).expect("it is written");
        let first = fs::read(&path).expect("it is there").len();
        records.keep("b", RunResult::Failed("stuck".into())).expect("it is written");
        let whole = fs::read(&path).expect("it is there");
        for torn in 0..=whole.len() {
            fs::write(&path, &whole[..torn]).expect("the folder is writable");
            let mut records = Records::open(folder.path(), |_| true).expect("a torn file is a file");
            // A record is complete without its line end.
            assert_eq!(records.get("a").is_some(), torn >= first - 1, "{torn} bytes");
            assert_eq!(records.get("b").is_some(), torn >= whole.len() - 1, "{torn} bytes");
            records.keep("c", ended(3.0)).expect("it is written");
            let records = Records::open(folder.path(), |_| true).expect("it was mended");
            assert_eq!(records.get("a").is_some(), torn >= first - 1, "{torn} bytes");
            assert_eq!(records.get("c"), Some(ended(3.0)), "{torn} bytes");
        }
    }

    #[test]
    fn only_what_is_wanted_is_kept_in_memory() {
        let folder = tempfile::TempDir::new().expect("a folder");
        let mut records = Records::open(folder.path(), |_| true).expect("a new file");
        records.keep("a", ended(1.0)).expect("it is written");
        records.keep("b", ended(2.0)).expect("it is written");
        let records = Records::open(folder.path(), |digest| digest == "b").expect("there it is");
        assert!(records.get("a").is_none() && records.get("b").is_some());
    }
}
