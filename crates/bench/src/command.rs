//! From the process's arguments to its exit code.

use crate::arguments::{Arguments, BenchCommand, Measurement};
use crate::{array, emulate, schedule, sim};
use clap::Parser;
use std::io::Write;
use std::process::ExitCode;
use tailcut::failure::Failure;

/// Measures what the process was asked to measure. Results go to standard output, everything else to standard
/// error; exit codes are those of [`tailcut::command::main`].
pub fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let mut out = std::io::stdout().lock();
    tailcut::command::exit(bench(&arguments.command, &mut out).and_then(|()| Ok(out.flush()?)))
}

/// Does what the arguments ask and prints to `out`.
///
/// # Errors
/// If there is no such measurement, a measurement fails, or results cannot be written.
pub fn bench(command: &BenchCommand, out: &mut dyn Write) -> Result<(), Failure> {
    match command {
        BenchCommand::Sim(Measurement { alone: Some(what), .. }) => sim::measure_alone(what, out),
        BenchCommand::Sim(Measurement { json, .. }) => sim::sim(json.as_deref(), out),
        BenchCommand::Array(Measurement { alone: Some(what), .. }) => array::measure_alone(what, out),
        BenchCommand::Array(Measurement { json, .. }) => array::array(json.as_deref(), out),
        BenchCommand::Emulate(Measurement { alone: Some(what), .. }) => emulate::measure_alone(what, out),
        BenchCommand::Emulate(Measurement { json, .. }) => emulate::emulate(json.as_deref(), out),
        BenchCommand::Schedule(Measurement { alone: Some(what), .. }) => schedule::measure_alone(what, out),
        BenchCommand::Schedule(Measurement { json, .. }) => schedule::schedule(json.as_deref(), out),
    }
}
