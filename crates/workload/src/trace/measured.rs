//! What the requests of a trace took when they were recorded.

use super::error::TraceError;
use super::reader::{Options, Trace};
use std::path::Path;
use tailcut_base::cast::to_usize;
use tailcut_base::{Nanos, Op};

/// A request of a trace, as far as it is compared with a simulated one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measured {
    /// When it was issued, since the first record of the trace.
    pub at: Nanos,
    /// What it was.
    pub op: Op,
    /// Its length in bytes; 0 only for a flush.
    pub len: u32,
    /// The time that it took; `None` if the trace does not have that.
    pub response: Option<Nanos>,
}

/// The first `most` requests of a trace, in its order, with their response times.
///
/// # Errors
/// A trace that cannot be read; see [`Trace::next_record`].
pub fn measured(file: &Path, options: &Options, most: usize) -> Result<Vec<Measured>, TraceError> {
    let mut trace = Trace::open(file, options)?;
    trace.keep_responses();
    let mut all = Vec::new();
    while let Some(record) = trace.next_record()? {
        // Beyond the last one that is kept only completions are of interest.
        if all.len() < most {
            let (at, op, len, response) = (record.at, record.op, record.len, record.response);
            all.push(Measured { at, op, len, response });
        }
    }
    for &(record, response) in trace.kept_responses() {
        if let Some(measured) = all.get_mut(to_usize(record)) {
            measured.response = Some(response);
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<Measured> {
        let mut file = tempfile::NamedTempFile::new().expect("a file");
        std::io::Write::write_all(&mut file, text.as_bytes()).expect("room for it");
        measured(file.path(), &Options::default(), 100).expect("a trace")
    }

    #[test]
    fn completions_find_their_requests_whatever_comes_between() {
        let all = read(
            "  8,0    3        1     0.000000000   697  Q   R 100 + 8 [a]\n\
             \x20 8,0    3        2     0.000010000   697  Q FWS 200 + 8 [a]\n\
             \x20 8,0    3        3     0.000020000   697  Q   R 100 + 8 [a]\n\
             \x20 8,0    3        4     0.000100000   697  C   R 100 + 8 [0]\n\
             \x20 8,0    3        5     0.000500000   697  C FWS 200 + 8 [0]\n\
             \x20 8,0    3        6     0.000700000   697  C   R 100 + 8 [0]\n",
        );
        let found: Vec<_> = all.iter().map(|request| (request.op, request.response)).collect();
        let micros = |micros| Some(Nanos::micros(micros));
        // A write with a preflush is a flush and a write.
        let want =
            [(Op::Read, micros(100)), (Op::Flush, None), (Op::Write, micros(490)), (Op::Read, micros(680))];
        assert_eq!(found, want);
    }

    #[test]
    fn response_times_of_lines_are_taken_as_they_are() {
        let all = read(
            "128166372003061629,usr,0,Read,7014609920,24576,41286\n\
             128166372016382155,usr,0,Write,4096,4096,0\n",
        );
        assert_eq!(all[0].response, Some(Nanos(4_128_600)));
        assert_eq!((all[1].response, all[1].op, all[1].len), (None, Op::Write, 4096));
    }
}
