//! What can be wrong with a trace, and what would be right.

use super::fio_latency::FioLatencies;
use super::format::Format;
use std::fmt;
use std::io;
use tailcut_base::config::Choice;
use tailcut_base::quantity::show_number_of;

/// Why a trace could not be read or written. Every message names the file, the place in it, what
/// is wrong there and what would be right.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The file cannot be opened or read.
    #[error("{file}: cannot be read: {source}")]
    Read {
        /// The file.
        file: String,
        /// The operating system's error.
        source: io::Error,
    },
    /// The file cannot be written.
    #[error("{file}: cannot be written: {source}")]
    Write {
        /// The file.
        file: String,
        /// The operating system's error.
        source: io::Error,
    },
    /// Compressed data ends early or does not decompress.
    #[error(
        "{file}: the {compression} data is damaged or cut off after {bytes} decompressed bytes ({place}): \
         {what}; get the file again, or decompress the good part with the compressor's own tool"
    )]
    Corrupt {
        /// The file.
        file: String,
        /// "gzip" or "zstd".
        compression: &'static str,
        /// How many bytes could be decompressed.
        bytes: u64,
        /// The line or record that was being read.
        place: Place,
        /// The decompressor's error.
        what: String,
    },
    /// The content is an archive or a compression that is not read directly.
    #[error("{file}: this is {what}; {remedy}")]
    Container {
        /// The file.
        file: String,
        /// Such as "a tar archive".
        what: &'static str,
        /// What to do.
        remedy: &'static str,
    },
    /// The format cannot be recognised from content or name.
    #[error("{file}: no known trace format; its first line is '{first_line}'. {}", formats())]
    UnknownFormat {
        /// The file.
        file: String,
        /// The beginning of the first line.
        first_line: String,
    },
    /// Lines or records that are not of the format.
    #[error("{}", bad_records(file, *format, shown, *total))]
    BadRecords {
        /// The file.
        file: String,
        /// Its format.
        format: Format,
        /// The first of them.
        shown: Vec<BadRecord>,
        /// How many there are in all, as far as the file was read.
        total: u64,
    },
    /// A line that a latency log of fio does not have.
    #[error("{file}, {place}: {what}; a latency log of fio has: {}", FioLatencies::LAYOUT)]
    LatencyLog {
        /// The file.
        file: String,
        /// The line.
        place: Place,
        /// What is wrong with it.
        what: String,
    },
    /// There is no request in it.
    #[error("{}", empty(file, *format, *bad))]
    Empty {
        /// The file.
        file: String,
        /// Its format, if it could be recognised.
        format: Option<Format>,
        /// How many bad lines were skipped.
        bad: u64,
    },
    /// A disk was asked for that the trace does not have.
    #[error("{file}: no disk '{disk}' in this trace; it has {present}")]
    NoSuchDisk {
        /// The file.
        file: String,
        /// The requested disk.
        disk: String,
        /// The disks that there are.
        present: String,
    },
    /// The device is too small to give each disk of the trace a part of its own.
    #[error(
        "{file}: {} do not fit a device of {}: each needs 8 sectors at least; \
         choose fewer disks or a larger device",
        show_number_of(*disks as u64, "disk"),
        show_number_of(*device_sectors, "sector")
    )]
    NoRoom {
        /// The file.
        file: String,
        /// How many disks are replayed.
        disks: usize,
        /// Size of the device in 512 B sectors.
        device_sectors: u64,
    },
    /// The file changed between two passes over it, or a conversion would overwrite its input.
    #[error("{file}: {what}")]
    Unusable {
        /// The file.
        file: String,
        /// What is wrong and how to fix it.
        what: &'static str,
    },
}

/// One line or record that is not of its format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadRecord {
    /// The line or record in the trace.
    pub place: Place,
    /// What is wrong with the line or record.
    pub what: String,
}

/// A place in a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A line of a text format, from 1.
    Line(u64),
    /// A record of a binary format, from 1, and its first byte.
    Record {
        /// Which record, from 1.
        number: u64,
        /// Its first byte in the decompressed trace.
        byte: u64,
    },
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Line(line) => write!(f, "line {line}"),
            Place::Record { number, byte } => write!(f, "record {number} at byte {byte}"),
        }
    }
}

/// The fault that a parser found in one line. Boxed where it is returned, because it is rare.
#[derive(Debug)]
pub(super) struct Fault {
    pub what: String,
}

impl Fault {
    #[cold]
    pub(super) fn new(what: impl Into<String>) -> Box<Fault> {
        Box::new(Fault { what: what.into() })
    }
}

/// The start of `text` as far as it is fit for a message.
pub(super) fn excerpt(text: &[u8]) -> String {
    const LONGEST: usize = 60;
    let text = text.trim_ascii();
    let shown: String =
        String::from_utf8_lossy(&text[..text.len().min(LONGEST)]).chars().flat_map(printable).collect();
    if text.len() > LONGEST { shown + "…" } else { shown }
}

fn printable(c: char) -> Vec<char> {
    if c.is_control() { c.escape_default().collect() } else { vec![c] }
}

fn formats() -> String {
    let mut text = String::from(
        "Name the format: trace.format=NAME in a scenario, --from NAME of tailcut trace. Known formats:",
    );
    for format in Format::all() {
        text += &format!("\n  {:<9} {}", format.name(), format.layout());
    }
    text
}

fn empty(file: &str, format: Option<Format>, bad: u64) -> String {
    let skipped = match bad {
        0 => String::new(),
        bad => format!(" ({} skipped)", show_number_of(bad, "bad line")),
    };
    let remedy = match format {
        Some(format) => format!("{format} has: {}", format.layout()),
        None => String::from("give a file with at least one record of a known format"),
    };
    format!("{file}: this trace holds no requests{skipped}; {remedy}")
}

fn bad_records(file: &str, format: Format, shown: &[BadRecord], total: u64) -> String {
    let mut text = String::new();
    for bad in shown {
        text += &format!("{file}, {}: {}\n", bad.place, bad.what);
    }
    let more = total.saturating_sub(shown.len() as u64);
    if more > 0 {
        text += &format!("{file}: and {more} more\n");
    }
    text + &format!("{format} has: {}; bad lines can be skipped on demand", format.layout())
}
