//! Every request of a run with its causes, as CSV or Parquet: `tailcut run --requests FILE`.

use super::arguments::RunOptions;
use super::files::column;
use crate::failure::Failure;
use crate::output::write_file_with;
use crate::terminal::Waiting;
use std::fmt::Write as _;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use tailcut_base::config::Choice;
use tailcut_base::quantity::show_count;
use tailcut_base::{BadValue, Cause, Op};
use tailcut_sim::request_log::{RequestLog, STATUSES, held_up_names};

/// The most requests that a file gets: some 4 GB of memory while the run keeps them.
pub(super) const MOST: usize = 20_000_000;

/// The name of the file, as an argument.
///
/// # Errors
/// What would be right, if the name is that of another kind of file, or of Parquet and this build is without.
pub(super) fn file(name: &str) -> Result<PathBuf, BadValue> {
    let file = PathBuf::from(name);
    match file.extension().and_then(|extension| extension.to_str()) {
        Some("csv") => Ok(file),
        Some(PARQUET) if cfg!(feature = "parquet") => Ok(file),
        Some(PARQUET) => Err(BadValue::new(
            "this tailcut was built without Parquet: build it with --features parquet, or name a file such \
             as requests.csv",
        )),
        _ => Err(BadValue::new(
            "requests are written as CSV or Parquet; name a file such as requests.csv or requests.parquet",
        )),
    }
}

/// The extension of Parquet files.
const PARQUET: &str = "parquet";

/// Writes the requests that the run has kept, and warns on standard error if these are not all.
///
/// # Errors
/// The file cannot be written; an older one stays.
pub(super) fn write(file: &Path, kept: &RequestLog, options: &RunOptions) -> Result<(), Failure> {
    let waiting = Waiting::new(format!("writing {}", file.display()), options.quiet);
    write_file_with(file, |out| rows(file)(out, kept))?;
    drop(waiting);
    if kept.left_out > 0 {
        crate::tell!(
            "warning: {} has the first {} requests; {} more were left out: lower run.duration or set \
             run.requests",
            file.display(),
            show_count(kept.len() as f64),
            show_count(kept.left_out as f64)
        );
    }
    Ok(())
}

type Rows = fn(&mut dyn Write, &RequestLog) -> io::Result<()>;

/// What writes a file of this name.
#[cfg(feature = "parquet")]
fn rows(file: &Path) -> Rows {
    if file.extension().is_some_and(|extension| extension == PARQUET) { super::parquet::write } else { csv }
}

#[cfg(not(feature = "parquet"))]
fn rows(_: &Path) -> Rows {
    csv
}

/// One line for each request, in the order of their ends, with the columns of `slowest.csv` and of the tables
/// for Python. All causes have a column, so that files of different runs can be put together.
fn csv(out: &mut dyn Write, kept: &RequestLog) -> io::Result<()> {
    let (statuses, names) = (STATUSES.map(|status| status.to_string()), held_up_names());
    let has_handles = !kept.held_up.is_empty();
    let mut line = String::from(
        "number,source,op,class,status,sector,sectors,due_ns,submitted_ns,completed_ns,latency_ns",
    );
    for cause in Cause::ALL {
        line = line + "," + &column(cause);
    }
    if has_handles {
        line += ",held_up_by,held_up_ns";
    }
    writeln!(out, "{line}")?;
    let waits = Cause::ALL.map(|cause| kept.waits(cause));
    for row in 0..kept.len() {
        line.clear();
        // A String takes everything.
        let _ = write!(
            line,
            "{},{},{},{},{},{},{},{},{},{},{}",
            kept.number[row],
            kept.source[row],
            Op::NAMES[usize::from(kept.op[row])],
            kept.class[row],
            statuses[usize::from(kept.status[row])],
            kept.sector[row],
            kept.sectors[row],
            kept.due[row],
            kept.submitted[row],
            kept.completed[row],
            kept.latency[row]
        );
        for waits in &waits {
            match waits.map_or(0, |waits| waits[row]) {
                0 => line += ",0",
                nanos => {
                    let _ = write!(line, ",{nanos}");
                }
            }
        }
        if has_handles {
            let _ = write!(line, ",{},{}", names[usize::from(kept.held_up_by[row])], kept.held_up[row]);
        }
        line.push('\n');
        out.write_all(line.as_bytes())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_of_known_kinds_are_taken() {
        assert!(file("all.csv").is_ok());
        assert_eq!(file("all.parquet").is_ok(), cfg!(feature = "parquet"));
        for wrong in ["all", "all.txt", "csv", ""] {
            assert!(file(wrong).expect_err(wrong).message.contains("requests.csv"), "{wrong}");
        }
    }
}
