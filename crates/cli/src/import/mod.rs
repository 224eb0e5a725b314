//! `tailcut import`: configurations of other programs as scenarios, or as the command with their effect.

pub mod arguments;
mod draft;
mod femu;
mod fio;
mod memcached;
mod mqsim;

use crate::failure::Failure;
use crate::output;
use crate::terminal::ColorMode;
use arguments::ImportCommand;
use draft::Draft;
use std::io::Write;
use std::path::Path;

/// Translates what the arguments name, and writes it to a file or to `out`.
///
/// # Errors
/// Input that cannot be read or translated, or an output that cannot be written. Nothing is written then.
pub fn import(command: &ImportCommand, out: &mut dyn Write) -> Result<(), Failure> {
    match command {
        ImportCommand::Mqsim { device, workload, scenario, output } => {
            deliver(&mqsim::translate(device, workload, *scenario)?, output.as_deref(), out)
        }
        ImportCommand::Fio { job, output } => write(&fio::translate(job)?, output.as_deref(), out),
        ImportCommand::Femu { line, output } => deliver(&femu::translate(line)?, output.as_deref(), out),
        ImportCommand::Memcached { flags } => memcached::translate(flags, out),
    }
}

/// Writes a draft as a scenario, and its notes on standard error.
fn deliver(draft: &Draft, output: Option<&Path>, out: &mut dyn Write) -> Result<(), Failure> {
    let text = draft.scenario()?;
    write(&text, output, out)?;
    let notes = draft.notes(ColorMode::of_stderr());
    if !notes.is_empty() {
        crate::tell!("{}", notes.trim_end());
    }
    Ok(())
}

/// Writes to a file as a whole, or to `out` without one.
fn write(text: &str, output: Option<&Path>, out: &mut dyn Write) -> Result<(), Failure> {
    match output.filter(|path| !output::is_stdout(path)) {
        Some(path) => output::write_file(path, text.as_bytes()).map_err(|error| {
            let (path, cause) = (error.path.display(), error.cause);
            Failure::Operation(format!("cannot write {path}: {cause}; name another place with -o"))
        }),
        None => {
            out.write_all(text.as_bytes())?;
            Ok(out.flush()?)
        }
    }
}
