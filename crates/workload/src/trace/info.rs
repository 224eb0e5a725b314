//! What kind of load a trace is.

use super::disks::Places;
use super::error::TraceError;
use super::format::Format;
use super::pages::{Footprint, PageMeter};
use super::rates::{RateMeter, Rates};
use super::reader::{Options, Trace};
use super::record::Record;
use super::scan::{DiskExtent, TraceScan, scan};
use super::sequence::{Sequence, SequenceMeter};
use super::sizes::{SizeMeter, Sizes};
use crate::characterization::{CensusMeter, Characterization};
use serde::Serialize;
use std::path::Path;
use tailcut_base::config::Choice;
use tailcut_base::histogram::LatencyHistogram;
use tailcut_base::{Nanos, Op};

/// The characteristics of a trace.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Info {
    /// Path of the trace file.
    pub file: String,
    /// Name of the trace's format.
    pub format: &'static str,
    /// Number of requests of all kinds.
    pub requests: u64,
    /// Bytes of all reads and writes.
    pub bytes: u64,
    /// From the first request to the last, in nanoseconds.
    pub duration_ns: u64,
    /// The byte behind the highest that any disk was addressed at.
    pub span_bytes: u64,
    /// Lines that were skipped because they were bad.
    pub bad_lines: u64,
    /// Requests recorded earlier than one before them.
    pub backwards: u64,
    /// Number and bytes of the requests of each kind.
    pub mix: Vec<OpShare>,
    /// Distribution of the sizes of reads.
    pub read_sizes: Sizes,
    /// Distribution of the sizes of writes.
    pub write_sizes: Sizes,
    /// How many reads and writes keep to boundaries of 4 KiB and of 512 B.
    pub alignment: Alignment,
    /// Requests and bytes per second, and the times between requests.
    pub rates: Rates,
    /// Sequentiality of reads and writes, over all disks.
    pub sequence: Sequence,
    /// The measures of Sprinkler's table 1. Its randomness differs from [`Info::sequence`]: it looks
    /// at the last request of the same kind only.
    pub characterization: Characterization,
    /// Pages of 4 KiB that reads and writes touched, over all disks.
    pub footprint: Footprint,
    /// Equal parts of the duration, in order.
    pub windows: Vec<Window>,
    /// Distribution of the recorded response times; `None` if the trace has none.
    pub response: Option<Times>,
    /// Completions without a response time: their requests were merged, split, or issued before the trace.
    pub unmatched_completions: u64,
    /// The figures of each disk, by number.
    pub disks: Vec<DiskInfo>,
}

/// One kind of request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OpShare {
    /// Kind of request: `read`, `write`, `trim` or `flush`.
    pub op: &'static str,
    /// Number of requests of this kind.
    pub requests: u64,
    /// Bytes that the requests of this kind covered.
    pub bytes: u64,
    /// Number of requests of this kind with force unit access.
    pub fua: u64,
}

/// How many reads and writes keep to boundaries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Alignment {
    /// Number of reads and writes, of which the other counts are parts.
    pub requests: u64,
    /// Requests that begin on a 4 KiB boundary.
    pub offset_4k: u64,
    /// Requests whose size is a multiple of 4 KiB.
    pub size_4k: u64,
    /// Requests that begin on a 4 KiB boundary and whose size is a multiple of 4 KiB.
    pub both_4k: u64,
    /// Requests that begin and end on 512 B boundaries.
    pub whole_sectors: u64,
}

/// A part of a trace's duration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Window {
    /// Beginning of the window, in nanoseconds since the first request.
    pub start_ns: u64,
    /// Requests of all kinds in the window.
    pub requests: u64,
    /// Bytes read and written in the window.
    pub bytes: u64,
    /// The working set of the window: distinct 4 KiB pages touched in it, see [`Footprint::sampling`].
    pub pages: u64,
}

/// A distribution of times in nanoseconds, at most 0.1 % too high.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Times {
    /// Mean time in ns, exactly.
    pub mean_ns: f64,
    /// The median: the time in ns that 50 % did not exceed.
    pub p50_ns: u64,
    /// The time in ns that 90 % did not exceed.
    pub p90_ns: u64,
    /// The time in ns that 99 % did not exceed.
    pub p99_ns: u64,
    /// The time in ns that 99.9 % did not exceed.
    pub p999_ns: u64,
    /// The longest time in ns, exactly.
    pub max_ns: u64,
}

