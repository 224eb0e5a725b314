//! The measurements of a run.

use super::Attribution;
use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use tailcut_base::config::Choice;
use tailcut_base::histogram::LatencyHistogram;
use tailcut_base::{Class, CommandId, Nanos, Op, SECTOR_BYTES, Spans, Status, Time};

/// How many of the slowest requests of each kind are kept whole.
pub(crate) const SLOWEST_KEPT: usize = 1000;
/// The largest size that is counted on its own: 32 MiB, the longest read or write of any source.
const SECTORS_MOST: u32 = 65_536;

/// A finished request with all that is known of it.
#[derive(Clone, Copy, Debug)]
pub struct Finished<S> {
    /// Number of the request in the run, from 0.
    pub number: u64,
    /// The identifier that the device knew the request by while it was in flight.
    pub id: CommandId,
    /// Number of the source that issued the request.
    pub source: u32,
    /// What the request did: read, write, trim or flush.
    pub op: Op,
    /// Whether the request forced unit access.
    pub fua: bool,
    /// Latency class of the request.
    pub class: Class,
    /// Whether the request succeeded, or why it failed.
    pub status: Status,
    /// Number of its first sector, of 512 bytes.
    pub sector: u64,
    /// Number of sectors of 512 bytes; 0 for a flush.
    pub sectors: u32,
    /// When the request was due, from which its latency counts.
    pub due: Time,
    /// When the device accepted the request.
    pub submitted: Time,
    /// When the host saw the completion.
    pub completed: Time,
    /// The time from `due` to `completed`.
    pub latency: Nanos,
    /// Attribution of the request's latency to causes.
    pub spans: S,
    /// Whether the request belongs to the measurement.
    pub counts: bool,
}

/// A finished request that is kept.
pub type SlowRequest = Finished<Spans>;

impl<S> Finished<S> {
    /// This request with the account of its waits in another form.
    fn with<T>(&self, spans: T) -> Finished<T> {
        Finished {
            number: self.number,
            id: self.id,
            source: self.source,
            op: self.op,
            fua: self.fua,
            class: self.class,
            status: self.status,
            sector: self.sector,
            sectors: self.sectors,
            due: self.due,
            submitted: self.submitted,
            completed: self.completed,
            latency: self.latency,
            spans,
            counts: self.counts,
        }
    }
}

impl Finished<&Spans> {
    fn keep(&self) -> SlowRequest {
        self.with(*self.spans)
    }
}

impl SlowRequest {
    /// The request as a [`Observer`](super::Observer) has seen it.
    pub fn seen(&self) -> Finished<&Spans> {
        self.with(&self.spans)
    }
}

/// The statistics of the requests of one kind that succeeded, and how many did not.
#[derive(Clone, Debug, Default)]
pub struct OpStats {
    /// Latencies of the requests that succeeded.
    pub latency: LatencyHistogram,
    /// Attribution of these latencies to causes.
    pub attribution: Attribution,
    /// Bytes that the requests that succeeded have moved.
    pub bytes: u64,
    /// Number of requests of this kind that did not succeed.
    pub errors: u64,
    /// Requests that ended in the measurement and were due before it, and their bytes.
    due_before: (u64, u64),
    /// Requests by size: without and with force unit access.
    sizes: [Sizes; 2],
}

impl OpStats {
    fn merge(&mut self, other: &OpStats) {
        self.latency.merge(&other.latency);
        self.attribution.merge(&other.attribution);
        self.bytes += other.bytes;
        self.errors += other.errors;
        self.due_before.0 += other.due_before.0;
        self.due_before.1 += other.due_before.1;
        self.sizes.iter_mut().zip(&other.sizes).for_each(|(own, other)| own.merge(other));
    }

    /// Requests that ended in the measurement, whenever they were due, and their bytes.
    pub fn ended(&self) -> (u64, u64) {
        (self.latency.count() + self.due_before.0, self.bytes + self.due_before.1)
    }

    /// The sizes of requests without force unit access, in bytes, and how many had each.
    pub fn sizes(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.sizes[0].iter()
    }

    /// The sizes of requests with force unit access, in bytes, and how many had each.
    pub fn fua_sizes(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.sizes[1].iter()
    }

    /// True if there were requests, and all of them had force unit access.
    pub fn is_all_fua(&self) -> bool {
        self.latency.count() > 0 && self.sizes[0].counts.is_empty()
    }
}

/// Requests by their number of sectors.
#[derive(Clone, Debug, Default)]
struct Sizes {
    /// The last entry counts all of [`SECTORS_MOST`] or more.
    counts: Vec<u64>,
}

