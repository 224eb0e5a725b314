//! `tailcut size`: how many drives an array needs for a network.

pub mod arguments;
mod page;

use crate::failure::Failure;
use crate::terminal::{ColorMode, window};
use arguments::SizeArguments;
use std::io::Write;
use tailcut_base::Nanos;
use tailcut_sim::sizing::{Costs, SEGMENT_BLOCKS, Sizing};

/// Works the array out and prints to `out` how.
///
/// # Errors
/// A cost that neither an option nor a drive gives, or standard output that cannot be written.
#[expect(clippy::missing_panics_doc, reason = "plain data becomes JSON")]
pub fn size(arguments: &SizeArguments, out: &mut dyn Write) -> Result<(), Failure> {
    let costs = costs(arguments)?;
    let fill = f64::from(arguments.fill) / 1e6;
    let sizing = Sizing::new(arguments.network, arguments.raid, fill, costs);
    let text = if arguments.json {
        serde_json::to_string_pretty(&sizing).expect("plain data") + "\n"
    } else {
        page::page(&sizing, arguments, usize::from(window()), ColorMode::of_stdout())
    };
    out.write_all(text.as_bytes())?;
    Ok(out.flush()?)
}

/// The costs of a segment: derived from the parts of the drive, or replaced by measured values.
fn costs(arguments: &SizeArguments) -> Result<Costs, Failure> {
    let blocks = arguments.blocks.unwrap_or(SEGMENT_BLOCKS);
    let derived = arguments.drive.map(|drive| Costs::of(&drive.config(), blocks));
    let mut missing = Vec::new();
    let mut take = |option: &'static str, measured: Option<Nanos>, derived: Option<f64>| {
        measured.map(|time| time.0 as f64).or(derived).unwrap_or_else(|| {
            missing.push(option);
            1.0
        })
    };
    let erase_ns = take("--erase", arguments.erase, derived.map(|costs| costs.erase_ns));
    let read_ns = take("--read", arguments.read, derived.map(|costs| costs.read_ns));
    let write_ns = take("--write", arguments.write, derived.map(|costs| costs.write_ns));
    if !missing.is_empty() {
        return Err(Failure::Input(unknown(&missing)));
    }
    // What was measured of writes holds for long as it is.
    let sustained = derived.filter(|_| arguments.write.is_none()).map(|costs| costs.sustained_ns);
    Ok(Costs { blocks, erase_ns, read_ns, write_ns, sustained_ns: sustained.unwrap_or(write_ns) })
}

fn unknown(missing: &[&str]) -> String {
    format!(
        "size: nothing is known of the drive without {}; name one with --drive, such as --drive swan-sata, \
         or give all that was measured, such as --erase 4ms --read 15.6us --write 19.5us",
        missing.join(", ")
    )
}
