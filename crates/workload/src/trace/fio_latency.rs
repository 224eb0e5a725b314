//! fio's latency logs, a line for each request: `time, latency, direction, size, offset, priority`, and its
//! time of issue if that is logged.
//!
//! Lines come in the order of completion, with its time in whole milliseconds since the job began; latencies
//! and times of issue are nanoseconds. Source: fio's HOWTO, "Log File Formats", and the logs of fio 3.33.

use super::detect::is_silent;
use super::error::{Fault, TraceError};
use super::fields::Cells;
use super::input::Input;
use super::reader::Options;
use super::record::Record;
use super::records::Records;
use std::path::Path;
use tailcut_base::{Nanos, Op};

/// The requests of a latency log, in the order of their issue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FioLatencies {
    records: Records,
    has_issue_times: bool,
}

impl FioLatencies {
    /// The fields of a line, with units.
    pub const LAYOUT: &str = "time_ms, latency_ns, 0(read)|1(write)|2(trim), size_bytes, offset_bytes, \
                              priority[, issue_ns]";

    /// Whether a file is a log of fio's, by its first line: numbers between commas with blanks.
    ///
    /// # Errors
    /// The file cannot be read, or is damaged.
    pub fn is_one(file: &Path) -> Result<bool, TraceError> {
        let mut input = Input::open(file)?;
        let start = input.peek()?;
        let first = start.split(|&byte| byte == b'\n').find(|line| !is_silent(line));
        Ok(first.is_some_and(|line| line.windows(2).any(|pair| pair == b", ") && Line::read(line).is_ok()))
    }

    /// Reads a log; at most `most` requests of it, those that completed first.
    ///
    /// # Errors
    /// The file cannot be read, is damaged or empty; lines are not of the format (unless they are to be
    /// skipped), averages over time, or without offsets; or the name is that of another kind of log.
    pub fn read(file: &Path, options: &Options, most: usize) -> Result<FioLatencies, TraceError> {
        let name = file.display().to_string();
        let unusable = |what| TraceError::Unusable { file: name.clone(), what };
        if ["_slat.", "_bw.", "_iops."].iter().any(|kind| name.contains(kind)) {
            return Err(unusable(OTHER_LOG));
        }
        let mut input = Input::open(file)?;
        let mut lines: Vec<Line> = Vec::new();
        while lines.len() < most {
            let Some(range) = input.line()? else { break };
            let text = &input.bytes()[range];
            if is_silent(text) {
                continue;
            }
            match Line::read(text) {
                Ok(line) if line.bytes == 0 => return Err(unusable(AVERAGED)),
                Ok(line) => lines.push(line),
                Err(_) if options.skip_bad_lines => {}
                Err(fault) => {
                    let (place, what) = (input.place(), fault.what);
                    return Err(TraceError::LatencyLog { file: name, place, what });
                }
            }
        }
        if lines.is_empty() {
            return Err(unusable("there is no request in it"));
        }
        // A fifth field that is never more than 1 is the priority, and the offset was left out.
        if lines.iter().all(|line| line.offset.is_none_or(|offset| offset <= 1)) {
            return Err(unusable(WITHOUT_OFFSET));
        }
        let has_issue_times = lines.iter().all(|line| line.issued.is_some());
        if !has_issue_times {
            issue_by_completion(&mut lines);
        }
        lines.sort_by_key(|line| line.issued);
        let origin = lines[0].issued.unwrap_or_default();
        let mut records = Records::default();
        for line in &lines {
            records.push(&line.record(origin));
        }
        Ok(FioLatencies { records, has_issue_times })
    }

    /// Whether the log has times of issue. Without them they are those of completion less the latency, right
    /// to a millisecond.
    pub fn has_issue_times(&self) -> bool {
        self.has_issue_times
    }

    /// The requests, all on one disk, with their latencies as response times.
    pub fn into_records(self) -> Records {
        self.records
    }
}

const OTHER_LOG: &str = "by its name, this log is one of submission latencies, bandwidth or IOPS; \
                         --write_lat_log=NAME has fio write NAME_lat.1.log and NAME_clat.1.log";
const AVERAGED: &str = "its lines are averages over time: have fio write one for each request, without \
                        --log_avg_msec and --log_hist_msec";
const WITHOUT_OFFSET: &str = "it has no offsets, which the same requests need: log with --log_offset=1";

/// One line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Line {
    /// Since the job began.
    completed_ms: u64,
    latency: Nanos,
    op: Op,
    bytes: u64,
    /// `None` if the field can only be a priority.
    offset: Option<u64>,
    /// In ns.
    issued: Option<u64>,
}

