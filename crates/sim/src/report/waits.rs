//! What slow requests waited for.

use crate::world::{Attribution, Share};
use serde::{Deserialize, Serialize};
use tailcut_base::Nanos;

/// The tails of every report: the slowest 1 %, 0.1 % and 0.01 %.
pub const TAILS: [f64; 3] = [0.01, 0.001, 0.0001];

/// A set of slow requests and what they waited for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tail {
    /// The share that was asked for, 0 … 1. Of the bucket of 1/32 of a latency at its edge, each request counts as an
    /// average one of the bucket.
    pub share: f64,
    /// How many requests they are.
    pub requests: u64,
    /// The fastest of them took at least this, in ns.
    pub from_ns: u64,
    /// Where their time went, the largest part first.
    pub waits: Vec<Wait>,
}

/// One cause's part in a set of requests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Wait {
    /// The cause.
    pub cause: String,
    /// Mean time per request, in ns.
    pub mean_ns: f64,
    /// Share of the latency of these requests, 0 … 1.
    pub share: f64,
}

impl Tail {
    /// The slowest `share` of the requests.
    pub fn slowest(attribution: &Attribution, share: f64) -> Tail {
        let (requests, shares) = attribution.slowest(share);
        Tail { share, requests, from_ns: lowest(attribution, requests).0, waits: Wait::list(&shares) }
    }
}

impl Wait {
    /// The parts in the order of an attribution.
    pub fn list(shares: &[Share]) -> Vec<Wait> {
        let wait = |s: &Share| Wait { cause: s.cause.label().into(), mean_ns: s.mean_ns, share: s.share };
        shares.iter().map(wait).collect()
    }
}

/// The lowest latency of the bucket that completes the `requests` slowest.
fn lowest(attribution: &Attribution, requests: u64) -> Nanos {
    let rows: Vec<(Nanos, u64)> = attribution.rows().map(|(from, count, _)| (from, count)).collect();
    let mut counted = 0;
    for &(from, count) in rows.iter().rev() {
        counted += count;
        if counted >= requests {
            return from;
        }
    }
    Nanos::ZERO
}
