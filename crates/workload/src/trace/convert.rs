//! A trace in another format.

use super::encode::{Encoder, is_widened};
use super::error::TraceError;
use super::format::Format;
use super::output::Output;
use super::reader::{Options, Tally, Trace};
use super::record::Record;
use std::path::Path;
use tailcut_base::Op;

/// The result of a conversion: what was written, and what the new format could not represent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Converted {
    /// Records written to the new file.
    pub written: u64,
    /// Trims and flushes that were left out because the format has none.
    pub dropped: u64,
    /// Records whose time was rounded down to the format's unit.
    pub rounded: u64,
    /// Records that were widened to whole sectors.
    pub widened: u64,
    /// Records that lost force unit access.
    pub without_fua: u64,
    /// Records that lost their response time.
    pub without_response: u64,
    /// Records of a second or further disk that lost which disk it was.
    pub without_disk: u64,
    /// The tally of reading the original.
    pub tally: Tally,
}

/// Writes the trace `from` in `format` to `to`; compressed when `to` ends in `.gz` or `.zst`.
///
/// Kept wherever the format can represent it: order, times on the original clock (only fio 2 starts at
/// zero; epochs are not translated), disk numbers or names, kind, address and size, force unit access,
/// response times. Lost, and counted in [`Converted`]:
///
/// | format | lost |
/// | --- | --- |
/// | all but blkparse | force unit access |
/// | all but msr, vscsi2 | response times |
/// | all but blkparse, fio, vscsi | trims and flushes |
/// | mqsim, ssdsim, disksim, blkparse, tencent | parts of sectors: widened to whole ones |
/// | spc, vscsi | the part of a sector at the beginning |
/// | msr | times below 100 ns |
/// | vscsi, fio, alibaba | times below 1 us |
/// | tencent | times below 1 s |
/// | vscsi | which disk |
///
/// Disk names become numbers in mqsim, ssdsim, msr-cut, disksim, spc, alibaba and tencent; numbers
/// become names in msr (`disk,4`), blkparse (`8,4`) and fio (`/dev/disk4`).
///
/// `progress` is called from time to time with the number of records read; when it returns false, the
/// conversion ends there and the file holds a whole trace of the records read so far.
///
/// # Errors
/// Errors of reading; [`TraceError::Write`]; [`TraceError::Unusable`] when `to` is `from` or no part of the
/// trace can be represented in `format`. A file that could not be finished is removed.
pub fn convert(
    from: &Path,
    options: &Options,
    to: &Path,
    format: Format,
    progress: &mut dyn FnMut(u64) -> bool,
) -> Result<Converted, TraceError> {
    let mut trace = Trace::open(from, options)?;
    if is_same_file(from, to) {
        return Err(unusable(to, "is the trace itself; write to another file"));
    }
    let output = Output::create(to).map_err(|source| write_error(to, source))?;
    let result = write_all(&mut trace, to, output, format, progress);
    if result.is_err() && to.metadata().is_ok_and(|metadata| metadata.is_file()) {
        // The remainder would look like a whole trace. A failure to remove it is the lesser of two errors.
        let _ = std::fs::remove_file(to);
    }
    result
}

fn write_all(
    trace: &mut Trace,
    to: &Path,
    mut output: Output,
    format: Format,
    progress: &mut dyn FnMut(u64) -> bool,
) -> Result<Converted, TraceError> {
    let wrong = |source| write_error(to, source);
    let mut converted = Converted::default();
    let mut next = trace.next_record()?;
    let mut encoder = Encoder::new(format, trace.origin());
    let (mut buffer, mut last_clock, mut first_disk) = (Vec::with_capacity(2 * BUFFER), trace.origin(), None);
    encoder.begin(&mut buffer);
    while let Some(record) = next {
        last_clock = trace.origin() + record.at.0;
        if Encoder::can_say(format, record.op) {
            let first_disk = *first_disk.get_or_insert(record.disk);
            converted.count(&record, format, last_clock, first_disk);
            encoder.write(&record, || trace.disk_label(record.disk), &mut buffer);
        } else {
            converted.dropped += 1;
        }
        if buffer.len() >= BUFFER {
            output.write(&buffer).map_err(wrong)?;
            buffer.clear();
            if !progress(trace.tally().records) {
                break;
            }
        }
        next = trace.next_record()?;
    }
    if converted.written == 0 {
        return Err(unusable(
            to,
            "not written: the trace has no reads or writes, and the format nothing else",
        ));
    }
    encoder.end(last_clock, &mut buffer);
    output.write(&buffer).map_err(wrong)?;
    output.finish().map_err(wrong)?;
    converted.tally = trace.tally().clone();
    Ok(converted)
}

impl Converted {
    fn count(&mut self, record: &Record, format: Format, clock: u64, first_disk: u32) {
        let keeps_response = matches!(format, Format::Msr | Format::Vscsi2);
        let keeps_disk = !matches!(format, Format::Vscsi1 | Format::Vscsi2);
        self.written += 1;
        self.rounded += u64::from(!clock.is_multiple_of(format.tick_ns()));
        self.widened += u64::from(record.op != Op::Flush && is_widened(format, record));
        self.without_fua += u64::from(record.fua && format != Format::Blkparse);
        self.without_response += u64::from(record.response.is_some() && !keeps_response);
        self.without_disk += u64::from(record.disk != first_disk && !keeps_disk);
    }
}

fn is_same_file(a: &Path, b: &Path) -> bool {
    matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b)
}

fn write_error(to: &Path, source: std::io::Error) -> TraceError {
    TraceError::Write { file: to.display().to_string(), source }
}

fn unusable(to: &Path, what: &'static str) -> TraceError {
    TraceError::Unusable { file: to.display().to_string(), what }
}

/// How much is written at a time.
const BUFFER: usize = 256 << 10;
