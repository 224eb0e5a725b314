//! `tailcut trace convert`.

use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::run::trace_failure;
use crate::scenario::nearest::nearest;
use crate::terminal::Progress;
use std::io::Write;
use std::path::Path;
use tailcut_base::config::Choice;
use tailcut_base::quantity::show_number_of;
use tailcut_workload::trace::{self, Converted, Format, Options};

/// Writes a trace in another format, and reports lost information.
pub(super) fn convert(
    input: &Path,
    output: &Path,
    format: &str,
    options: &Options,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let format = named(format)?;
    let interrupt = Interrupt::listen()
        .map_err(|error| Failure::Operation(format!("cannot listen for Ctrl-C: {error}")))?;
    let mut progress = Progress::new("convert", None, false);
    let converted = trace::convert(input, options, output, format, &mut |records| {
        progress.count(records);
        !interrupt.asked()
    });
    progress.finish();
    let converted = converted.map_err(|error| trace_failure(&error))?;
    out.write_all(report(&converted, output, format).as_bytes())?;
    out.flush()?;
    if interrupt.asked() { Err(Failure::Interrupted) } else { Ok(()) }
}

/// The format of this name.
///
/// # Errors
/// There is none; the message lists all of them.
pub(super) fn named(name: &str) -> Result<Format, Failure> {
    Format::by_name(name).ok_or_else(|| unknown(name))
}

fn unknown(name: &str) -> Failure {
    let suggestion = nearest(name, Format::NAMES.iter().copied());
    let meant = suggestion.map_or(String::new(), |near| format!("did you mean '{near}'? "));
    Failure::Input(format!(
        "there is no trace format '{name}'; {meant}the formats are {}",
        Format::NAMES.join(", ")
    ))
}

fn report(converted: &Converted, output: &Path, format: Format) -> String {
    let c = converted;
    let counted = [
        (c.dropped, "request", "left out: the format has no trims and flushes"),
        (c.rounded, "time", "rounded down to the format's unit"),
        (c.widened, "request", "widened to whole sectors"),
        (c.without_fua, "request", "without its force unit access"),
        (c.without_response, "request", "without its response time"),
        (c.without_disk, "request", "of a further disk, without its name"),
        (c.tally.bad, "bad line", "skipped"),
        (c.tally.backwards, "request", "recorded before its predecessor, whose moment it took"),
    ];
    let mut text = format!("{}: {} as {format}\n", output.display(), show_number_of(c.written, "request"));
    for (count, noun, what) in counted.into_iter().filter(|(count, ..)| *count > 0) {
        text += &format!("- {} {what}\n", show_number_of(count, noun));
    }
    text
}
