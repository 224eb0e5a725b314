//! A first pass over a trace: how long it is, which disks it has, and everything wrong with it.

use super::disks::Places;
use super::error::TraceError;
use super::format::Format;
use super::reader::{Options, Tally, Trace};
use super::record::Record;
use std::path::Path;
use tailcut_base::Nanos;

/// A summary of a trace's content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceScan {
    /// Format of the trace, given or recognised.
    pub format: Format,
    /// The disks of the trace, by number.
    pub disks: Vec<DiskExtent>,
    /// Time from the first record to the last.
    pub duration: Nanos,
    /// Records, skipped lines, records out of order.
    pub tally: Tally,
}

/// One disk of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiskExtent {
    /// Number of the disk, as in [`Record::disk`].
    pub number: u32,
    /// Name of the disk in the trace.
    pub label: String,
    /// Number of requests of all kinds to the disk.
    pub requests: u64,
    /// Requests to it once those beyond 32 MiB are cut.
    pub pieces: u64,
    /// The byte behind the highest that was addressed: its span.
    pub end: u64,
}

/// The most sectors of one command: NVMe's 16-bit and ATA's 48-bit commands end there (32 MiB).
pub(super) const MOST_SECTORS: u32 = 65_536;

impl TraceScan {
    /// The span of the widest disk in bytes.
    pub fn span(&self) -> u64 {
        self.disks.iter().map(|disk| disk.end).max().unwrap_or(0)
    }
}

impl DiskExtent {
    fn new(number: u32) -> DiskExtent {
        DiskExtent { number, label: String::new(), requests: 0, pieces: 0, end: 0 }
    }

    #[inline]
    fn count(&mut self, record: &Record) {
        self.requests += 1;
        self.pieces += u64::from(record.sectors().div_ceil(MOST_SECTORS).max(1));
        self.end = self.end.max(record.end());
    }
}

/// Reads a whole trace without keeping it.
///
/// # Errors
/// As [`Trace::open`] and [`Trace::next_record`], except that all bad lines are reported at once:
/// their number and the first [`Tally::SHOWN`].
pub fn scan(path: &Path, options: &Options) -> Result<TraceScan, TraceError> {
    let mut trace = Trace::open(path, &Options { skip_bad_lines: true, ..options.clone() })?;
    let scan = read_all(&mut trace);
    let readable = matches!(scan, Ok(_) | Err(TraceError::Empty { .. }));
    // A trace of nothing but bad lines is bad rather than empty.
    if trace.tally().bad > 0 && !options.skip_bad_lines && readable {
        return Err(trace.bad_records());
    }
    scan
}

fn read_all(trace: &mut Trace) -> Result<TraceScan, TraceError> {
    let mut places = Places::default();
    let mut disks: Vec<DiskExtent> = Vec::new();
    let mut duration = Nanos::ZERO;
    while let Some(record) = trace.next_record()? {
        let place = places.find_or_add(record.disk);
        if place == disks.len() {
            disks.push(DiskExtent::new(record.disk));
        }
        disks[place].count(&record);
        duration = record.at;
    }
    disks.sort_by_key(|disk| disk.number);
    for disk in &mut disks {
        disk.label = trace.disk_label(disk.number);
    }
    Ok(TraceScan { format: trace.format(), disks, duration, tally: trace.tally().clone() })
}
