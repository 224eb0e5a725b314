//! Rows of mixes of reads and writes at a given depth, as fio reports them.

use super::sheet::{Line, RowErrors, Sheet};
use crate::drives::PERCENTILES;

/// What was measured on a real drive under a mix of random requests of 4 KiB.
#[derive(Clone, Debug, PartialEq)]
pub struct MixRow {
    /// Reads per hundred requests.
    pub reads_percent: u32,
    /// Requests in flight.
    pub depth: u32,
    /// Reads per second.
    pub reads_per_s: f64,
    /// Writes per second.
    pub writes_per_s: f64,
    /// Reads at each of [`PERCENTILES`], in microseconds; `None` where it was not measured.
    pub reads: [Option<f64>; PERCENTILES.len()],
    /// Writes likewise.
    pub writes: [Option<f64>; PERCENTILES.len()],
}

/// Reads rows with the columns `reads_percent`, `depth`, `read_iops`, `write_iops`, and `read_p50` to `read_p99.99` and
/// `write_p50` to `write_p99.99` as far as they were measured. A column `bs`, if there is one, must be 4096 everywhere.
///
/// # Errors
/// Everything that is wrong: missing columns, no numbers, percentiles that descend, other sizes.
pub fn mixes(text: &str) -> Result<Vec<MixRow>, RowErrors> {
    let mut sheet = Sheet::parse(text, &["reads_percent", "depth", "read_iops", "write_iops", "read_p50"])?;
    let rows: Vec<MixRow> = sheet.lines().map(|line| row(&mut sheet, line)).collect();
    sheet.finish(rows)
}

fn row(sheet: &mut Sheet, line: Line) -> MixRow {
    if let Some(size) = sheet.number_in(line, "bs").filter(|size| *size != 4096.0) {
        sheet.blame(
            line,
            format!("requests of {size} bytes"),
            "only rows of 4096 bytes can be compared".into(),
        );
    }
    let (reads_percent, depth) = mix(sheet, line);
    MixRow {
        reads_percent,
        depth,
        reads_per_s: sheet.needed_number(line, "read_iops"),
        writes_per_s: sheet.needed_number(line, "write_iops"),
        reads: percentiles(sheet, line, "read"),
        writes: percentiles(sheet, line, "write"),
    }
}

/// The share of reads and the depth of a line.
pub(super) fn mix(sheet: &mut Sheet, line: Line) -> (u32, u32) {
    let reads = sheet.needed_number(line, "reads_percent");
    if reads > 100.0 {
        sheet.blame(line, format!("{reads} % of the requests read"), "it can be 0 to 100".into());
    }
    let depth = sheet.needed_number(line, "depth");
    if !(1.0..=65_536.0).contains(&depth) {
        sheet.blame(line, format!("a depth of {depth}"), "it can be 1 to 65536".into());
    }
    (reads as u32, depth as u32)
}

fn percentiles(sheet: &mut Sheet, line: Line, kind: &str) -> [Option<f64>; PERCENTILES.len()] {
    let mut last = (String::new(), 0.0);
    PERCENTILES.map(|percentile| {
        let column = match percentile.name {
            "max" => format!("{kind}_max_us"),
            _ => format!("{kind}_p{}", percentile.percent),
        };
        // fio writes 0 where there was no request.
        let micros = sheet.number_in(line, &column).filter(|micros| *micros > 0.0)?;
        if micros < last.1 {
            let reason =
                format!("'{column}' is {micros} and '{}' is {}: percentiles never descend", last.0, last.1);
            sheet.blame(line, reason, "check the order of the columns".into());
        }
        last = (column, micros);
        Some(micros)
    })
}
