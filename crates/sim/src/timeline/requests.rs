//! The requests of each slot.

use super::slots::{Slot, Slots};
use crate::world::{Finished, Observer};
use tailcut_base::config::Choice;
use tailcut_base::{Nanos, Op, SECTOR_BYTES, Spans, Status, Time};

/// Buckets per doubling of latency: their width is 1/16 of their value.
const PER_OCTAVE: usize = 16;
const BUCKETS: usize = 61 * PER_OCTAVE;

/// Requests of one kind that ended in a slot.
#[derive(Clone, Debug, Default)]
pub struct SlotTotals {
    /// Number of requests that succeeded.
    pub requests: u64,
    /// Bytes that the successful requests moved.
    pub bytes: u64,
    /// Number of requests that did not succeed; no other figure includes them.
    pub errors: u64,
    /// The sum of the latencies of successful requests, in ns.
    pub latency_ns: u64,
    /// The longest latency of a successful request; zero if there is none.
    pub longest: Nanos,
    /// How many latencies lie in each bucket; empty while there are none.
    buckets: Vec<u64>,
}

impl SlotTotals {
    #[inline]
    fn record(&mut self, request: &Finished<&Spans>) {
        if request.status != Status::Success {
            self.errors += 1;
            return;
        }
        self.requests += 1;
        self.bytes += u64::from(request.sectors) * SECTOR_BYTES;
        self.latency_ns += request.latency.0;
        self.longest = self.longest.max(request.latency);
        if self.buckets.is_empty() {
            self.buckets.resize(BUCKETS, 0);
        }
        self.buckets[bucket_of(request.latency)] += 1;
    }

    fn merge(&mut self, later: &SlotTotals) {
        self.requests += later.requests;
        self.bytes += later.bytes;
        self.errors += later.errors;
        self.latency_ns += later.latency_ns;
        self.longest = self.longest.max(later.longest);
        if self.buckets.is_empty() {
            self.buckets.clone_from(&later.buckets);
            return;
        }
        for (sum, count) in self.buckets.iter_mut().zip(&later.buckets) {
            *sum += count;
        }
    }

    /// The latency that `percentile` (0 … 100) of them did not exceed, at most 1/16 too high; none where
    /// fewer than one request would be slower.
    pub fn percentile(&self, percentile: f64) -> Option<Nanos> {
        let above = self.requests as f64 * (100.0 - percentile) / 100.0;
        // A millionth of a request forgives the rounding of 1 - 0.999.
        if above < 1.0 - 1e-6 {
            return None;
        }
        let wanted = self.requests - above.floor() as u64;
        let mut below = 0;
        for (bucket, count) in self.buckets.iter().enumerate() {
            below += count;
            if below >= wanted {
                return Some(highest_of(bucket).min(self.longest));
            }
        }
        Some(self.longest)
    }
}

/// Requests that ended in a slot, by kind, in the order of [`Op`].
#[derive(Clone, Debug, Default)]
pub struct RequestSlot {
    /// The requests of each kind, in the order of [`Op`].
    pub ops: [SlotTotals; 4],
}

impl Slot for RequestSlot {
    fn merge(&mut self, later: &RequestSlot) {
        self.ops.iter_mut().zip(&later.ops).for_each(|(op, later)| op.merge(later));
    }
}

/// Counts the requests of the measurement by the moment at which they end.
#[derive(Clone, Debug)]
pub struct Requests {
    slots: Slots<RequestSlot>,
}

impl Default for Requests {
    fn default() -> Requests {
        Requests::new()
    }
}

impl Requests {
    /// No requests counted yet; begins with the measurement.
    pub fn new() -> Requests {
        Requests { slots: Slots::new(Time::ZERO) }
    }

    /// The slots, of which those with the width of `others`.
    pub(super) fn matched<T: Slot>(mut self, others: &Slots<T>) -> Slots<RequestSlot> {
        self.slots.match_with(others);
        self.slots
    }
}

impl<D> Observer<D> for Requests {
    fn begin(&mut self, _: &D, now: Time) {
        self.slots = Slots::new(now);
    }

    #[inline]
    fn request(&mut self, request: &Finished<&Spans>) {
        if request.counts {
            self.slots.at(request.completed).ops[request.op.index()].record(request);
        }
    }
}

/// Latencies below 16 ns have a bucket each; above, 16 buckets for each doubling.
#[inline]
fn bucket_of(latency: Nanos) -> usize {
    let n = latency.0;
    if n < PER_OCTAVE as u64 {
        return n as usize;
    }
    let octave = 63 - n.leading_zeros() as usize;
    let within = (n >> (octave - 4)) as usize & (PER_OCTAVE - 1);
    (octave - 3) * PER_OCTAVE + within
}

/// The highest latency of a bucket.
fn highest_of(bucket: usize) -> Nanos {
    if bucket < PER_OCTAVE {
        return Nanos(bucket as u64);
    }
    let octave = bucket / PER_OCTAVE + 3;
    let next = (PER_OCTAVE + bucket % PER_OCTAVE + 1) as u128;
    Nanos(u64::try_from((next << (octave - 4)) - 1).unwrap_or(u64::MAX))
}

/// The operations with their place in a slot.
pub(super) fn ops() -> impl Iterator<Item = (usize, Op)> {
    Op::all().iter().map(|&op| (op.index(), op))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_ends_where_the_next_begins() {
        for bucket in 0..BUCKETS - 1 {
            let highest = highest_of(bucket);
            assert_eq!((bucket_of(highest), bucket_of(Nanos(highest.0 + 1))), (bucket, bucket + 1));
        }
        assert_eq!(bucket_of(Nanos(u64::MAX)), BUCKETS - 1);
    }

    #[test]
    fn a_percentile_is_never_too_low_and_at_most_a_sixteenth_too_high() {
        let mut ended = SlotTotals { buckets: vec![0; BUCKETS], ..SlotTotals::default() };
        let latencies: Vec<u64> = (1..=2_000).map(|n| n * n * 37).collect();
        for &latency in &latencies {
            ended.requests += 1;
            ended.longest = Nanos(latency);
            ended.buckets[bucket_of(Nanos(latency))] += 1;
        }
        for (percentile, rank) in [(50.0, 1_000), (99.0, 1_980), (99.9, 1_998)] {
            let exact = latencies[rank - 1];
            let got = ended.percentile(percentile).expect("there are enough").0;
            assert!((exact..=exact + exact / 16 + 1).contains(&got), "{percentile}: {got}, exactly {exact}");
        }
        assert_eq!(ended.percentile(99.99), None, "of 2000 requests none says what 99.99 % are");
    }
}
