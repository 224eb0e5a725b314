//! `tailcut trace`: looking at traces and converting them.

mod conversion;
mod info;

use crate::arguments::TraceCommand;
use crate::failure::Failure;
use std::io::Write;
use tailcut_sim::trace::Options;

/// Does what the arguments ask and prints to `out`.
pub fn trace(command: &TraceCommand, out: &mut dyn Write) -> Result<(), Failure> {
    match command {
        TraceCommand::Info { file, skip_bad_lines, json } => {
            info::show(file, &options(*skip_bad_lines), *json, out)
        }
        TraceCommand::Convert { input, output, format, skip_bad_lines } => {
            conversion::convert(input, output, format, &options(*skip_bad_lines), out)
        }
    }
}

fn options(skip_bad_lines: bool) -> Options {
    Options { format: None, skip_bad_lines }
}
