//! What the load of the demo has measured so far.

use serde::Serialize;
use std::collections::VecDeque;
use tailcut_base::Nanos;
use tailcut_base::histogram::LatencyHistogram;

/// Latencies since the start, and the course of the last slots.
#[derive(Clone, Debug)]
pub(super) struct Figures {
    /// The latency of a read of 4 KiB on the idle drive, in ns.
    idle_read_ns: f64,
    reads: LatencyHistogram,
    writes: LatencyHistogram,
    /// The oldest first, at most [`SLOTS`].
    slots: VecDeque<Slot>,
}

/// A part of the run. Latencies are those of reads, in ns; 0 without reads.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct Slot {
    seconds: f64,
    requests_per_s: f64,
    p50_ns: u64,
    p99_ns: u64,
    max_ns: u64,
}

impl Slot {
    /// A slot of this length with these requests.
    pub(super) fn of(reads: &LatencyHistogram, writes: &LatencyHistogram, length: Nanos) -> Slot {
        let seconds = length.as_secs_f64();
        let requests = (reads.count() + writes.count()) as f64;
        Slot {
            seconds,
            requests_per_s: if seconds > 0.0 { requests / seconds } else { 0.0 },
            p50_ns: reads.percentile(50.0).0,
            p99_ns: reads.percentile(99.0).0,
            max_ns: reads.max().0,
        }
    }
}

impl Figures {
    /// Nothing so far, of a drive that reads 4 KiB in `idle_read_ns` when it is idle.
    pub(super) fn new(idle_read_ns: f64) -> Figures {
        let (reads, writes) = (LatencyHistogram::new(), LatencyHistogram::new());
        Figures { idle_read_ns, reads, writes, slots: VecDeque::new() }
    }

    /// Adds the requests of one slot.
    pub(super) fn add(&mut self, reads: &LatencyHistogram, writes: &LatencyHistogram, slot: Slot) {
        self.reads.merge(reads);
        self.writes.merge(writes);
        if self.slots.len() == SLOTS {
            self.slots.pop_front();
        }
        self.slots.push_back(slot);
    }

    /// The latencies of all reads.
    pub(super) fn reads(&self) -> &LatencyHistogram {
        &self.reads
    }

    /// The latency of a read on the idle drive, in ns.
    pub(super) fn idle_read_ns(&self) -> f64 {
        self.idle_read_ns
    }

    /// Requests per second in the last slot; 0 before its end.
    pub(super) fn requests_per_s(&self) -> f64 {
        self.slots.back().map_or(0.0, |slot| slot.requests_per_s)
    }

    /// The data of the live page. A percentile with fewer than ten slower requests is absent.
    pub(super) fn to_json(&self) -> serde_json::Value {
        let kind = |latency: &LatencyHistogram| {
            let point =
                |&percentile: &f64| Some(serde_json::json!([percentile, resolved(latency, percentile)?.0]));
            let points: Vec<_> = PERCENTILES.iter().filter_map(point).collect();
            serde_json::json!({
                "requests": latency.count(),
                "mean_ns": latency.mean(),
                "points": points,
                "max_ns": latency.max().0,
            })
        };
        serde_json::json!({
            "idle_read_ns": self.idle_read_ns,
            "reads": kind(&self.reads),
            "writes": kind(&self.writes),
            "slots": self.slots,
        })
    }
}

/// The latency at a percentile; `None` if fewer than ten requests were slower: little more than chance.
pub(super) fn resolved(latency: &LatencyHistogram, percentile: f64) -> Option<Nanos> {
    let slower = latency.count() as f64 * (100.0 - percentile) / 100.0;
    (slower >= 10.0).then(|| latency.percentile(percentile))
}

/// Two minutes.
const SLOTS: usize = 240;

/// The percentiles of the live page: each step of the larger ones leaves a tenth.
const PERCENTILES: [f64; 9] = [1.0, 25.0, 50.0, 75.0, 90.0, 99.0, 99.9, 99.99, 99.999];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_those_of_all_slots_and_only_the_last_slots_are_kept() {
        let mut figures = Figures::new(88_500.0);
        for n in 1..=SLOTS as u64 + 5 {
            let (mut reads, mut writes) = (LatencyHistogram::new(), LatencyHistogram::new());
            reads.record_many(Nanos::micros(n), 10);
            writes.record(Nanos(500));
            let slot = Slot::of(&reads, &writes, Nanos::millis(500));
            assert_eq!(slot.requests_per_s, 22.0);
            figures.add(&reads, &writes, slot);
        }
        let json = figures.to_json();
        assert_eq!(json["reads"]["requests"], (SLOTS as u64 + 5) * 10);
        assert_eq!(json["writes"]["requests"], SLOTS as u64 + 5);
        assert_eq!(json["slots"].as_array().map(Vec::len), Some(SLOTS));
        assert_eq!(json["slots"][0]["max_ns"], 6_000, "the first five are gone");
        let points = json["reads"]["points"].as_array().expect("a list");
        assert_eq!(points.last().expect("some")[0], 99.0, "24 of 2450 are slower, but 2 are at 99.9 %");
    }
}
