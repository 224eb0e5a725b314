//! The history of a server: its metrics page, sampled periodically into one file.
//!
//! The file has a line that describes the metrics and a line for each sample, as JSON. Its size is bounded:
//! when it has [`MOST`] samples, every second one is deleted, and from then on they are twice as far apart,
//! so that it always covers the whole time.

use crate::failure::Failure;
use crate::failure::OutputError;
use crate::output;
use crate::terminal::ColorMode;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Moments in a file at the most.
pub const MOST: usize = 1024;
/// How far apart they are at first.
const FIRST_EVERY: Duration = Duration::from_secs(1);

/// The first line of a history.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// The kind of the file: always [`Head::KIND`].
    pub tailcut: String,
    /// Version of tailcut that wrote the history.
    pub version: String,
    /// What is served, in words: exports of a block server, or a store.
    pub what: String,
    /// Seconds between two moments of the history.
    pub every_s: u64,
    /// The metrics by name: their kind in the words of Prometheus, and what they mean.
    pub metrics: BTreeMap<String, (String, String)>,
}

impl Head {
    /// The kind of document that a history declares itself to be.
    pub const KIND: &str = "history";
}

/// A line of a history but the first: the metrics at one moment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Moment {
    /// When the metrics were read, in seconds of Unix time.
    pub at: f64,
    /// The metrics that are not zero, by name with labels.
    pub values: BTreeMap<String, f64>,
}

/// A history that is being written.
#[derive(Debug)]
pub struct History {
    file: PathBuf,
    /// Where the server is asked.
    control: PathBuf,
    head: Head,
    moments: usize,
    due: Instant,
}

impl History {
    /// A new history in `file` of the server at this control socket. An older history of this name is
    /// replaced.
    ///
    /// # Errors
    /// When the file is something else, or cannot be written.
    pub fn begin(file: &Path, control: &Path, what: &str) -> Result<History, Failure> {
        let is_other = |text: String| !text.is_empty() && !super::history_page::is_history(&text);
        if fs::read_to_string(file).map_or_else(|_| file.exists(), is_other) {
            let file = file.display();
            return Err(Failure::Input(format!("--history {file}: it is no history; name another file")));
        }
        let head = Head {
            tailcut: Head::KIND.into(),
            version: env!("CARGO_PKG_VERSION").into(),
            what: what.into(),
            every_s: FIRST_EVERY.as_secs(),
            metrics: BTreeMap::new(),
        };
        let mut history =
            History { file: file.into(), control: control.into(), head, moments: 0, due: Instant::now() };
        history.rewrite(&[]).map_err(|failure| {
            let file = file.display();
            Failure::Input(format!("--history {file}: {}; name another file", failure.cause))
        })?;
        Ok(history)
    }

    /// Adds a moment, if it is time.
    ///
    /// # Errors
    /// When the server does not answer, or the file cannot be written.
    pub fn resume(&mut self) -> Result<(), Failure> {
        let now = Instant::now();
        if now < self.due {
            return Ok(());
        }
        self.due = now + Duration::from_secs(self.head.every_s);
        let page = tailcut_rt::ctl::ask(&self.control, "metrics").map_err(|why| {
            Failure::Operation(format!("--history: {} does not answer: {why}", self.control.display()))
        })?;
        let at = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64());
        self.add(&page, (at * 1e3).round() / 1e3)
    }

    /// As [`History::resume`], for one that may not be there. A history that fails ends with a message on
    /// standard error: the server keeps serving.
    pub fn go_on_or_end(history: &mut Option<History>) {
        if let Some(Err(why)) = history.as_mut().map(History::resume) {
            let (line, plain) = (why.render(ColorMode::of_stderr()), why.render(ColorMode::Plain));
            let message = plain.trim_start_matches("error: ").trim_end();
            tracing::error!(event = "history_failed", line = line.trim_end(), "{message}");
            *history = None;
        }
    }

    /// Adds a last moment, whenever the one before was.
    pub fn end(mut history: Option<History>) {
        if let Some(history) = &mut history {
            history.due = Instant::now();
        }
        History::go_on_or_end(&mut history);
    }

    /// Adds the samples of a metrics page.
    fn add(&mut self, page: &str, at: f64) -> Result<(), Failure> {
        let (metrics, values) = read_page(page);
        if self.moments + 1 > MOST {
            self.thin()?;
        }
        if metrics.keys().any(|name| !self.head.metrics.contains_key(name)) {
            self.head.metrics.extend(metrics);
            let lines = self.lines()?;
            self.rewrite(&lines)?;
        }
        let line = serde_json::to_string(&Moment { at, values }).expect("plain data");
        let append =
            || OpenOptions::new().append(true).open(&self.file)?.write_all(format!("{line}\n").as_bytes());
        append().map_err(|cause| OutputError { path: self.file.clone(), cause })?;
        self.moments += 1;
        Ok(())
    }

    /// Every second moment goes, and the others come half as often.
    fn thin(&mut self) -> Result<(), Failure> {
        let lines: Vec<String> = self.lines()?.into_iter().step_by(2).collect();
        self.head.every_s *= 2;
        Ok(self.rewrite(&lines)?)
    }

    /// The lines behind the first.
    fn lines(&self) -> Result<Vec<String>, Failure> {
        let text = fs::read_to_string(&self.file)
            .map_err(|why| Failure::Operation(format!("--history {}: {why}", self.file.display())))?;
        Ok(text.lines().skip(1).map(str::to_owned).collect())
    }

    fn rewrite(&mut self, lines: &[String]) -> Result<(), OutputError> {
        let head = serde_json::to_string(&self.head).expect("plain data");
        let text: String = std::iter::once(&head).chain(lines).flat_map(|line| [line, "\n"]).collect();
        output::write_file(&self.file, text.as_bytes())?;
        self.moments = lines.len();
        Ok(())
    }
}

