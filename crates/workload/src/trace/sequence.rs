//! How sequential a load is.

use super::record::Record;
use serde::Serialize;

/// Sequentiality of the reads and writes of a trace or of a disk.
///
/// A request is *sequential* when its first byte is the one behind the last byte of one of the
/// [`Sequence::WINDOW`] requests before it on the same disk (so that interleaved streams count as
/// sequential), and *random* otherwise. A run is a random request with all sequential ones that
/// follow on from it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Sequence {
    /// Number of reads and writes.
    pub requests: u64,
    /// Number of reads and writes that do not continue any of the [`Sequence::WINDOW`] requests before them.
    pub random: u64,
    /// Number of random reads.
    pub random_reads: u64,
    /// Number of random writes.
    pub random_writes: u64,
    /// The most requests of one run.
    pub longest_run_requests: u64,
    /// The most bytes of one run.
    pub longest_run_bytes: u64,
}

impl Sequence {
    /// How many earlier requests a request may continue.
    pub const WINDOW: usize = 32;

    /// The share of random requests, 0 … 1.
    pub fn random_share(&self) -> f64 {
        if self.requests == 0 { 0.0 } else { self.random as f64 / self.requests as f64 }
    }

    /// The mean length of a run in requests.
    pub fn mean_run_requests(&self) -> f64 {
        if self.random == 0 { 0.0 } else { self.requests as f64 / self.random as f64 }
    }

    /// Adds the figures of another disk.
    pub(super) fn add(&mut self, other: &Sequence) {
        self.requests += other.requests;
        self.random += other.random;
        self.random_reads += other.random_reads;
        self.random_writes += other.random_writes;
        self.longest_run_requests = self.longest_run_requests.max(other.longest_run_requests);
        self.longest_run_bytes = self.longest_run_bytes.max(other.longest_run_bytes);
    }
}

/// Follows the reads and writes of one disk.
#[derive(Clone, Debug)]
pub(super) struct SequenceMeter {
    ends: [u64; Sequence::WINDOW],
    /// Requests and bytes of the run that ended in each place.
    runs: [(u64, u64); Sequence::WINDOW],
    next: usize,
    sequence: Sequence,
}

impl SequenceMeter {
    pub(super) fn new() -> SequenceMeter {
        SequenceMeter {
            // No request begins there: the reader refuses what would end so far up.
            ends: [u64::MAX; Sequence::WINDOW],
            runs: [(0, 0); Sequence::WINDOW],
            next: 0,
            sequence: Sequence::default(),
        }
    }

    /// Counts a read or write.
    pub(super) fn count(&mut self, record: &Record, is_read: bool) {
        let before = self.ends.iter().position(|&end| end == record.offset);
        let (requests, bytes) = before.map_or((0, 0), |place| self.runs[place]);
        let run = (requests + 1, bytes + u64::from(record.len));
        self.ends[self.next] = record.end();
        self.runs[self.next] = run;
        self.next = (self.next + 1) % Sequence::WINDOW;
        let is_random = u64::from(before.is_none());
        let sequence = &mut self.sequence;
        sequence.requests += 1;
        sequence.random += is_random;
        sequence.random_reads += is_random * u64::from(is_read);
        sequence.random_writes += is_random * u64::from(!is_read);
        sequence.longest_run_requests = sequence.longest_run_requests.max(run.0);
        sequence.longest_run_bytes = sequence.longest_run_bytes.max(run.1);
    }

    pub(super) fn sequence(&self) -> &Sequence {
        &self.sequence
    }
}
