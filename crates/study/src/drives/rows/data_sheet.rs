//! Data sheets of drives.

use super::sheet::{RowErrors, Sheet};

/// What a manufacturer states of a drive; `None` where the sheet has no figure.
#[derive(Clone, Debug, PartialEq)]
pub struct DataSheet {
    /// The drive's short name in the file.
    pub drive: String,
    /// Capacity in units of 10^9 bytes.
    pub capacity_gb: f64,
    /// Reads in order, in 10^6 bytes per second.
    pub sequential_read_mb_s: Option<f64>,
    /// Writes in order, in 10^6 bytes per second.
    pub sequential_write_mb_s: Option<f64>,
    /// Random reads of 4 KiB per second.
    pub random_read_iops: Option<f64>,
    /// Random writes of 4 KiB per second, sustained.
    pub random_write_iops: Option<f64>,
}

/// Reads rows with the columns `drive` and `capacity_gb`, and, as far as they are stated,
/// `sequential_read_mb_s`, `sequential_write_mb_s`, `random_read_iops` and `random_write_iops`.
///
/// # Errors
/// Missing columns, no numbers, a drive without capacity.
pub fn data_sheets(text: &str) -> Result<Vec<DataSheet>, RowErrors> {
    let mut sheet = Sheet::parse(text, &["drive", "capacity_gb"])?;
    let rows: Vec<DataSheet> = sheet
        .lines()
        .map(|line| {
            let capacity_gb = sheet.needed_number(line, "capacity_gb");
            if capacity_gb == Some(0.0) {
                sheet.add_error(
                    line,
                    "a drive of 0 GB".into(),
                    "give its capacity in units of 10^9 bytes".into(),
                );
            }
            DataSheet {
                drive: sheet.needed_text(line, "drive"),
                capacity_gb: capacity_gb.unwrap_or(0.0),
                sequential_read_mb_s: sheet.number_in(line, "sequential_read_mb_s"),
                sequential_write_mb_s: sheet.number_in(line, "sequential_write_mb_s"),
                random_read_iops: sheet.number_in(line, "random_read_iops"),
                random_write_iops: sheet.number_in(line, "random_write_iops"),
            }
        })
        .collect();
    sheet.finish(rows)
}