/// The figures of one disk of a trace.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DiskInfo {
    /// Number of the disk, as in [`Record::disk`](super::Record::disk).
    pub number: u32,
    /// Name of the disk in the trace.
    pub label: String,
    /// Number of requests of all kinds to the disk.
    pub requests: u64,
    /// Number of reads of the disk.
    pub reads: u64,
    /// Number of writes to the disk.
    pub writes: u64,
    /// Bytes read from the disk.
    pub read_bytes: u64,
    /// Bytes written to the disk.
    pub written_bytes: u64,
    /// The byte behind the highest that was addressed.
    pub span_bytes: u64,
    /// Sequentiality of the reads and writes of the disk.
    pub sequence: Sequence,
}

impl Info {
    /// How many windows of time there are.
    pub const WINDOWS: u8 = 10;

    /// The share of reads among all requests, 0 … 1.
    pub fn read_share(&self) -> f64 {
        let reads =
            self.mix.iter().find(|share| share.op == Op::Read.name()).map_or(0, |share| share.requests);
        reads as f64 / self.requests.max(1) as f64
    }
}

impl Times {
    pub(super) fn of(histogram: &LatencyHistogram) -> Times {
        let percentile = |p| histogram.percentile(p).0;
        Times {
            mean_ns: histogram.mean(),
            p50_ns: percentile(50.0),
            p90_ns: percentile(90.0),
            p99_ns: percentile(99.0),
            p999_ns: percentile(99.9),
            max_ns: histogram.max().0,
        }
    }
}

/// Characterises a trace in two passes, the first of which finds its length, its disks and all
/// bad lines. Memory is bounded: beyond some four million distinct pages the footprint is
/// estimated from a sample ([`Footprint::sampling`]); everything else is exact except the
/// percentiles of times (0.1 %).
///
/// `progress` is called from time to time with the number of records read in the second pass and their
/// total; it returns false to end early, and the figures then hold for the part that was read.
///
/// # Errors
/// As [`scan`].
pub fn characterise(
    path: &Path,
    options: &Options,
    progress: &mut dyn FnMut(u64, u64) -> bool,
) -> Result<Info, TraceError> {
    let scan = scan(path, options)?;
    let options = Options { format: Some(scan.format), ..options.clone() };
    let mut trace = Trace::open(path, &options)?;
    let mut meter = Meter::new(&scan);
    let mut count = 0u64;
    while let Some(record) = trace.next_record()? {
        meter.count(&record);
        count += 1;
        if count.is_multiple_of(1 << 16) && !progress(count, scan.tally.records) {
            break;
        }
    }
    Ok(meter.finish(&trace, &scan))
}

/// Collects the measures of [`Info`].
struct Meter {
    duration: u64,
    mix: Vec<OpShare>,
    reads: SizeMeter,
    writes: SizeMeter,
    alignment: Alignment,
    rates: RateMeter,
    response: LatencyHistogram,
    places: Places,
    disks: Vec<DiskMeter>,
    characterization: CensusMeter,
    pages: PageMeter,
    windows: Vec<Window>,
}

struct DiskMeter {
    info: DiskInfo,
    sequence: SequenceMeter,
    /// Its first page in the numbering of all disks' pages.
    first_page: u64,
}

impl Meter {
    fn new(scan: &TraceScan) -> Meter {
        let duration = scan.duration.0;
        let (mut places, mut disks, mut first_page) = (Places::default(), Vec::new(), 0u64);
        for disk in &scan.disks {
            places.find_or_add(disk.number);
            disks.push(DiskMeter::new(disk, first_page));
            // Only a hostile trace wraps around here; its pages may then coincide.
            first_page = first_page.wrapping_add(disk.end.div_ceil(Footprint::PAGE_BYTES));
        }
        let op = |op: &Op| OpShare { op: op.name(), requests: 0, bytes: 0, fua: 0 };
        Meter {
            duration,
            mix: Op::all().iter().map(op).collect(),
            reads: SizeMeter::default(),
            writes: SizeMeter::default(),
            alignment: Alignment::default(),
            rates: RateMeter::new(scan.duration),
            response: LatencyHistogram::new(),
            places,
            disks,
            characterization: CensusMeter::new(&scan.disks.iter().map(|disk| disk.end).collect::<Vec<u64>>()),
            pages: PageMeter::new(Info::WINDOWS, PageMeter::MOST),
            windows: (0..Info::WINDOWS).map(|i| Window::starting(window_start(i, duration))).collect(),
        }
    }