impl Line {
    fn read(text: &[u8]) -> Result<Line, Box<Fault>> {
        let mut cells = Cells::new(text);
        let completed_ms = cells.number("time in ms")?;
        let latency = Nanos(cells.number("latency in ns")?);
        let place = cells.place();
        let op = match cells.number("direction")? {
            0 => Op::Read,
            1 => Op::Write,
            2 => Op::Trim,
            _ => {
                let want = "none of 0 (read), 1 (write) and 2 (trim)";
                return Err(cells.fault_at(place, "direction", want));
            }
        };
        let bytes = cells.number("size in bytes")?;
        let mut line = Line { completed_ms, latency, op, bytes, offset: None, issued: None };
        if cells.rest().is_empty() {
            return Ok(line);
        }
        let is_priority = cells.rest().starts_with(b"0x");
        if is_priority {
            cells.text("priority")?;
        } else {
            let place = cells.place();
            let offset = cells.number("offset in bytes")?;
            if offset.checked_add(bytes).is_none_or(|end| end > u64::MAX - 512) || bytes > MOST_BYTES {
                return Err(cells.fault_at(place, "offset in bytes", "no request of a drive"));
            }
            line.offset = Some(offset);
            if !cells.rest().is_empty() {
                cells.text("priority")?;
            }
        }
        if !cells.rest().is_empty() {
            line.issued = Some(cells.number("time of issue in ns")?);
        }
        cells.end()?;
        Ok(line)
    }

    fn record(&self, origin: u64) -> Record {
        Record {
            at: Nanos(self.issued.unwrap_or_default() - origin),
            disk: 0,
            op: self.op,
            fua: false,
            offset: self.offset.unwrap_or_default(),
            len: u32::try_from(self.bytes).expect("at most MOST_BYTES"),
            response: (self.latency > Nanos(0)).then_some(self.latency),
        }
    }
}

/// Below 4 GiB, as for every trace.
const MOST_BYTES: u64 = (1 << 32) - 1;

/// Times of issue from those of completion. The requests that completed within one millisecond are spread
/// over it in their order.
fn issue_by_completion(lines: &mut [Line]) {
    for group in lines.chunk_by_mut(|one, next| one.completed_ms == next.completed_ms) {
        let count = group.len() as u64;
        for (number, line) in (0..).zip(group) {
            let within = (2 * number + 1) * 500_000 / count;
            let completed = line.completed_ms.saturating_mul(1_000_000).saturating_add(within);
            line.issued = Some(completed.saturating_sub(line.latency.0));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str) -> tempfile::NamedTempFile {
        let mut file = tempfile::NamedTempFile::new().expect("a file");
        std::io::Write::write_all(&mut file, text.as_bytes()).expect("room for it");
        file
    }

    fn read(text: &str) -> Result<FioLatencies, String> {
        let file = file(text);
        FioLatencies::read(file.path(), &Options::default(), 100).map_err(|error| error.to_string())
    }

    #[test]
    fn requests_come_in_the_order_of_their_issue() {
        // Two of the lines complete in one millisecond: at 10.25 and 10.75 ms.
        let all = read(
            "10, 250000, 0, 4096, 8192, 0\n10, 9750000, 1, 8192, 0, 0x0000\n12, 500000, 2, 4096, 4096, 0\n",
        )
        .expect("a good log");
        assert!(!all.has_issue_times);
        assert_eq!(all.records.at, [0, 9_000_000, 11_000_000]);
        assert_eq!(all.records.op, [1, 0, 2]);
        assert_eq!(all.records.offset, [0, 8192, 4096]);
        assert_eq!(all.records.responses, [9_750_000, 250_000, 500_000]);
    }

    #[test]
    fn times_of_issue_are_taken_as_they_are() {
        let all = read("10, 250000, 0, 4096, 8192, 0, 9000123\n10, 999, 1, 512, 512, 0, 8000100\n");
        let all = all.expect("a good log");
        assert!(all.has_issue_times);
        assert_eq!((all.records.at, all.records.bytes), (vec![0, 1_000_023], vec![512, 4096]));
    }

    #[test]
    fn logs_that_lack_something_are_refused_with_the_option_of_fio() {
        let averages = read("20, 3720321, 0, 0, 0\n").expect_err("averages");
        assert!(averages.contains("--log_avg_msec"), "{averages}");
        for bare in ["7, 3720321, 0, 4096\n", "7, 3720321, 0, 4096, 0\n", "7, 3720321, 0, 4096, 0x0000\n"] {
            assert!(read(bare).expect_err(bare).contains("--log_offset=1"), "{bare}");
        }
        let wrong = read("7, 372, 0, 4096, 4096, 0\n8, 372, 5, 4096, 4096, 0\n").expect_err("a direction");
        assert!(wrong.contains("line 2: field 3 (direction) is '5'") && wrong.contains("time_ms"), "{wrong}");
        let huge = read("7, 372, 0, 4096, 18446744073709551615, 0\n").expect_err("an offset");
        assert!(huge.contains("offset"), "{huge}");
    }

    #[test]
    fn logs_are_known_by_their_first_line() {
        let is_one = |text: &str| FioLatencies::is_one(file(text).path()).expect("a file");
        assert!(is_one("7, 372, 0, 4096, 4096, 0\n") && is_one("7, 372, 1, 0, 0\n"));
        // MSR's, and Tencent's, whose fields have no blanks.
        for other in ["128166372003061629,usr,0,Read,7014609920,24576,41286\n", "1538,12,1,1,1283\n", ""] {
            assert!(!is_one(other), "{other}");
        }
    }
}
