//! `tailcut explain`: what slow requests waited for.

use crate::arguments::ExplainArguments;
use crate::failure::Failure;
use std::io::Write;

/// Does what the arguments ask and prints to `out`.
pub fn explain(_arguments: &ExplainArguments, _out: &mut dyn Write) -> Result<(), Failure> {
    Err(Failure::Operation(String::from("tailcut explain is not built yet")))
}
