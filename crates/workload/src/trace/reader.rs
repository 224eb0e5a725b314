//! A trace as a stream of records.

use super::detect::{detect, is_silent};
use super::disks::Disks;
use super::error::{BadRecord, Fault, TraceError};
use super::format::Format;
use super::formats::Parser;
use super::input::Input;
use super::record::{Raw, Record};
use std::io::Read;
use std::ops::Range;
use std::path::Path;
use tailcut_base::histogram::LatencyHistogram;
use tailcut_base::{Nanos, Op};

/// How a trace is read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// The format; found out from content and name when `None`.
    pub format: Option<Format>,
    /// Skip and count lines that are not of the format, instead of ending with an error.
    pub skip_bad_lines: bool,
}

/// Counts of the records that were read and skipped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Records that the reader has returned.
    pub records: u64,
    /// Lines or records skipped because they were bad.
    pub bad: u64,
    /// The first bad ones, at most [`Tally::SHOWN`].
    pub first_bad: Vec<BadRecord>,
    /// Records older than one before them, which took that one's moment.
    pub backwards: u64,
}

impl Tally {
    /// How many bad lines are kept to be shown.
    pub const SHOWN: usize = 10;

    fn note(&mut self, bad: BadRecord) {
        self.bad += 1;
        if self.first_bad.len() < Tally::SHOWN {
            self.first_bad.push(bad);
        }
    }
}

/// A trace that is being read from its beginning to its end.
///
/// Times are relative to the first record. Recorded times are often slightly out of order, as
/// several processors wrote them: a record that is older than one before it takes the latest
/// moment so far, and is counted in [`Tally::backwards`].
///
/// Blank lines and lines that begin with `#` or `//` are passed over, and so is one line of column
/// names before the first record of a format whose records begin with a number.
///
/// A read, write or trim of 0 bytes, of 4 GiB or more, or one that ends beyond 2^64 bytes is a
/// bad line.
pub struct Trace {
    input: Input,
    format: Format,
    parser: Parser,
    disks: Disks,
    options: Options,
    tally: Tally,
    clock: Clock,
    /// Response times of requests whose records had been handed out before.
    late_responses: LatencyHistogram,
    /// The same one by one, with the number of their record, if they are kept.
    kept_responses: Option<Vec<(u64, Nanos)>>,
    /// The write behind a flush that one line asked for together.
    held: Option<Record>,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// No record was read: one line may be a header.
    Start,
    Reading,
    /// The trace was read to its end, or up to an error.
    Done,
}

/// The trace's clock, in nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
struct Clock {
    first: Option<u64>,
    latest: u64,
}

impl Trace {
    /// Opens a trace file and finds out what it is.
    ///
    /// # Errors
    /// [`TraceError::Read`], [`TraceError::Corrupt`], [`TraceError::Container`],
    /// [`TraceError::UnknownFormat`], or [`TraceError::Empty`] when nothing is in it at all.
    pub fn open(path: &Path, options: &Options) -> Result<Trace, TraceError> {
        Trace::start(Input::open(path)?, options)
    }

    /// Reads a trace from `source`; `name` takes the place of a file name.
    ///
    /// # Errors
    /// As [`Trace::open`].
    pub fn from_reader(
        name: &str,
        source: Box<dyn Read + Send>,
        options: &Options,
    ) -> Result<Trace, TraceError> {
        Trace::start(Input::from_reader(name, source)?, options)
    }

    fn start(mut input: Input, options: &Options) -> Result<Trace, TraceError> {
        let file = input.file().to_string();
        let start = input.peek()?;
        let format = match options.format {
            Some(format) => Some(format),
            None => detect(&file, start)?,
        };
        let Some(format) = format else {
            return Err(TraceError::Empty { file, format: None, bad: 0 });
        };
        let parser = Parser::new(format, start);
        input.set_record_bytes(format.record_bytes());
        if format.record_bytes().is_none() {
            input.skip_byte_order_mark();
        }
        Ok(Trace {
            parser,
            input,
            format,
            disks: Disks::default(),
            options: options.clone(),
            tally: Tally::default(),
            clock: Clock::default(),
            late_responses: LatencyHistogram::new(),
            kept_responses: None,
            held: None,
            state: State::Start,
        })
    }

    /// The next record; `None` at the end, and ever after an error.
    ///
    /// # Errors
    /// [`TraceError::BadRecords`] with one bad line unless those are skipped; reading and
    /// decompression errors; [`TraceError::Empty`] at the end of a trace that had no record.
    #[inline]
    pub fn next_record(&mut self) -> Result<Option<Record>, TraceError> {
        if let Some(record) = self.held.take() {
            return Ok(Some(record));
        }
        loop {
            let piece = match self.next_piece() {
                Ok(Some(piece)) => piece,
                Ok(None) => return self.end(),
                Err(error) => return Err(self.stop(error)),
            };
            let bytes = &self.input.bytes()[piece.clone()];
            let parsed =
                self.parser.parse(bytes, &mut self.disks, self.tally.records).and_then(|raw| match raw {
                    None => Ok(None),
                    Some(raw) => check(&raw).map(|len| Some((raw, len))),
                });
            match parsed {
                Ok(Some((raw, len))) => return Ok(Some(self.accept(&raw, len))),
                Ok(None) => {
                    if let Some((record, response)) = self.parser.take_response() {
                        self.late_responses.record(response);
                        self.kept_responses.iter_mut().for_each(|kept| kept.push((record, response)));
                    }
                }
                Err(fault) => self.refuse(piece, *fault)?,
            }
        }
    }

