//! Rows of random writes at a given rate, in the columns of SSD-iq's figures.

use super::sheet::{Line, RowErrors, Sheet};
use super::{LEAST_BEYOND, MeasuredRow, Point};
use crate::drives::{Load, MEDIAN, PERCENTILES, Percentile, RandomWrites, RequestRate};
use std::collections::BTreeSet;

/// The rows of a file.
pub(super) fn rows(text: &str) -> Result<Vec<MeasuredRow>, RowErrors> {
    let columns: Vec<String> = COLUMNS.into_iter().map(String::from).chain(needed_percentiles()).collect();
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
    let needed = PERCENTILES.iter().filter(|percentile| NEEDED.contains(&percentile.percent));
    needed.flat_map(|percentile| ["r", "w"].map(|kind| format!("{kind}_{}", percentile.name)))
}

fn row(sheet: &mut Sheet, line: Line) -> MeasuredRow {
    let offered = offered(sheet, line);
    let client = RandomWrites { offered: offered.unwrap_or(LEAST_OFFERED) };
    let row = MeasuredRow {
        reads: percentiles(sheet, line, "r"),
        writes: percentiles(sheet, line, "w"),
        reads_per_s: sheet.needed_number(line, "reads_per_s"),
        writes_per_s: sheet.needed_number(line, "writes_per_s"),
        ..MeasuredRow::of(sheet.needed_text(line, "drive"), Load::RandomWrites(client))
    };
    let (reads, writes) = client.demand();
    for (column, reached, demand) in
        [("reads_per_s", row.reads_per_s, reads), ("writes_per_s", row.writes_per_s, writes)]
    {
        let Some(reached) = reached else { continue };
        if offered.is_some() && reached > demand * EXCEEDED_BY {
            let reason =
                format!("'{column}' is {reached:.0}, and the client asks for {demand:.0} at this rate");
            sheet.add_error(
                line,
                reason,
                "give requests per second of all threads under the same protocol".into(),
            );
        }
        if reached == 0.0 {
            sheet.add_error(line, format!("'{column}' is 0"), "it is the rate that was reached".into());
        }
    }
    row
}

/// The point of a line.
pub(super) fn point(sheet: &mut Sheet, line: Line) -> Point {
    let offered = offered(sheet, line).unwrap_or(LEAST_OFFERED);
    Point { drive: sheet.needed_text(line, "drive"), load: Load::RandomWrites(RandomWrites { offered }) }
}

/// The rate of a line; `None` after an error.
fn offered(sheet: &mut Sheet, line: Line) -> Option<RequestRate> {
    let offered = sheet.needed_number(line, "offered")?;
    if offered > MOST_OFFERED {
        let remedy = format!("it can be {MOST_OFFERED} at the most");
        sheet.add_error(line, format!("an offered rate of {offered:e} requests per second"), remedy);
        return None;
    }
    if offered < LEAST_OFFERED.0 as f64 {
        let reason =
            format!("an offered rate of {offered} leaves nothing for the six threads beside the first");
        sheet.add_error(line, reason, "it must be above 5000, in requests per second".into());
        return None;
    }
    Some(RequestRate(offered as u64))
}

/// The percentiles of reads (`r`) or writes (`w`) of a line, checked.
fn percentiles(sheet: &mut Sheet, line: Line, kind: &str) -> [Option<f64>; PERCENTILES.len()] {
    let column = |percentile: &Percentile| format!("{kind}_{}", percentile.name);
    let micros = PERCENTILES.map(|percentile| sheet.number_in(line, &column(&percentile)));
    // Of writes there are as many; a cell that is no number is complained of once.
    let requests = match kind {
        "r" => sheet.needed_number(line, "measured_reads"),
        _ => sheet.text(line, "measured_reads").and_then(|text| text.parse().ok()),
    };
    let mut last: Option<(&Percentile, f64)> = None;
    for (percentile, micros) in PERCENTILES.iter().zip(micros) {
        let Some(micros) = micros else { continue };
        if let Some((lower, above)) = last.filter(|&(_, above)| micros < above) {
            let (name, lower) = (column(percentile), column(lower));
            let reason = format!("'{name}' is {micros} and '{lower}' is {above}: percentiles never descend");
            sheet.add_error(line, reason, "check the order of the columns".into());
        }
        let beyond = requests.map_or(LEAST_BEYOND, |requests| percentile.requests_beyond(requests as u64));
        if beyond < LEAST_BEYOND && percentile.percent < 100.0 {
            let requests = requests.unwrap_or(0.0);
            let name = column(percentile);
            let reason = format!(
                "'{name}' rests on {beyond:.1} of {requests} requests; {LEAST_BEYOND} at least are needed"
            );
            sheet.add_error(line, reason, "measure longer, or leave the cell empty".into());
        }
        last = Some((percentile, micros));
    }
    if let Some(median) = micros[MEDIAN].filter(|median| !POSSIBLE_MEDIAN.contains(median)) {
        let name = column(&PERCENTILES[MEDIAN]);
        let reason = format!(
            "'{name}' is {median}, and in microseconds it can be {} to {} under this protocol (64 requests \
                in flight, 5,000 a second of each kind)",
            POSSIBLE_MEDIAN.start(),
            POSSIBLE_MEDIAN.end()
        );
        sheet.add_error(line, reason, "convert all latencies to microseconds".into());
    }
    micros
}

/// The least rate of all threads: the first alone has 5,000 requests a second.
const LEAST_OFFERED: RequestRate = RequestRate(5_001);
const MOST_OFFERED: f64 = 1e8;
const COLUMNS: [&str; 5] = ["drive", "offered", "reads_per_s", "writes_per_s", "measured_reads"];
/// The percentiles whose columns may not be missing, in per cent.
const NEEDED: std::ops::RangeInclusive<f64> = 50.0..=99.99;
/// How far rates may exceed the demand: an exponential schedule varies, and figures are rounded.
const EXCEEDED_BY: f64 = 1.03;
/// A client with 64 requests in flight and 5,000 of each kind a second has a mean latency below 12.8 ms by
/// Little's law, and a median of at most twice that; no system call takes less than a microsecond.
const POSSIBLE_MEDIAN: std::ops::RangeInclusive<f64> = 1.0..=25_600.0;
