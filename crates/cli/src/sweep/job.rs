//! A point on its way to another process, perhaps on another machine.

use super::point::{Identities, Point};
use super::{records, runner};
use crate::failure::Failure;
use crate::run::Scenario;
use crate::scenario::{self, Comments, Source};

/// All that another process needs to run a point, except the trace or job file, which must be found there
/// under the same name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// The digest of the point; see [`Point::digest`].
    pub digest: String,
    /// The resolved scenario of the job as TOML.
    pub scenario: String,
}

impl Job {
    /// The job of a point.
    pub fn of(point: &Point) -> Job {
        let scenario = scenario::write(&mut point.scenario.clone(), Comments::Left);
        Job { digest: point.digest.clone(), scenario }
    }

    /// Runs the point and returns its line for `points.jsonl`, with its line end: the input of
    /// [`Records::keep_line`](super::Records::keep_line). `None` when `is_over`, which is polled now and
    /// then, returns true.
    ///
    /// # Errors
    /// A scenario that is another one here, because this is another version or a trace has another content.
    pub fn run(&self, is_over: &dyn Fn() -> bool) -> Result<Option<String>, Failure> {
        let mut scenario = Scenario::default();
        let source = Source::file(format!("run {}", self.digest), self.scenario.clone());
        scenario::read(&mut scenario, Some(source), &[])?;
        let point = Identities::default().point(scenario)?;
        if point.digest != self.digest {
            return Err(Failure::Input(self.differs(&point.scenario)));
        }
        Ok(runner::run(&point, is_over).map(|ended| records::line(&self.digest, ended)))
    }

    fn differs(&self, scenario: &Scenario) -> String {
        let files = [&scenario.trace.file, &scenario.fio.file];
        let version = env!("CARGO_PKG_VERSION");
        match files.into_iter().find(|file| !file.is_empty()) {
            Some(file) => format!(
                "run {} is another one here: {file} has another content, or this version, {version}, is \
                 another; put the same file and the same tailcut on every machine",
                self.digest
            ),
            None => format!(
                "run {} is another one here: this version, {version}, is another; put the same tailcut on \
                    every machine",
                self.digest
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sweep::Records;
    use crate::sweep::records::FILE;

    fn point() -> Point {
        let sets =
            ["run.requests=20000", "run.duration=0", "run.ramp=0", "device.preset=z-ssd"].map(str::to_owned);
        let mut scenario = Scenario::default();
        scenario::read(&mut scenario, None, &sets).expect("a good scenario");
        Identities::default().point(scenario).expect("it reads no file")
    }

    #[test]
    fn a_run_elsewhere_leaves_the_bytes_of_a_run_here() {
        let point = point();
        let [here, there] = [0, 1].map(|_| tempfile::TempDir::new().expect("a folder"));
        let mut records = Records::open(here.path(), |_| true).expect("a new file");
        let ended = runner::run(&point, &|| false).expect("nobody stops it");
        assert!(ended.outcome().is_some(), "{ended:?}");
        records.keep(&point.digest, ended).expect("it is written");

        let line = Job::of(&point).run(&|| false).expect("the same version").expect("nobody stops it");
        let mut records = Records::open(there.path(), |_| true).expect("a new file");
        records.keep_line(&line).expect("a good line");
        let bytes =
            |folder: &tempfile::TempDir| std::fs::read(folder.path().join(FILE)).expect("it is there");
        assert_eq!(bytes(&here), bytes(&there));
        assert!(Records::open(there.path(), |_| true).expect("there it is").has(&point.digest));
    }

    #[test]
    fn a_run_that_is_another_one_here_is_refused() {
        let job = Job { digest: "0".repeat(32), ..Job::of(&point()) };
        let error = job.run(&|| false).expect_err("another digest");
        assert!(matches!(&error, Failure::Input(text) if text.contains("another one here")), "{error:?}");
        assert_eq!(Job::of(&point()).run(&|| true).expect("the same version"), None, "it was stopped");
    }

    #[test]
    fn a_line_of_another_version_is_refused() {
        let mut records = Records::default();
        let line = records::line("a", crate::sweep::RunResult::Failed("stuck".into()));
        records.keep_line(&line).expect("of this version");
        let other = line.replace(env!("CARGO_PKG_VERSION"), "9.9.9");
        assert!(records.keep_line(&other).is_err() && records.keep_line("{}").is_err());
        assert!(records.has("a"));
    }
}