type Meanings = BTreeMap<String, (String, String)>;

/// The metrics of a page in the text format of Prometheus, and their values but for zeros.
fn read_page(page: &str) -> (Meanings, BTreeMap<String, f64>) {
    let (mut metrics, mut values) = (Meanings::new(), BTreeMap::new());
    for line in page.lines() {
        if let Some((name, help)) = line.strip_prefix("# HELP ").and_then(|rest| rest.split_once(' ')) {
            metrics.entry(name.into()).or_default().1 = help.into();
        } else if let Some((name, kind)) = line.strip_prefix("# TYPE ").and_then(|rest| rest.split_once(' '))
        {
            metrics.entry(name.into()).or_default().0 = kind.into();
        } else if let Some((name, value)) = line.rsplit_once(' ')
            && let Ok(value) = value.parse::<f64>()
            && value != 0.0
            && value.is_finite()
        {
            values.insert(name.into(), value);
        }
    }
    (metrics, values)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "\
# HELP tailcut_reads_total Reads.
# TYPE tailcut_reads_total counter
tailcut_reads_total{export=\"a b\"} 12
tailcut_reads_total{export=\"c\"} 0
";

    #[test]
    fn a_page_is_read_but_for_zeros() {
        let (metrics, values) = read_page(PAGE);
        assert_eq!(metrics["tailcut_reads_total"], ("counter".into(), "Reads.".into()));
        assert_eq!(values, BTreeMap::from([("tailcut_reads_total{export=\"a b\"}".into(), 12.0)]));
    }

    #[test]
    fn a_history_keeps_the_whole_time_in_a_file_that_does_not_grow() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("history.jsonl");
        let mut history = History::begin(&file, Path::new("nowhere"), "memory").expect("it begins");
        for second in 0..3 * MOST as u64 {
            // As often as the history requires.
            if second % history.head.every_s == 0 {
                history.add(PAGE, second as f64).expect("it is written");
            }
        }
        let text = fs::read_to_string(&file).expect("it is there");
        let head: Head = serde_json::from_str(text.lines().next().expect("a head")).expect("it is one");
        assert_eq!((head.every_s, head.metrics.len()), (4, 1));
        let moments: Vec<Moment> =
            text.lines().skip(1).map(|line| serde_json::from_str(line).expect("a moment")).collect();
        assert!(moments.len() <= MOST && moments.len() > MOST / 2);
        assert!((0..).zip(&moments).all(|(place, moment)| moment.at == f64::from(4 * place)));
        assert!(History::begin(&file, Path::new("nowhere"), "memory").is_ok(), "a history is replaced");
        fs::write(&file, "something else").expect("it is writable");
        assert!(History::begin(&file, Path::new("nowhere"), "memory").is_err());
    }
}