    /// The name of the file, as messages show it.
    pub fn file(&self) -> &str {
        self.input.file()
    }

    /// The format that is being read.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Counts of the records that were read and skipped so far.
    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    /// Response times that came after their records, so that [`Record::response`] lacks them: of blkparse's
    /// text, whose completions are lines of their own.
    pub fn late_responses(&self) -> &LatencyHistogram {
        &self.late_responses
    }

    /// From now on [`Trace::kept_responses`] has each response time that comes after its record.
    pub fn keep_responses(&mut self) {
        self.kept_responses.get_or_insert_default();
    }

    /// The response times that came after their records, each with the number of its record from 0; none
    /// unless they are kept.
    pub fn kept_responses(&self) -> &[(u64, Nanos)] {
        self.kept_responses.as_deref().unwrap_or_default()
    }

    /// Completions without a response time: their requests were merged, split, or issued before the trace.
    pub fn unmatched_completions(&self) -> u64 {
        self.parser.unmatched()
    }

    /// The moment of the first record on the trace's own clock, in nanoseconds of whatever epoch
    /// the format has; zero before it was read.
    pub fn origin(&self) -> u64 {
        self.clock.first.unwrap_or(0)
    }

    /// The name of a disk as the trace has it: `host.number`, `major,minor`, a file name, or
    /// the number.
    pub fn disk_label(&self, disk: u32) -> String {
        self.disks.label(disk)
    }

    #[inline]
    fn next_piece(&mut self) -> Result<Option<Range<usize>>, TraceError> {
        if self.state == State::Done {
            return Ok(None);
        }
        if let Some(len) = self.format.record_bytes() {
            return self.input.record(len);
        }
        loop {
            let Some(line) = self.input.line()? else { return Ok(None) };
            let text = &self.input.bytes()[line.clone()];
            // Almost every line begins with a digit, perhaps behind blanks.
            if text.first().is_some_and(u8::is_ascii_digit) || !is_silent(text) {
                return Ok(Some(line));
            }
        }
    }

    #[inline]
    fn accept(&mut self, raw: &Raw, len: u32) -> Record {
        self.state = State::Reading;
        let first = *self.clock.first.get_or_insert(raw.clock);
        let latest = self.clock.latest.max(raw.clock).max(first);
        self.tally.backwards += u64::from(raw.clock < latest);
        self.clock.latest = latest;
        self.tally.records += 1;
        let record = Record {
            at: Nanos(latest - first),
            disk: raw.disk,
            op: raw.op,
            fua: raw.fua,
            offset: raw.offset,
            len,
            response: raw.response,
        };
        if raw.preflush { self.hold_behind_flush(record) } else { record }
    }

    #[cold]
    fn hold_behind_flush(&mut self, record: Record) -> Record {
        self.held = Some(record);
        self.tally.records += 1;
        Record { op: Op::Flush, fua: false, offset: 0, len: 0, response: None, ..record }
    }

    /// A bad line: nothing when it is the header, counted when it may be skipped, else an error.
    #[cold]
    fn refuse(&mut self, piece: Range<usize>, fault: Fault) -> Result<(), TraceError> {
        let place = self.input.place();
        let text = self.input.bytes()[piece].trim_ascii();
        let is_header = self.state == State::Start
            && self.format.may_have_header()
            && text.first().is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b'"');
        if self.state == State::Start {
            self.state = State::Reading;
            if is_header {
                return Ok(());
            }
        }
        self.tally.note(BadRecord { place, what: fault.what });
        if self.options.skip_bad_lines {
            return Ok(());
        }
        let error = self.bad_records();
        Err(self.stop(error))
    }

    /// All that was bad so far, as one error.
    pub(super) fn bad_records(&self) -> TraceError {
        TraceError::BadRecords {
            file: self.file().to_string(),
            format: self.format,
            shown: self.tally.first_bad.clone(),
            total: self.tally.bad,
        }
    }

    fn stop(&mut self, error: TraceError) -> TraceError {
        self.state = State::Done;
        error
    }

    fn end(&mut self) -> Result<Option<Record>, TraceError> {
        let was_done = std::mem::replace(&mut self.state, State::Done) == State::Done;
        if self.tally.records > 0 || was_done {
            return Ok(None);
        }
        let file = self.file().to_string();
        Err(TraceError::Empty { file, format: Some(self.format), bad: self.tally.bad })
    }
}

/// The length of a request that a block layer could have issued.
#[inline]
fn check(raw: &Raw) -> Result<u32, Box<Fault>> {
    if raw.op == Op::Flush {
        return Ok(0);
    }
    let end = raw.offset.checked_add(raw.len);
    // Room for the rest of the last sector.
    let fits = end.is_some_and(|end| end <= u64::MAX - 512);
    match u32::try_from(raw.len) {
        Ok(len) if len > 0 && fits => Ok(len),
        _ => Err(impossible(raw)),
    }
}

#[cold]
fn impossible(raw: &Raw) -> Box<Fault> {
    let (op, len, offset) = (raw.op, raw.len, raw.offset);
    Fault::new(match len {
        0 => format!("a {op} of 0 bytes; a request has at least one byte"),
        len if len > u64::from(u32::MAX) => {
            format!("a {op} of {len} bytes; a request is shorter than 4 GiB: is the unit right?")
        }
        len => format!("a {op} of {len} bytes at {offset} ends beyond 16 EiB: is the unit right?"),
    })
}
