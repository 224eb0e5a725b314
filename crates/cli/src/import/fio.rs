//! fio: the scenario that `run --fio` runs.

use crate::failure::Failure;
use crate::run::arguments::{RunArguments, RunOptions};
use crate::run::{self, Scenario};
use std::path::Path;
use tailcut_workload::fio::FioJobs;

/// The scenario of a job file, with every key.
///
/// # Errors
/// A job file that cannot be read, or everything in it that no source can do.
pub(super) fn translate(job: &Path) -> Result<String, Failure> {
    let name = job.display().to_string();
    let text = std::fs::read_to_string(job)
        .map_err(|error| Failure::Input(format!("cannot read '{name}': {error}; give a fio job file")))?;
    let jobs = FioJobs::parse(&name, &text).map_err(|errors| {
        let lines: Vec<String> = errors.0.iter().map(ToString::to_string).collect();
        Failure::Input(lines.join("\n"))
    })?;
    for note in &jobs.notes {
        crate::tell!("note: {name}: {note}");
    }
    let options = RunOptions { fio: Some(job.to_path_buf()), ..RunOptions::default() };
    let arguments = RunArguments { options, ..RunArguments::default() };
    let mut scenario = Scenario::default();
    run::read(&mut scenario, &arguments)?;
    Ok(run::to_be_read_again(&mut scenario))
}
