//! Points to predict: which drive under which load.

use super::sheet::{Line, RowErrors, Sheet};
use super::{amplification, mixes};
use crate::drives::{RequestRate, WritePattern};

/// One load to run.
#[derive(Clone, Debug, PartialEq)]
pub enum Point {
    /// Random writes at a given rate.
    RandomWrites {
        /// The drive: an id of a file of rows, or a preset.
        drive: String,
        /// The offered rate.
        offered: RequestRate,
    },
    /// A mix of reads and writes at a given depth.
    Mix {
        /// The drive, where a column names it.
        drive: Option<String>,
        /// Reads per hundred requests.
        reads_percent: u32,
        /// Requests in flight.
        depth: u32,
    },
    /// Write amplification in steady state.
    Amplification {
        /// The drive.
        drive: String,
        /// Where the writes go.
        pattern: WritePattern,
        /// The share of the drive that holds data and is written, in per cent.
        fill_percent: f64,
    },
}

/// Reads points with the columns `drive,offered`, or `reads_percent,depth` and maybe `drive`, or
/// `drive,pattern,fill_percent`. Other columns are ignored: a file of rows is a file of points too.
///
/// # Errors
/// None of these sets of columns, or values that no test can have.
pub fn points(text: &str) -> Result<Vec<Point>, RowErrors> {
    let header = text.lines().next().unwrap_or_default();
    let has = |name: &str| header.split(',').any(|column| column.trim().trim_matches('"') == name);
    let (needed, point): (&[&str], fn(&mut Sheet, Line) -> Point) = match () {
        () if has("reads_percent") => (&["reads_percent", "depth"], mix),
        () if has("pattern") => (&["drive", "pattern", "fill_percent"], amplified),
        () => (&["drive", "offered"], random_writes),
    };
    let mut sheet = Sheet::parse(text, needed)?;
    let points: Vec<Point> = sheet.lines().map(|line| point(&mut sheet, line)).collect();
    sheet.finish(points)
}

fn random_writes(sheet: &mut Sheet, line: Line) -> Point {
    let offered = sheet.needed_number(line, "offered");
    if !(5_001.0..=1e8).contains(&offered) {
        let reason = format!("an offered rate of {offered}");
        sheet.blame(line, reason, "it must be above 5000, in requests per second".into());
    }
    Point::RandomWrites { drive: sheet.needed_text(line, "drive"), offered: RequestRate(offered as u64) }
}

fn mix(sheet: &mut Sheet, line: Line) -> Point {
    let (reads_percent, depth) = mixes::mix(sheet, line);
    Point::Mix { drive: sheet.text(line, "drive").map(str::to_string), reads_percent, depth }
}

fn amplified(sheet: &mut Sheet, line: Line) -> Point {
    let (drive, pattern, fill_percent) = amplification::case(sheet, line);
    Point::Amplification { drive, pattern, fill_percent }
}
