//! `tailcut explain`: what slow requests waited for.

pub mod arguments;
mod export;
mod kept;
mod measured;
#[cfg(feature = "parquet")]
mod parquet;
mod percentile;
mod recorded;
mod recording;
mod rerun;
mod selection;
mod timeline;
mod twin;

use crate::failure::Failure;
use arguments::ExplainArguments;
use std::io::Write;

/// Does what the arguments ask and prints to `out`.
///
/// # Errors
/// An invalid scenario, a failed run, no such request, or results that cannot be written.
pub fn explain(arguments: &ExplainArguments, out: &mut dyn Write) -> Result<(), Failure> {
    if let Some(trace) = &arguments.measured {
        return measured::explain(arguments, trace, out);
    }
    if let Some(option) = arguments.misplaced() {
        let why = format!("{option} is for --measured TRACE, and has no effect on a run: leave it out");
        return Err(Failure::Input(why));
    }
    if let Some(number) = arguments.request {
        return timeline::explain(arguments, number, out);
    }
    if let Some(file) = &arguments.perfetto {
        return export::explain(arguments, file, out);
    }
    percentile::explain(arguments, out)
}
