//! What a run measures.

use super::Attribution;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use tailcut_base::config::Choice;
use tailcut_base::histogram::LatencyHistogram;
use tailcut_base::{CommandId, Nanos, Op, SECTOR_BYTES, Spans, Status, Time};

/// How many of the slowest requests are kept whole.
const SLOWEST: usize = 1000;

/// A finished request with all that is known of it.
#[derive(Clone, Copy, Debug)]
pub struct Finished<S> {
    /// Its number in the run, from 0.
    pub number: u64,
    /// The name that the device knew it by while it was in flight.
    pub id: CommandId,
    /// The source that it came from.
    pub source: u32,
    /// What it asked for.
    pub op: Op,
    /// How it ended.
    pub status: Status,
    /// First sector.
    pub sector: u64,
    /// Number of sectors.
    pub sectors: u32,
    /// When its latency began.
    pub due: Time,
    /// When the device took it.
    pub submitted: Time,
    /// When the host saw its end.
    pub completed: Time,
    /// `completed - due`.
    pub latency: Nanos,
    /// What it waited for.
    pub spans: S,
}

/// A finished request that is kept.
pub type SlowRequest = Finished<Spans>;

impl Finished<&Spans> {
    fn keep(&self) -> SlowRequest {
        Finished {
            number: self.number,
            id: self.id,
            source: self.source,
            op: self.op,
            status: self.status,
            sector: self.sector,
            sectors: self.sectors,
            due: self.due,
            submitted: self.submitted,
            completed: self.completed,
            latency: self.latency,
            spans: *self.spans,
        }
    }
}

/// What is known of all requests of one kind.
#[derive(Clone, Debug, Default)]
pub struct OpStats {
    /// Latencies.
    pub latency: LatencyHistogram,
    /// What they waited for.
    pub attribution: Attribution,
    /// Bytes moved.
    pub bytes: u64,
    /// Requests that did not succeed.
    pub errors: u64,
}

/// What a run measured, after its ramp.
#[derive(Clone, Debug)]
pub struct Stats {
    /// Start of the measurement.
    pub from: Time,
    /// End of the measurement: the last completion.
    pub until: Time,
    /// By kind of request, in the order of [`Op`].
    pub ops: [OpStats; 4],
    /// Requests in flight, integrated over time: ns × requests.
    pub in_flight_area: u128,
    /// Queue stall: time during which a request waited outside the device because every tag of its
    /// queue was taken.
    pub queue_stall: Nanos,
    /// Digest of the history of the whole run.
    pub digest: u64,
    slowest: BinaryHeap<Reverse<(Nanos, Reverse<u64>, SlowKey)>>,
}

/// Lets a request ride along in an ordered heap without being compared.
#[derive(Clone, Debug)]
struct SlowKey(SlowRequest);

impl PartialEq for SlowKey {
    fn eq(&self, _: &SlowKey) -> bool {
        true
    }
}
impl Eq for SlowKey {}
impl PartialOrd for SlowKey {
    fn partial_cmp(&self, other: &SlowKey) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for SlowKey {
    fn cmp(&self, _: &SlowKey) -> std::cmp::Ordering {
        std::cmp::Ordering::Equal
    }
}

impl Default for Stats {
    fn default() -> Stats {
        Stats::new()
    }
}

impl Stats {
    /// Nothing measured yet.
    pub fn new() -> Stats {
        Stats {
            from: Time::ZERO,
            until: Time::ZERO,
            ops: Default::default(),
            in_flight_area: 0,
            queue_stall: Nanos::ZERO,
            digest: 0,
            slowest: BinaryHeap::new(),
        }
    }

    /// Counts a finished request.
    #[inline(always)]
    pub fn record(&mut self, request: &Finished<&Spans>) {
        let op = &mut self.ops[request.op.index()];
        op.latency.record(request.latency);
        op.attribution.record(request.latency, request.spans);
        op.bytes += u64::from(request.sectors) * SECTOR_BYTES;
        if request.status != Status::Success {
            op.errors += 1;
        }
        if self.slowest.len() < SLOWEST || self.slowest.peek().is_some_and(|s| request.latency > s.0.0) {
            self.keep(request);
        }
    }

    #[cold]
    fn keep(&mut self, request: &Finished<&Spans>) {
        self.slowest.push(Reverse((request.latency, Reverse(request.number), SlowKey(request.keep()))));
        if self.slowest.len() > SLOWEST {
            self.slowest.pop();
        }
    }

    /// The slowest requests, the slowest first.
    pub fn slowest(&self) -> Vec<SlowRequest> {
        let mut all: Vec<SlowRequest> = self.slowest.iter().map(|s| s.0.2.0).collect();
        all.sort_by_key(|r| (Reverse(r.latency), r.number));
        all
    }

    /// Requests counted.
    pub fn requests(&self) -> u64 {
        self.ops.iter().map(|op| op.latency.count()).sum()
    }

    /// Requests counted that did not succeed.
    pub fn errors(&self) -> u64 {
        self.ops.iter().map(|op| op.errors).sum()
    }

    /// Length of the measurement.
    pub fn elapsed(&self) -> Nanos {
        self.until.since(self.from)
    }

    /// All kinds of requests together.
    pub fn all(&self) -> OpStats {
        let mut all = OpStats::default();
        for op in &self.ops {
            all.latency.merge(&op.latency);
            all.attribution.merge(&op.attribution);
            all.bytes += op.bytes;
            all.errors += op.errors;
        }
        all
    }

    /// Little's law: mean requests in flight over (throughput × mean latency); 1 in steady state.
    pub fn littles_ratio(&self) -> f64 {
        let sum: u128 = self.ops.iter().map(|op| op.latency.sum()).sum();
        if sum == 0 { 1.0 } else { self.in_flight_area as f64 / sum as f64 }
    }
}
