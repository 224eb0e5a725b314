//! Rows of mixes of reads and writes at a given depth, as fio reports them.

use super::sheet::{Line, RowErrors, Sheet};
use super::{MeasuredRow, Point};
use crate::drives::{Load, Mix, PERCENTILES};

/// The rows of a file. A column `bs`, if there is one, must be 4096 everywhere.
pub(super) fn rows(text: &str) -> Result<Vec<MeasuredRow>, RowErrors> {
    let mut sheet = Sheet::parse(text, &["reads_percent", "depth", "read_iops", "write_iops", "read_p50"])?;
    let rows: Vec<MeasuredRow> = sheet.lines().map(|line| row(&mut sheet, line)).collect();
    sheet.finish(rows)
}

fn row(sheet: &mut Sheet, line: Line) -> MeasuredRow {
    if let Some(size) = sheet.number_in(line, "bs").filter(|size| *size != 4096.0) {
        sheet.add_error(
            line,
            format!("requests of {size} bytes"),
            "only rows of 4096 bytes can be compared".into(),
        );
    }
    let filled = sheet.number_in(line, "filled_percent");
    if let Some(filled) = filled.filter(|filled| !(0.1..=100.0).contains(filled)) {
        sheet.add_error(line, format!("{filled} % of the drive hold data"), "it can be 0.1 to 100".into());
    }
    let Point { drive, load } = point(sheet, line);
    MeasuredRow {
        reads_per_s: sheet.needed_number(line, "read_iops"),
        writes_per_s: sheet.needed_number(line, "write_iops"),
        reads: percentiles(sheet, line, "read"),
        writes: percentiles(sheet, line, "write"),
        filled_ppm: filled.map(|percent| (percent * 1e4) as u32),
        ..MeasuredRow::of(drive, load)
    }
}

/// The point of a line.
pub(super) fn point(sheet: &mut Sheet, line: Line) -> Point {
    let load = Mix {
        reads_percent: sheet.needed_count(line, "reads_percent", 0..=100),
        depth: sheet.needed_count(line, "depth", 1..=65_536),
    };
    Point { drive: sheet.text(line, "drive").unwrap_or_default().to_string(), load: Load::Mix(load) }
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
            sheet.add_error(line, reason, "check the order of the columns".into());
        }
        last = (column, micros);
        Some(micros)
    })
}
