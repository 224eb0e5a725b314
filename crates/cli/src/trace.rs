//! `tailcut trace`: looking at traces and converting them.

use crate::arguments::TraceCommand;
use crate::failure::Failure;
use std::io::Write;

/// Does what the arguments ask and prints to `out`.
pub fn trace(_arguments: &TraceCommand, _out: &mut dyn Write) -> Result<(), Failure> {
    Err(Failure::Operation(String::from("tailcut trace is not built yet")))
}