impl Sizes {
    fn merge(&mut self, other: &Sizes) {
        self.counts.resize(self.counts.len().max(other.counts.len()), 0);
        for (sum, count) in self.counts.iter_mut().zip(&other.counts) {
            *sum += count;
        }
    }

    fn iter(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let sizes = self.counts.iter().enumerate().filter(|(_, count)| **count > 0);
        sizes.map(|(sectors, &count)| (sectors as u64 * SECTOR_BYTES, count))
    }

    #[inline(always)]
    fn count(&mut self, sectors: u32) {
        let sectors = sectors.min(SECTORS_MOST);
        match self.counts.get_mut(sectors as usize) {
            Some(count) => *count += 1,
            None => self.count_first(sectors),
        }
    }

    /// The first request of a size above all before it.
    #[cold]
    fn count_first(&mut self, sectors: u32) {
        self.counts.resize(sectors as usize + 1, 0);
        self.counts[sectors as usize] = 1;
    }
}

/// The measurements of a run, after its ramp.
#[derive(Clone, Debug)]
pub struct Stats {
    /// Start of the measurement in virtual time.
    pub from: Time,
    /// End of the measurement: the last completion.
    pub until: Time,
    /// By kind of request, in the order of [`Op`]; of reads those of the default class.
    ops: [OpStats; 4],
    /// Reads of other classes, by number of the class; most runs have none.
    others: [Option<Box<OpStats>>; 5],
    /// Requests in flight, integrated over time: ns × requests.
    pub in_flight_area: u128,
    /// From the moment at which the device took a request to its end, in ns, summed over all requests that
    /// ended in the measurement, those that were due before it included.
    pub(super) in_device: u128,
    /// From the moment at which a request was due until the device took it, in ns, summed over all requests
    /// counted.
    waited: u128,
    /// Queue stall: time during which a request waited outside the device because every tag of its
    /// queue was taken.
    pub queue_stall: Nanos,
    /// Digest of the history of the whole run.
    pub digest: u64,
    /// By kind of request, in the order of [`Op`]: under load the slowest of all may be writes only.
    slowest: [BinaryHeap<Slow>; 4],
}

/// A slow request in a heap; the fastest one, the latest of several as fast, is at its top.
#[derive(Clone, Debug)]
struct Slow(SlowRequest);

impl PartialEq for Slow {
    fn eq(&self, other: &Slow) -> bool {
        self.cmp(other).is_eq()
    }
}
impl Eq for Slow {}
impl PartialOrd for Slow {
    fn partial_cmp(&self, other: &Slow) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Slow {
    fn cmp(&self, other: &Slow) -> std::cmp::Ordering {
        other.0.latency.cmp(&self.0.latency).then(self.0.number.cmp(&other.0.number))
    }
}

impl Default for Stats {
    fn default() -> Stats {
        Stats::new()
    }
}

impl Stats {
    /// Statistics of a measurement that has not begun.
    pub fn new() -> Stats {
        Stats {
            from: Time::ZERO,
            until: Time::ZERO,
            ops: Default::default(),
            others: Default::default(),
            in_flight_area: 0,
            in_device: 0,
            waited: 0,
            queue_stall: Nanos::ZERO,
            digest: 0,
            slowest: Default::default(),
        }
    }

    /// Counts a request that has ended in the measurement and was due before it, for throughput alone.
    #[cold]
    pub(super) fn record_due_before(&mut self, request: &Finished<&Spans>) {
        if request.status != Status::Success {
            return;
        }
        let op = self.kind_mut(request.op, request.class);
        op.due_before.0 += 1;
        op.due_before.1 += u64::from(request.sectors) * SECTOR_BYTES;
    }

    #[inline(always)]
    fn kind_mut(&mut self, op: Op, class: Class) -> &mut OpStats {
        let is_other = class != Class::DEFAULT && op == Op::Read;
        if is_other { self.other(class) } else { &mut self.ops[op.index()] }
    }

    /// Counts a finished request. One that failed counts as an error alone: it may have been refused at once,
    /// or have ended at a timeout.
    #[inline(always)]
    pub fn record(&mut self, request: &Finished<&Spans>) {
        self.waited += u128::from(request.submitted.since(request.due).0);
        let op = self.kind_mut(request.op, request.class);
        if request.status != Status::Success {
            op.errors += 1;
            return;
        }
        op.latency.record(request.latency);
        op.attribution.record(request.latency, request.spans);
        op.bytes += u64::from(request.sectors) * SECTOR_BYTES;
        op.sizes[usize::from(request.fua)].count(request.sectors);
        let slowest = &self.slowest[request.op.index()];
        if slowest.len() < SLOWEST_KEPT || slowest.peek().is_some_and(|slow| request.latency > slow.0.latency)
        {
            self.keep(request);
        }
    }

