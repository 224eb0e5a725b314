//! Rows of write amplification by pattern and fill.

use super::sheet::{Line, RowErrors, Sheet};
use super::{MeasuredRow, Point};
use crate::drives::{Amplification, Load, WritePattern};
use tailcut_base::config::Choice;

/// The rows of a file.
pub(super) fn rows(text: &str) -> Result<Vec<MeasuredRow>, RowErrors> {
    let mut sheet = Sheet::parse(text, &["drive", "pattern", "fill_percent", COLUMN])?;
    let rows: Vec<MeasuredRow> = sheet.lines().map(|line| row(&mut sheet, line)).collect();
    sheet.finish(rows)
}

fn row(sheet: &mut Sheet, line: Line) -> MeasuredRow {
    let Point { drive, load } = point(sheet, line);
    let measured = sheet.needed_number(line, COLUMN);
    if let Some(measured) = measured.filter(|measured| *measured < 1.0) {
        sheet.add_error(line, format!("'{COLUMN}' is {measured}"), "it is 1 without collection".into());
    }
    MeasuredRow { write_amplification: measured, ..MeasuredRow::of(drive, load) }
}

/// The point of a line.
pub(super) fn point(sheet: &mut Sheet, line: Line) -> Point {
    let drive = sheet.needed_text(line, "drive");
    let name = sheet.needed_text(line, "pattern");
    let pattern = WritePattern::by_name(&name).unwrap_or_else(|| {
        let reason = format!("there is no pattern '{name}'");
        sheet.add_error(line, reason, format!("the patterns are {}", WritePattern::NAMES.join(", ")));
        WritePattern::Uniform
    });
    let fill_percent = sheet.needed_number(line, "fill_percent").unwrap_or(FULL);
    if !(1.0..=FULL).contains(&fill_percent) {
        sheet.add_error(line, format!("a fill of {fill_percent} %"), "it can be 1 to 100".into());
    }
    Point { drive, load: Load::Amplification(Amplification { pattern, fill_percent }) }
}

const COLUMN: &str = "write_amplification";
const FULL: f64 = 100.0;
