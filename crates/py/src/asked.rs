//! The arguments of a run, as passed from Python.

use pyo3::prelude::*;
use std::path::PathBuf;
use tailcut::run::arguments::{RunArguments, RunOptions};
use tailcut::scenario::Source;

/// The workload and the settings of a run: a dictionary with these keys.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct RunRequest {
    /// The file of the scenario.
    path: Option<PathBuf>,
    /// Or its text, with its name for messages.
    text: Option<(String, String)>,
    /// Settings, in the form of `--set`.
    sets: Vec<String>,
    trace: Option<PathBuf>,
    fio: Option<PathBuf>,
    seed: Option<u64>,
    skip_bad_lines: bool,
}

impl RunRequest {
    /// As arguments of the command `run`.
    pub(crate) fn arguments(self) -> RunArguments {
        RunArguments {
            scenario: self.path,
            text: self.text.map(|(name, text)| Source::file(name, text)),
            options: RunOptions {
                sets: self.sets,
                trace: self.trace,
                fio: self.fio,
                seed: self.seed,
                skip_bad_lines: self.skip_bad_lines,
                quiet: true,
                ..RunOptions::default()
            },
        }
    }

    /// As the base of a comparison, whose seed is a setting like any other.
    pub(crate) fn base(mut self) -> RunArguments {
        self.sets.extend(self.seed.take().map(|seed| format!("seed={seed}")));
        self.arguments()
    }
}
