//! `tailcut trace`: looking at traces and converting them.

pub mod arguments;
mod conversion;
mod info;

use crate::failure::Failure;
use arguments::{TraceCommand, TraceReading};
use std::io::Write;
use tailcut_workload::trace::Options;

/// Does what the arguments ask and prints to `out`.
///
/// # Errors
/// An unknown format, a trace that cannot be read, or an output that cannot be written.
pub fn trace(command: &TraceCommand, out: &mut dyn Write) -> Result<(), Failure> {
    match command {
        TraceCommand::Info { file, reading, json } => info::show(file, &options(reading)?, *json, out),
        TraceCommand::Convert { input, output, format, reading } => {
            conversion::convert(input, output, format, &options(reading)?, out)
        }
    }
}

fn options(reading: &TraceReading) -> Result<Options, Failure> {
    let format = reading.from.as_deref().map(conversion::named).transpose()?;
    Ok(Options { format, skip_bad_lines: reading.skip_bad_lines })
}