    fn count(&mut self, record: &Record) {
        let share = &mut self.mix[record.op.index()];
        share.requests += 1;
        share.bytes += u64::from(record.len);
        share.fua += u64::from(record.fua);
        if let Some(response) = record.response {
            self.response.record(response);
        }
        let carries_data = matches!(record.op, Op::Read | Op::Write);
        let bytes = if carries_data { u64::from(record.len) } else { 0 };
        self.rates.count(record.at, bytes);
        let window = self.window_of(record.at);
        self.windows[usize::from(window)].requests += 1;
        self.windows[usize::from(window)].bytes += bytes;
        let Some(place) = self.places.find(record.disk) else { return };
        self.disks[place].info.requests += 1;
        if carries_data {
            self.count_data(record, place, window);
        }
    }

    fn count_data(&mut self, record: &Record, place: usize, window: u8) {
        let is_read = record.op == Op::Read;
        let disk = &mut self.disks[place];
        disk.count(record, is_read);
        self.alignment.count(record);
        self.characterization.count(record.op, place, record.offset, u64::from(record.len));
        if is_read { &mut self.reads } else { &mut self.writes }.count(record.len);
        let page = |byte: u64| disk.first_page.saturating_add(byte / Footprint::PAGE_BYTES);
        self.pages.touch(page(record.offset), page(record.end() - 1), is_read, window);
    }

    /// Which of the equal parts of the duration a moment lies in.
    fn window_of(&self, at: Nanos) -> u8 {
        let window = u128::from(at.0) * u128::from(Info::WINDOWS) / (u128::from(self.duration) + 1);
        (window as u8).min(Info::WINDOWS - 1)
    }

    fn finish(mut self, trace: &Trace, scan: &TraceScan) -> Info {
        let mut sequence = Sequence::default();
        for disk in &mut self.disks {
            disk.info.sequence = *disk.sequence.sequence();
            sequence.add(disk.sequence.sequence());
        }
        for (window, &pages) in self.windows.iter_mut().zip(self.pages.windows()) {
            window.pages = pages;
        }
        let data = [Op::Read, Op::Write].map(|op| self.mix[op.index()].bytes);
        self.response.merge(trace.late_responses());
        Info {
            file: trace.file().to_string(),
            format: Format::name(trace.format()),
            requests: self.mix.iter().map(|share| share.requests).sum(),
            bytes: data[0].saturating_add(data[1]),
            duration_ns: self.duration,
            span_bytes: scan.span(),
            bad_lines: trace.tally().bad,
            backwards: trace.tally().backwards,
            mix: self.mix,
            read_sizes: self.reads.sizes(),
            write_sizes: self.writes.sizes(),
            alignment: self.alignment,
            rates: self.rates.rates(),
            sequence,
            characterization: self.characterization.finish(),
            footprint: self.pages.footprint(),
            windows: self.windows,
            response: (self.response.count() > 0).then(|| Times::of(&self.response)),
            unmatched_completions: trace.unmatched_completions(),
            disks: self.disks.into_iter().map(|disk| disk.info).collect(),
        }
    }
}

impl DiskMeter {
    fn new(disk: &DiskExtent, first_page: u64) -> DiskMeter {
        let info = DiskInfo {
            number: disk.number,
            label: disk.label.clone(),
            requests: 0,
            reads: 0,
            writes: 0,
            read_bytes: 0,
            written_bytes: 0,
            span_bytes: disk.end,
            sequence: Sequence::default(),
        };
        DiskMeter { info, sequence: SequenceMeter::new(), first_page }
    }

    fn count(&mut self, record: &Record, is_read: bool) {
        let (info, len) = (&mut self.info, u64::from(record.len));
        if is_read {
            info.reads += 1;
            info.read_bytes += len;
        } else {
            info.writes += 1;
            info.written_bytes += len;
        }
        self.sequence.count(record, is_read);
    }
}

impl Alignment {
    fn count(&mut self, record: &Record) {
        let offset = record.offset.is_multiple_of(Footprint::PAGE_BYTES);
        let size = u64::from(record.len).is_multiple_of(Footprint::PAGE_BYTES);
        self.requests += 1;
        self.offset_4k += u64::from(offset);
        self.size_4k += u64::from(size);
        self.both_4k += u64::from(offset && size);
        self.whole_sectors += u64::from(record.is_whole_sectors());
    }
}

impl Window {
    fn starting(start_ns: u64) -> Window {
        Window { start_ns, requests: 0, bytes: 0, pages: 0 }
    }
}

fn window_start(window: u8, duration: u64) -> u64 {
    let start = (u128::from(window) * (u128::from(duration) + 1)).div_ceil(u128::from(Info::WINDOWS));
    u64::try_from(start).unwrap_or(u64::MAX)
}
