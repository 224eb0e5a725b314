//! A trace in columns, for programs that look at its requests themselves.

use super::encode::Encoder;
use super::error::TraceError;
use super::format::Format;
use super::output::Output;
use super::reader::{Options, Trace};
use super::record::Record;
use std::path::Path;
use tailcut_base::config::Choice;
use tailcut_base::{Nanos, Op};

/// The records of a trace: a list for each thing that is known of them, all of one length, in the order of
/// the trace. 38 bytes for each record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Records {
    /// When each was issued, in ns since the first one.
    pub at: Vec<u64>,
    /// The disk that each record went to: see [`Record::disk`].
    pub disk: Vec<u32>,
    /// What each record requested, as a number: [`Op::index`](tailcut_base::Op::index).
    pub op: Vec<u8>,
    /// 1 for force unit access, 0 otherwise.
    pub fua: Vec<u8>,
    /// First byte of each record on its disk; 0 for a flush.
    pub offset: Vec<u64>,
    /// Number of bytes of each record; 0 only for a flush.
    pub bytes: Vec<u64>,
    /// The response times in ns; [`Records::NO_RESPONSE`] where the trace does not contain one.
    pub responses: Vec<u64>,
}

impl Records {
    /// Stands for a response time that is not known.
    pub const NO_RESPONSE: u64 = u64::MAX >> 1;

    /// Reads a trace, at most `most` records of it. `progress` is called from time to time with the number
    /// of records read; it returns false to end early.
    ///
    /// # Errors
    /// As [`Trace::open`] and [`Trace::next_record`].
    pub fn read(
        path: &Path,
        options: &Options,
        most: usize,
        progress: &mut dyn FnMut(u64) -> bool,
    ) -> Result<Records, TraceError> {
        let mut trace = Trace::open(path, options)?;
        let mut records = Records::default();
        while records.at.len() < most {
            let Some(record) = trace.next_record()? else { break };
            records.push(&record);
            if records.at.len().is_multiple_of(1 << 16) && !progress(records.at.len() as u64) {
                break;
            }
        }
        Ok(records)
    }

    /// Number of records that are kept.
    pub fn len(&self) -> usize {
        self.at.len()
    }

    /// True if there are no records.
    pub fn is_empty(&self) -> bool {
        self.at.is_empty()
    }

    /// The record in row `row`, counted from 0.
    ///
    /// # Panics
    /// If there is no such row, its `op` is no operation, or it has 4 GiB or more.
    pub fn record(&self, row: usize) -> Record {
        Record {
            at: Nanos(self.at[row]),
            disk: self.disk[row],
            op: Op::all()[usize::from(self.op[row])],
            fua: self.fua[row] != 0,
            offset: self.offset[row],
            len: u32::try_from(self.bytes[row]).expect("a record has less than 4 GiB"),
            response: Some(self.responses[row]).filter(|&nanos| nanos != Records::NO_RESPONSE).map(Nanos),
        }
    }

    /// Writes them as a trace in blkparse's format, the one that represents all kinds of requests, force
    /// unit access and times to the nanosecond; requests that do not begin and end with a sector are
    /// widened, and response times are lost. They must be in the order of their times.
    ///
    /// # Errors
    /// [`TraceError::Write`].
    pub fn write(&self, to: &Path) -> Result<(), TraceError> {
        let wrong = |source| TraceError::Write { file: to.display().to_string(), source };
        let mut output = Output::create(to).map_err(wrong)?;
        let mut encoder = Encoder::new(Format::Blkparse, 0);
        let mut line = Vec::new();
        for row in 0..self.len() {
            let record = self.record(row);
            encoder.write(&record, || record.disk.to_string(), &mut line);
            output.write(&line).map_err(wrong)?;
            line.clear();
        }
        output.finish().map_err(wrong)
    }

    pub(super) fn push(&mut self, record: &Record) {
        self.at.push(record.at.0);
        self.disk.push(record.disk);
        self.op.push(record.op.index() as u8);
        self.fua.push(u8::from(record.fua));
        self.offset.push(record.offset);
        self.bytes.push(u64::from(record.len));
        self.responses.push(record.response.map_or(Records::NO_RESPONSE, |time| time.0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = "fio version 3 iolog\n\
                         1 /dev/sdb add\n\
                         1 /dev/sdb open\n\
                         5 /dev/sdb read 4096 512\n\
                         9 /dev/sdb write 0 8192\n\
                         12 /dev/sdb close\n";

    #[test]
    fn columns_hold_what_the_records_say() {
        let folder = tempfile::TempDir::new().expect("a folder");
        let file = folder.path().join("log");
        std::fs::write(&file, TRACE).expect("the folder is writable");
        let read =
            |most| Records::read(&file, &Options::default(), most, &mut |_| true).expect("a good trace");
        let all = read(usize::MAX);
        assert_eq!((all.offset.as_slice(), all.bytes.as_slice()), (&[4096, 0][..], &[512, 8192][..]));
        assert_eq!((all.op.as_slice(), all.fua.as_slice()), (&[0, 1][..], &[0, 0][..]));
        assert_eq!(all.responses, [Records::NO_RESPONSE; 2]);
        assert!(all.at[0] < all.at[1]);
        assert_eq!(read(1).at.len(), 1);
    }

    #[test]
    fn records_that_are_written_are_read_back() {
        let folder = tempfile::TempDir::new().expect("a folder");
        let file = folder.path().join("trace.blkparse");
        let written = Records {
            at: vec![0, 1, 1_000_000_007, 1_000_000_007],
            disk: vec![0, 3, 0, 0],
            op: vec![0, 1, 2, 3],
            fua: vec![0, 1, 0, 0],
            offset: vec![4096, 1 << 40, 0, 0],
            bytes: vec![512, 1 << 20, 8192, 0],
            responses: vec![Records::NO_RESPONSE; 4],
        };
        written.write(&file).expect("the folder is writable");
        let read = Records::read(&file, &Options::default(), 9, &mut |_| true).expect("a good trace");
        assert_eq!(read, Records { disk: read.disk.clone(), ..written });
        assert!(read.disk[0] == read.disk[2] && read.disk[0] != read.disk[1], "{:?}", read.disk);
    }
}
