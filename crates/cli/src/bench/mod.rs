//! `tailcut bench`: how quick servers and this machine's waiting are, by the wall clock. What our own code
//! costs is measured by `tailcut-bench` (`crates/bench`).

pub mod arguments;
pub mod block;
pub mod kv;
pub(crate) mod path;

use crate::failure::Failure;
use arguments::BenchCommand;
use std::io::Write;

/// Does what the arguments ask and prints to `out`.
///
/// # Errors
/// The server or strategy cannot be measured, or the results cannot be written.
pub fn bench(command: &BenchCommand, out: &mut dyn Write) -> Result<(), Failure> {
    match command {
        BenchCommand::Path(arguments) => path::path(arguments, out),
        BenchCommand::Block(arguments) => block::block(arguments, out),
        BenchCommand::Kv(arguments) => kv::kv(arguments, out),
    }
}
