//! Rows of write amplification by pattern and fill.

use super::sheet::{Line, RowErrors, Sheet};
use crate::drives::WritePattern;
use tailcut_base::config::Choice;

/// What was measured on a real drive: bytes written to its flash ÷ bytes written by the host, in steady state.
#[derive(Clone, Debug, PartialEq)]
pub struct AmplificationRow {
    /// The drive's short name in the file.
    pub drive: String,
    /// Where the writes of 4 KiB went.
    pub pattern: WritePattern,
    /// The share of the drive that holds data and is written, in per cent.
    pub fill_percent: f64,
    /// The write amplification, at least 0.
    pub write_amplification: f64,
}

/// Reads rows with the columns `drive`, `pattern`, `fill_percent` and `write_amplification`.
///
/// # Errors
/// Everything that is wrong: missing columns, no numbers, patterns without a model, fill above 100 %.
pub fn write_amplification(text: &str) -> Result<Vec<AmplificationRow>, RowErrors> {
    let mut sheet = Sheet::parse(text, &["drive", "pattern", "fill_percent", "write_amplification"])?;
    let rows: Vec<AmplificationRow> = sheet
        .lines()
        .map(|line| {
            let (drive, pattern, fill_percent) = case(&mut sheet, line);
            let write_amplification = sheet.needed_number(line, "write_amplification");
            AmplificationRow { drive, pattern, fill_percent, write_amplification }
        })
        .collect();
    sheet.finish(rows)
}

/// Drive, pattern and fill of a line.
pub(super) fn case(sheet: &mut Sheet, line: Line) -> (String, WritePattern, f64) {
    let drive = sheet.needed_text(line, "drive");
    let name = sheet.needed_text(line, "pattern");
    let pattern = WritePattern::by_name(&name).unwrap_or_else(|| {
        let reason = format!("there is no pattern '{name}'");
        sheet.blame(line, reason, format!("the patterns are {}", WritePattern::NAMES.join(", ")));
        WritePattern::Uniform
    });
    let fill = sheet.needed_number(line, "fill_percent");
    if !(1.0..=100.0).contains(&fill) {
        sheet.blame(line, format!("a fill of {fill} %"), "it can be 1 to 100".into());
    }
    (drive, pattern, fill)
}
