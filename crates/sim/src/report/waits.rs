//! What slow requests waited for.

use crate::world::{Attribution, HeldUpCounts, Part, Share, SlowRequest, count_held_up, rank_of};
use serde::{Deserialize, Serialize};
use tailcut_base::cause::HeldUpBy;
use tailcut_base::fdp::{GroupId, HandleId, PlacementId};
use tailcut_base::histogram::LatencyHistogram;

/// The tails of every report: the slowest 1 %, 0.1 % and 0.01 %.
pub const TAILS: [f64; 3] = [0.01, 0.001, 0.0001];

/// A set of slow requests and what they waited for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tail {
    /// The share that was asked for, 0 … 1. Up to a thousand requests are known one by one. Of more, those of
    /// the bucket of 1/32 of a latency at the edge count as average ones of the bucket, scaled so that the
    /// mean of all is exact to 0.1 %.
    pub share: f64,
    /// Number of requests in the tail.
    pub requests: u64,
    /// The latency of the fastest of them in ns, at most 0.1 % too high: never below the percentile that they
    /// lie above.
    pub from_ns: u64,
    /// What these requests waited for, the largest part first.
    pub waits: Vec<Wait>,
    /// Whose data held them up, where the drive has reclaim unit handles: what most of them waited for
    /// longest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub held_up: Vec<HeldUpShare>,
}

/// Requests that waited longest for work on the data of one reclaim unit handle.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HeldUpShare {
    #[serde(default)]
    group: u32,
    /// Number of the handle, from 0.
    pub handle: u32,
    /// `programs` of the host's data or `collection`, which reads, programs and erases.
    pub work: String,
    /// Share of the requests, 0 … 1; those that no handle held up are in none.
    pub share: f64,
}

impl HeldUpShare {
    /// The handle in its reclaim group.
    pub fn placement(&self) -> PlacementId {
        PlacementId::new(GroupId::new(self.group), HandleId::new(self.handle))
    }

    /// The shares that are not zero, of `requests` requests, the largest first.
    fn list(requests: u64, counts: &HeldUpCounts) -> Vec<HeldUpShare> {
        let mut shares: Vec<HeldUpShare> = counts
            .iter()
            .enumerate()
            .filter(|(_, count)| **count > 0)
            .map(|(index, &count)| {
                let by = HeldUpBy::at(index);
                let share = count as f64 / requests.max(1) as f64;
                let (group, handle) = (by.placement().group().get(), by.placement().handle().get());
                HeldUpShare { group, handle, work: by.work().into(), share }
            })
            .collect();
        shares.sort_by(|a, b| b.share.total_cmp(&a.share));
        shares
    }
}

/// One cause's part in a set of requests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Wait {
    /// Label of the cause of the wait, such as `chip: erase`.
    pub cause: String,
    /// Mean time per request, in ns.
    pub mean_ns: f64,
    /// Share of the latency of these requests, 0 … 1.
    pub share: f64,
}

impl Tail {
    /// The slowest `share` (0 … 1) of the requests with this attribution and these latencies; `known` are the
    /// slowest of them that are known one by one, the slowest first.
    pub fn slowest(
        attribution: &Attribution,
        share: f64,
        latency: &LatencyHistogram,
        known: &[&SlowRequest],
    ) -> Tail {
        let requests = rank_of(attribution.count(), share).min(attribution.count());
        let from = latency.percentile(Tail::percentile_of_fastest(latency.count(), share));
        let (part, held_up) = match known.get(..requests as usize) {
            Some(slowest) => {
                let spans = || slowest.iter().map(|slow| &slow.spans);
                (Part::of(spans()), count_held_up(spans()))
            }
            None => {
                let part = attribution.slowest(requests, latency.sum_of_highest(requests));
                (part, attribution.held_up(requests))
            }
        };
        let held_up = HeldUpShare::list(requests, &held_up);
        Tail { share, requests, from_ns: from.0, waits: Wait::list(&part.shares()), held_up }
    }

    /// The percentile of `count` requests, 0 … 100, at which the fastest of the slowest `share` (0 … 1)
    /// stands.
    pub fn percentile_of_fastest(count: u64, share: f64) -> f64 {
        // The middle of its rank, so that rounding reaches no other.
        100.0 * ((count - rank_of(count, share).min(count)) as f64 + 0.5) / count.max(1) as f64
    }
}

impl Wait {
    /// The parts in the order of an attribution.
    pub fn list(shares: &[Share]) -> Vec<Wait> {
        let wait = |s: &Share| Wait { cause: s.cause.label().into(), mean_ns: s.mean_ns, share: s.share };
        shares.iter().map(wait).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::OpStats;
    use tailcut_base::{Cause, Nanos, Spans};

    #[test]
    fn no_tail_begins_below_the_percentile_that_it_lies_above() {
        let mut stats = OpStats::default();
        for n in 0..58_421u64 {
            let mut spans = Spans::new();
            spans.add(Cause::Cell, Nanos(90_000 + n * 37));
            stats.latency.record(spans.total());
            stats.attribution.record(spans.total(), &spans);
        }
        for share in TAILS {
            let count = stats.latency.count();
            let tail = Tail::slowest(&stats.attribution, share, &stats.latency, &[]);
            let exact = 90_000 + (count - tail.requests) * 37;
            assert!(tail.from_ns >= stats.latency.percentile(100.0 * (1.0 - share)).0, "{share}");
            assert!((exact..exact + exact / 1000 + 1).contains(&tail.from_ns), "{share}: {tail:?}, {exact}");
            let mean: f64 = tail.waits.iter().map(|wait| wait.mean_ns).sum();
            let exact_mean = (exact + 90_000 + (count - 1) * 37) as f64 / 2.0;
            assert!((mean / exact_mean - 1.0).abs() < 0.001, "{share}: {mean}, {exact_mean}");
        }
    }
}
