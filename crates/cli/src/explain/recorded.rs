//! The trace of `--measured`: its requests with their response times, and the file that twins replay.

use crate::explain::arguments::ExplainArguments;
use crate::failure::Failure;
use crate::run::trace_failure;
use crate::terminal::Waiting;
use std::fs::{self, DirBuilder, File};
use std::io::{self, Read};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use tailcut_base::Op;
use tailcut_workload::trace::{FioLatencies, Measured, Options, Records, measured};

/// The most requests that are compared: about 200 bytes each.
const MOST: usize = 20_000_000;

/// A replay cuts what is longer.
const MOST_BYTES: u32 = 32 << 20;

/// A trace with response times.
pub(super) struct RecordedTrace {
    /// In the order of the replay.
    requests: Vec<Measured>,
    /// What a twin replays: the trace, or a copy of its requests in a format that can be replayed.
    replayed: PathBuf,
    /// The folder of that copy.
    _copy: Option<PrivateFolder>,
}

impl RecordedTrace {
    /// Reads a trace: Parquet, a latency log of fio, or one of the formats that can be replayed.
    ///
    /// # Errors
    /// It cannot be read, has no response times, or requests that cannot be compared.
    pub(super) fn open(arguments: &ExplainArguments, file: &Path) -> Result<RecordedTrace, Failure> {
        let waiting = Waiting::for_file(file, "reading the trace", arguments.quiet);
        let options = Options { skip_bad_lines: arguments.skip_bad_lines, ..Options::default() };
        let trace = if is_parquet(file) {
            RecordedTrace::of_records(&parquet(file)?)?
        } else if FioLatencies::is_one(file).map_err(|error| trace_failure(&error))? {
            let log = FioLatencies::read(file, &options, MOST).map_err(|error| trace_failure(&error))?;
            if !log.has_issue_times() {
                crate::tell!(
                    "warning: {}: requests are replayed at their time of completion less their latency, \
                     right to 1 ms: newer versions of fio log times of issue (--log_issue_time=1)",
                    file.display()
                );
            }
            RecordedTrace::of_records(&log.into_records())?
        } else {
            let requests = measured(file, &options, MOST).map_err(|error| trace_failure(&error))?;
            RecordedTrace { requests, replayed: file.to_owned(), _copy: None }
        };
        drop(waiting);
        trace.check(file)?;
        Ok(trace)
    }

    fn of_records(records: &Records) -> Result<RecordedTrace, Failure> {
        let folder = PrivateFolder::create()
            .map_err(|error| Failure::Operation(format!("cannot create a temporary folder: {error}")))?;
        let replayed = folder.0.join("requests.blkparse");
        records.write(&replayed).map_err(|error| trace_failure(&error))?;
        let requests = (0..records.len()).map(|row| {
            let record = records.record(row);
            Measured { at: record.at, op: record.op, len: record.len, response: record.response }
        });
        Ok(RecordedTrace { requests: requests.collect(), replayed, _copy: Some(folder) })
    }

    fn check(&self, file: &Path) -> Result<(), Failure> {
        let name = file.display();
        if self.requests.iter().all(|request| request.response.is_none()) {
            return Err(Failure::Input(format!(
                "{name}: it has no response times; blkparse's text with completions (C), the traces of MSR, \
                 latency logs of fio and Parquet files with a column latency_ns have them"
            )));
        }
        // A longer one is several requests of the replay.
        if let Some(number) = self.requests.iter().position(|request| request.len > MOST_BYTES) {
            let bytes = self.requests[number].len;
            return Err(Failure::Input(format!(
                "{name}: request {number} has {bytes} bytes; those beyond 32 MiB cannot be compared: leave \
                 it out"
            )));
        }
        Ok(())
    }

    /// The requests, in the order of the replay.
    pub(super) fn requests(&self) -> &[Measured] {
        &self.requests
    }

    /// The file that a twin replays.
    pub(super) fn replayed(&self) -> &Path {
        &self.replayed
    }

    /// Requests of the chosen kind without a response time. Flushes of blkparse's text never have one.
    pub(super) fn without_response(&self, chosen: Option<Op>) -> usize {
        let is_left_out = |request: &&Measured| {
            request.response.is_none()
                && request.op == chosen.unwrap_or(request.op)
                && request.op != Op::Flush
        };
        self.requests.iter().filter(is_left_out).count()
    }
}

/// Whether a file is Parquet, by its first bytes.
fn is_parquet(file: &Path) -> bool {
    let mut magic = [0; 4];
    File::open(file).and_then(|mut file| file.read_exact(&mut magic)).is_ok() && magic == *b"PAR1"
}

#[cfg(feature = "parquet")]
fn parquet(file: &Path) -> Result<Records, Failure> {
    super::parquet::read(file, MOST)
}

#[cfg(not(feature = "parquet"))]
fn parquet(file: &Path) -> Result<Records, Failure> {
    Err(Failure::Input(format!(
        "{}: this tailcut was built without Parquet; build it with --features parquet, or convert the trace \
         to the format of MSR",
        file.display()
    )))
}

/// A folder of this user's own, removed with everything in it at the end.
struct PrivateFolder(PathBuf);

impl PrivateFolder {
    fn create() -> io::Result<PrivateFolder> {
        let mut number = 0;
        loop {
            let name = format!("tailcut-explain-{}-{number}", std::process::id());
            let path = std::env::temp_dir().join(name);
            match DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => return Ok(PrivateFolder(path)),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
                Err(error) => return Err(error),
            }
        }
    }
}

impl Drop for PrivateFolder {
    fn drop(&mut self) {
        // It stays where it is if it cannot be removed.
        let _ = fs::remove_dir_all(&self.0);
    }
}
