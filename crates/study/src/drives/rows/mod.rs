//! Rows of measurements of real drives, read from CSV, and points at which drives are to be predicted.
//!
//! Columns are found by their names in the first line; others may stand between them. Latencies are in
//! microseconds, rates in requests per second. A cell that was not measured is empty. Everything that is
//! wrong with a file is reported at once, with its line, the reason and a remedy.

mod amplification;
mod contradictions;
mod data_sheet;
mod mixes;
mod random_writes;
mod sheet;

pub use contradictions::contradictions;
pub use data_sheet::{DataSheet, data_sheets};
pub use sheet::{RowError, RowErrors};

use super::{Load, PERCENTILES};
use sheet::{Line, Sheet};

/// What was measured on a real drive under one load; `None` where the file has no figure.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasuredRow {
    /// The drive's short name in the file; empty where the file is of one drive and does not name it.
    pub drive: String,
    /// The load under which the drive was measured.
    pub load: Load,
    /// Reads at each of [`PERCENTILES`], in microseconds: of random writes those of the first thread, else of
    /// all.
    pub reads: [Option<f64>; PERCENTILES.len()],
    /// Latencies of writes at each of [`PERCENTILES`], in microseconds, of the same threads as `reads`.
    pub writes: [Option<f64>; PERCENTILES.len()],
    /// Reads of all threads per second.
    pub reads_per_s: Option<f64>,
    /// Writes of all threads per second.
    pub writes_per_s: Option<f64>,
    /// Bytes written to flash ÷ bytes written by the host.
    pub write_amplification: Option<f64>,
    /// Share of the drive that held data, in parts per million; a full drive where the file does not say.
    pub filled_ppm: Option<u32>,
}

impl MeasuredRow {
    fn of(drive: String, load: Load) -> MeasuredRow {
        MeasuredRow {
            drive,
            load,
            reads: Default::default(),
            writes: Default::default(),
            reads_per_s: None,
            writes_per_s: None,
            write_amplification: None,
            filled_ppm: None,
        }
    }

    /// True of a drive that did not keep up with the writes that it was offered: it wrote less than 97 % of
    /// them. A load at a given depth always is.
    pub fn is_saturated(&self) -> bool {
        match self.load {
            Load::RandomWrites(load) => {
                let (_, demand) = load.demand();
                self.writes_per_s.is_some_and(|writes| writes < SATURATED_BELOW * demand)
            }
            Load::Mix(_) | Load::Amplification(_) => true,
        }
    }
}

/// A load at which a drive is to be predicted.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// The drive, by its name in a file of rows or by its preset; empty where the file does not name one.
    pub drive: String,
    /// The load at which the drive is to be predicted.
    pub load: Load,
}

/// Reads the rows of a file, whose columns decide of which kind they are:
///
/// - random writes: `drive`, `offered`, `reads_per_s`, `writes_per_s`, `measured_reads`, and `r_NAME` of
///   reads and `w_NAME` of writes for each of [`PERCENTILES`], of which `10p` and those above `99p99` may be
///   missing;
/// - mixes: `reads_percent`, `depth`, `read_iops`, `write_iops`, and `read_p50`, `write_p50` and so on as far
///   as measured; `filled_percent`, if there, is the share of the drive that held data;
/// - write amplification: `drive`, `pattern`, `fill_percent`, `write_amplification`.
///
/// # Errors
/// Everything that is wrong: missing columns, no numbers, percentiles that descend, that contradict the
/// protocol as they do in another unit, or that fewer than [`LEAST_BEYOND`] requests lie beyond; rates above
/// what was offered; a drive that never reached the rate that it was offered.
pub fn measured(text: &str) -> Result<Vec<MeasuredRow>, RowErrors> {
    match Kind::of(text) {
        Kind::RandomWrites => random_writes::rows(text),
        Kind::Mixes => mixes::rows(text),
        Kind::Amplification => amplification::rows(text),
    }
}

/// Reads points with the columns `drive,offered`, or `reads_percent,depth` and maybe `drive`, or
/// `drive,pattern,fill_percent`. Other columns are ignored: a file of rows is a file of points too.
///
/// # Errors
/// None of these sets of columns, or values that no test can have.
pub fn points(text: &str) -> Result<Vec<Point>, RowErrors> {
    let kind = Kind::of(text);
    let needed: &[&str] = match kind {
        Kind::RandomWrites => &["drive", "offered"],
        Kind::Mixes => &["reads_percent", "depth"],
        Kind::Amplification => &["drive", "pattern", "fill_percent"],
    };
    let mut sheet = Sheet::parse(text, needed)?;
    let lines = sheet.lines();
    let points: Vec<Point> = lines.map(|line| kind.point(&mut sheet, line)).collect();
    sheet.finish(points)
}

/// What a file has rows of.
enum Kind {
    RandomWrites,
    Mixes,
    Amplification,
}

impl Kind {
    fn point(&self, sheet: &mut Sheet, line: Line) -> Point {
        match self {
            Kind::RandomWrites => random_writes::point(sheet, line),
            Kind::Mixes => mixes::point(sheet, line),
            Kind::Amplification => amplification::point(sheet, line),
        }
    }

    fn of(text: &str) -> Kind {
        let header = text.lines().next().unwrap_or_default();
        let has = |name: &str| header.split(',').any(|column| column.trim().trim_matches('"') == name);
        match (has("reads_percent"), has("pattern")) {
            (true, _) => Kind::Mixes,
            (_, true) => Kind::Amplification,
            _ => Kind::RandomWrites,
        }
    }
}

/// A percentile of a measured row needs this many requests beyond it to be worth comparing with.
pub const LEAST_BEYOND: f64 = 10.0;

/// The share of the demanded writes below which a drive counts as saturated. Reached rates are a minute's
/// counts and within some tenths of a per cent of the demand.
const SATURATED_BELOW: f64 = 0.97;

#[cfg(test)]
mod tests;
