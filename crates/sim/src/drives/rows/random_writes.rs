//! Rows of random writes at a given rate, in the columns of SSD-iq's figures.

use super::LEAST_BEYOND;
use super::sheet::{Line, RowErrors, Sheet};
use crate::drives::{PERCENTILES, Percentile, RandomWrites, RequestRate};
use std::collections::BTreeSet;

/// What was measured on a real drive under [`RandomWrites`].
#[derive(Clone, Debug, PartialEq)]
pub struct MeasuredRow {
    /// The drive's short name in the file.
    pub drive: String,
    /// The offered rate.
    pub offered: RequestRate,
    /// Reads of all threads per second.
    pub reads_per_s: f64,
    /// Writes of all threads per second.
    pub writes_per_s: f64,
    /// Reads of the first thread at each of [`PERCENTILES`], in microseconds; `None` where it was not measured.
    pub reads: [Option<f64>; PERCENTILES.len()],
    /// Writes of the first thread likewise.
    pub writes: [Option<f64>; PERCENTILES.len()],
}

impl MeasuredRow {
    /// True of a drive that did not keep up with what was offered: it wrote less than 97 % of it.
    pub fn is_saturated(&self) -> bool {
        let (_, writes) = RandomWrites { offered: self.offered }.demand();
        self.writes_per_s < SATURATED_BELOW * writes
    }
}

/// Reads rows with the columns `drive`, `offered`, `reads_per_s`, `writes_per_s`, `measured_reads` and, for each of
/// [`PERCENTILES`] up to `99p99`, `r_NAME` of reads and `w_NAME` of writes of the first thread; `99p999` and `max` may be
/// missing.
///
/// # Errors
/// Everything that is wrong: missing columns, no numbers, percentiles that descend, that contradict the protocol (which bounds
/// latencies by Little's law) as they do in another unit, or that fewer than [`LEAST_BEYOND`] requests lie beyond;
/// rates above what was offered; a drive that reached no rate.
pub fn random_writes(text: &str) -> Result<Vec<MeasuredRow>, RowErrors> {
    let columns: Vec<String> = NEEDED.into_iter().map(String::from).chain(needed_percentiles()).collect();
    let needed: Vec<&str> = columns.iter().map(String::as_str).collect();
    let mut sheet = Sheet::parse(text, &needed)?;
    let rows: Vec<MeasuredRow> = sheet.lines().map(|line| row(&mut sheet, line)).collect();
    for drive in rows.iter().map(|row| &row.drive).collect::<BTreeSet<_>>() {
        let mut of_drive = rows.iter().filter(|row| row.drive == *drive);
        if of_drive.all(MeasuredRow::is_saturated) {
            sheet.complain(
                None,
                format!("drive '{drive}' never reached the rate that it was offered"),
                "add a row with a lower rate: how long its flash takes shows only below saturation".into(),
            );
        }
    }
    sheet.finish(rows)
}

fn needed_percentiles() -> impl Iterator<Item = String> {
    let needed = PERCENTILES.iter().filter(|percentile| percentile.percent <= NEEDED_UP_TO);
    needed.flat_map(|percentile| ["r", "w"].map(|kind| format!("{kind}_{}", percentile.name)))
}

fn row(sheet: &mut Sheet, line: Line) -> MeasuredRow {
    let reads = percentiles(sheet, line, "r");
    let row = MeasuredRow {
        drive: sheet.needed_text(line, "drive"),
        offered: RequestRate(sheet.needed_number(line, "offered") as u64),
        reads_per_s: sheet.needed_number(line, "reads_per_s"),
        writes_per_s: sheet.needed_number(line, "writes_per_s"),
        reads,
        writes: percentiles(sheet, line, "w"),
    };
    check_rates(sheet, line, &row);
    row
}

fn check_rates(sheet: &mut Sheet, line: Line, row: &MeasuredRow) {
    let client = RandomWrites { offered: row.offered };
    if row.offered.0 <= 5_000 {
        let reason = format!(
            "an offered rate of {} leaves nothing for the six threads beside the first",
            row.offered.0
        );
        return sheet.blame(line, reason, "it must be above 5000, in requests per second".into());
    }
    let (reads, writes) = client.demand();
    for (column, reached, demand) in
        [("reads_per_s", row.reads_per_s, reads), ("writes_per_s", row.writes_per_s, writes)]
    {
        if reached > demand * EXCEEDED_BY {
            let reason =
                format!("'{column}' is {reached:.0}, and the client asks for {demand:.0} at this rate");
            sheet.blame(
                line,
                reason,
                "give requests per second of all threads under the same protocol".into(),
            );
        }
    }
    if row.writes_per_s == 0.0 {
        sheet.blame(line, "no write was counted".into(), "'writes_per_s' is what was reached".into());
    }
}

/// The percentiles of reads (`r`) or writes (`w`) of a line, checked.
fn percentiles(sheet: &mut Sheet, line: Line, kind: &str) -> [Option<f64>; PERCENTILES.len()] {
    let column = |percentile: &Percentile| format!("{kind}_{}", percentile.name);
    let micros = PERCENTILES.map(|percentile| sheet.number_in(line, &column(&percentile)));
    let requests = sheet.needed_number(line, "measured_reads") as u64;
    let mut last: Option<(&Percentile, f64)> = None;
    for (percentile, micros) in PERCENTILES.iter().zip(micros) {
        let Some(micros) = micros else { continue };
        if let Some((lower, above)) = last.filter(|&(_, above)| micros < above) {
            let (name, lower) = (column(percentile), column(lower));
            let reason = format!("'{name}' is {micros} and '{lower}' is {above}: percentiles never descend");
            sheet.blame(line, reason, "check the order of the columns".into());
        }
        let beyond = percentile.requests_beyond(requests);
        if beyond < LEAST_BEYOND && percentile.percent < 100.0 {
            let name = column(percentile);
            let reason = format!(
                "'{name}' rests on {beyond:.1} of {requests} requests; {LEAST_BEYOND} at least are needed"
            );
            sheet.blame(line, reason, "measure longer, or leave the cell empty".into());
        }
        last = Some((percentile, micros));
    }
    if let Some(median) = micros[0].filter(|median| !POSSIBLE_MEDIAN.contains(median)) {
        let name = column(&PERCENTILES[0]);
        let reason = format!(
            "'{name}' is {median}, and in microseconds it can be {} to {} under this protocol (64 requests in flight, 5,000 a second of each kind)",
            POSSIBLE_MEDIAN.start(),
            POSSIBLE_MEDIAN.end()
        );
        sheet.blame(line, reason, "convert all latencies to microseconds".into());
    }
    micros
}

const NEEDED: [&str; 5] = ["drive", "offered", "reads_per_s", "writes_per_s", "measured_reads"];
/// The highest percentile whose columns may not be missing.
const NEEDED_UP_TO: f64 = 99.99;
/// The share of the demanded writes below which a drive counts as saturated. Reached rates are a minute's counts
/// and within some tenths of a per cent of the demand.
const SATURATED_BELOW: f64 = 0.97;
const EXCEEDED_BY: f64 = 1.03;
/// A client with 64 requests in flight and 5,000 of each kind a second has a mean latency below 12.8 ms by Little's
/// law, and a median of at most twice that; no system call takes less than a microsecond.
const POSSIBLE_MEDIAN: std::ops::RangeInclusive<f64> = 1.0..=25_600.0;
