//! The extension module `tailcut._tailcut`: Python's interface to the library behind the `tailcut` command.
//!
//! This crate contains only the conversions: arguments in; errors, tables in Arrow's memory layout and JSON
//! texts out. The user's interface is in `python/tailcut`, the simulation in the crates below. One line of
//! this crate is unsafe, where a stream of Arrow's C interface is taken out of the capsule of a data frame
//! (`frame`): the content of a capsule is known by its name, not by a type. PyO3's macros generate the entry
//! points for the interpreter. `docs/decisions/python.md` gives the reasons for this design.

#![allow(clippy::disallowed_types, reason = "Python runs in real time")]

mod asked;
mod away;
mod cells;
mod comparison;
mod disk;
mod fitting;
mod frame;
mod page;
mod refusal;
mod requests;
mod run;
mod study;
mod table;
mod trace;

use pyo3::prelude::*;
use refusal::{ScenarioError, TailcutError};
use std::ffi::OsString;
use tailcut::scenario::keys;
use tailcut_base::config::Choice;
use tailcut_sim::Scenario;
use tailcut_ssd::Preset;

/// The names of the drive presets of a scenario (`device.preset`).
#[pyfunction]
fn presets() -> Vec<&'static str> {
    Preset::NAMES.to_vec()
}

/// The keys of a scenario as JSON, as `tailcut run --keys --json` lists them.
#[pyfunction]
fn scenario_keys() -> String {
    keys::to_json(&keys::list(&mut Scenario::default())).to_string()
}

/// Runs the `tailcut` command with these arguments and returns its exit code. Help and arguments that cannot
/// be read end the process.
#[pyfunction]
fn command(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    let words = std::iter::once(OsString::from("tailcut")).chain(arguments);
    py.detach(|| tailcut::command::run_words(words))
}

/// The contents of the module.
#[pymodule]
fn _tailcut(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("TailcutError", module.py().get_type::<TailcutError>())?;
    module.add("ScenarioError", module.py().get_type::<ScenarioError>())?;
    module.add_class::<table::Columns>()?;
    module.add_class::<run::Run>()?;
    module.add_class::<comparison::Plan>()?;
    module.add_class::<comparison::Results>()?;
    module.add_class::<study::Study>()?;
    module.add_class::<disk::Disk>()?;
    module.add_class::<disk::Completion>()?;
    module.add_function(wrap_pyfunction!(command, module)?)?;
    module.add_function(wrap_pyfunction!(run::run, module)?)?;
    module.add_function(wrap_pyfunction!(run::resolved, module)?)?;
    module.add_function(wrap_pyfunction!(comparison::run_job, module)?)?;
    module.add_function(wrap_pyfunction!(study::studies, module)?)?;
    module.add_function(wrap_pyfunction!(study::study, module)?)?;
    module.add_function(wrap_pyfunction!(fitting::calibrate, module)?)?;
    module.add_function(wrap_pyfunction!(trace::trace_info, module)?)?;
    module.add_function(wrap_pyfunction!(trace::trace_requests, module)?)?;
    module.add_function(wrap_pyfunction!(frame::write_trace, module)?)?;
    module.add_function(wrap_pyfunction!(presets, module)?)?;
    module.add_function(wrap_pyfunction!(scenario_keys, module)?)
}
