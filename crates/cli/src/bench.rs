//! `tailcut bench`: what this program itself costs.

use crate::arguments::BenchCommand;
use crate::failure::Failure;
use std::io::Write;

/// Does what the arguments ask and prints to `out`.
pub fn bench(_arguments: &BenchCommand, _out: &mut dyn Write) -> Result<(), Failure> {
    Err(Failure::Operation(String::from("tailcut bench is not built yet")))
}