    #[cold]
    fn other(&mut self, class: Class) -> &mut OpStats {
        self.others[usize::from(class.number()) - 1].get_or_insert_default()
    }

    /// The statistics of the requests of one kind, of all classes.
    pub fn op(&self, op: Op) -> Cow<'_, OpStats> {
        let own = &self.ops[op.index()];
        if op != Op::Read || self.others.iter().all(Option::is_none) {
            return Cow::Borrowed(own);
        }
        let mut sum = own.clone();
        self.others.iter().flatten().for_each(|other| sum.merge(other));
        Cow::Owned(sum)
    }

    /// The statistics of the reads of one class, if there were any.
    pub fn class(&self, class: Class) -> Option<&OpStats> {
        if class == Class::DEFAULT {
            return Some(&self.ops[Op::Read.index()]).filter(|reads| reads.latency.count() > 0);
        }
        self.others[usize::from(class.number()) - 1].as_deref()
    }

    /// The classes of the reads, in their order, where there were several; none otherwise.
    pub fn read_classes(&self) -> Vec<(Class, &OpStats)> {
        let all = (1..=5).filter_map(Class::new);
        let classes: Vec<_> = all.filter_map(|class| Some((class, self.class(class)?))).collect();
        if classes.len() > 1 { classes } else { Vec::new() }
    }

    /// All that is known, in parts that share no request.
    fn parts(&self) -> impl Iterator<Item = &OpStats> {
        self.ops.iter().chain(self.others.iter().flatten().map(Box::as_ref))
    }

    #[cold]
    fn keep(&mut self, request: &Finished<&Spans>) {
        let slowest = &mut self.slowest[request.op.index()];
        slowest.push(Slow(request.keep()));
        if slowest.len() > SLOWEST_KEPT {
            slowest.pop();
        }
    }

    /// The slowest requests of each kind, the slowest of all first.
    pub fn slowest(&self) -> Vec<SlowRequest> {
        let mut all: Vec<SlowRequest> = self.slowest.iter().flatten().map(|slow| slow.0).collect();
        all.sort_by_key(|r| (Reverse(r.latency), r.number));
        all
    }

    /// Number of requests in the measurement that succeeded.
    pub fn requests(&self) -> u64 {
        self.parts().map(|op| op.latency.count()).sum()
    }

    /// Requests that ended in the measurement, whenever they were due.
    pub fn ended(&self) -> u64 {
        self.parts().map(|op| op.ended().0).sum()
    }

    /// Number of requests in the measurement that did not succeed.
    pub fn errors(&self) -> u64 {
        self.parts().map(|op| op.errors).sum()
    }

    /// Length of the measurement.
    pub fn elapsed(&self) -> Nanos {
        self.until.since(self.from)
    }

    /// Requests per second that ended in the measurement: the rate at which the device worked. Under overload
    /// it exceeds that of the requests counted, which were due in the measurement and wait behind those that
    /// were due before it.
    pub fn ended_per_s(&self) -> f64 {
        let seconds = self.elapsed().as_secs_f64();
        if seconds > 0.0 { self.ended() as f64 / seconds } else { 0.0 }
    }

    /// Mean requests in the device.
    pub fn in_flight(&self) -> f64 {
        self.per_elapsed(self.in_flight_area)
    }

    /// Mean requests in the device, or due and waiting for it.
    pub fn outstanding(&self) -> f64 {
        self.per_elapsed(self.in_flight_area + self.waited)
    }

    fn per_elapsed(&self, area: u128) -> f64 {
        let elapsed = self.elapsed().0;
        if elapsed == 0 { 0.0 } else { area as f64 / elapsed as f64 }
    }

    /// All kinds of requests together.
    pub fn all(&self) -> OpStats {
        let mut all = OpStats::default();
        self.parts().for_each(|part| all.merge(part));
        all
    }

    /// Little's law: mean requests in flight over (throughput × mean time in the device); 1 in steady state.
    /// Requests that are due and wait for the device are not in flight, and their waiting is no time in it.
    pub fn littles_ratio(&self) -> f64 {
        if self.in_device == 0 { 1.0 } else { self.in_flight_area as f64 / self.in_device as f64 }
    }
}
