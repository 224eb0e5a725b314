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

/// Capacities of drives, in units of 10^9 bytes: four times the largest on the market in 2026 at the most.
const CAPACITIES_GB: std::ops::RangeInclusive<f64> = 8.0..=1e6;

/// Reads rows with the columns `drive` and `capacity_gb`, and, as far as they are stated,
/// `sequential_read_mb_s`, `sequential_write_mb_s`, `random_read_iops` and `random_write_iops`.
///
/// # Errors
/// Missing columns, no numbers, a capacity out of range, random writes that are faster than those in order.
pub fn data_sheets(text: &str) -> Result<Vec<DataSheet>, RowErrors> {
    let mut sheet = Sheet::parse(text, &["drive", "capacity_gb"])?;
    let rows: Vec<DataSheet> = sheet
        .lines()
        .map(|line| {
            let capacity_gb = sheet.needed_number(line, "capacity_gb");
            if let Some(capacity) = capacity_gb.filter(|capacity| !CAPACITIES_GB.contains(capacity)) {
                sheet.add_error(
                    line,
                    format!("a drive of {capacity} GB"),
                    format!(
                        "give its capacity in units of 10^9 bytes, {} to {}",
                        CAPACITIES_GB.start(),
                        CAPACITIES_GB.end()
                    ),
                );
            }
            let [in_order, at_random] =
                ["sequential_write_mb_s", "random_write_iops"].map(|column| sheet.number_in(line, column));
            if let (Some(in_order), Some(at_random)) = (in_order, at_random)
                && in_order * 1e6 < at_random * 4096.0
            {
                sheet.add_error(
                    line,
                    format!(
                        "{in_order} MB/s written in order are less than {at_random} random writes of 4 KiB a \
                         second, {:.0} MB/s",
                        at_random * 4096.0 / 1e6
                    ),
                    "give sequential_write_mb_s in units of 10^6 bytes a second".into(),
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
