//! One kind of request in a report.

use super::{Bare, Curve, TAILS, Tail, Wait};
use crate::world::{OpStats, SLOWEST_KEPT, SlowRequest, Stats};
use serde::{Deserialize, Serialize};
use tailcut_base::config::Choice;
use tailcut_base::{Class, Op};

/// The statistics of the requests of one kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KindReport {
    /// "all", the kind, or the name of [`class_kind`].
    pub kind: String,
    /// Requests measured that succeeded; all figures but `errors` are theirs.
    pub requests: u64,
    /// Number of requests that failed; no other figure includes them.
    pub errors: u64,
    /// Requests per second: those due in the measurement; under overload, all that completed in it.
    pub requests_per_s: f64,
    /// Bytes per second that these requests moved.
    pub bytes_per_s: f64,
    /// Latencies of the requests, from the moment at which each was due to its end.
    pub latency: Curve,
    /// What these requests waited for on average, by cause.
    pub waits: Vec<Wait>,
    /// The waits of the slowest 1 %, 0.1 % and 0.01 % of them, by cause, where that is a request or more.
    pub slowest: Vec<Tail>,
}

/// The measurement, as rates need it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Measured {
    seconds: f64,
    is_overload: bool,
}

impl Measured {
    /// A measurement of this length, in seconds. `is_overload`: an open loop issued requests faster than the
    /// drive completed them, so rates count all completions.
    pub(super) fn new(seconds: f64, is_overload: bool) -> Measured {
        Measured { seconds, is_overload }
    }
}

impl KindReport {
    /// The requests of one kind.
    pub(super) fn of(
        op: Op,
        stats: &OpStats,
        bare: &Bare,
        measured: Measured,
        slowest: &[SlowRequest],
    ) -> KindReport {
        let slowest = slowest.iter().filter(|slow| slow.op == op);
        KindReport::new(op.name(), stats, bare_of(op, stats, bare), measured, slowest)
    }

    /// The reads of one class.
    pub(super) fn of_class(
        class: Class,
        stats: &OpStats,
        bare: &Bare,
        measured: Measured,
        slowest: &[SlowRequest],
    ) -> KindReport {
        let slowest = slowest.iter().filter(|slow| slow.op == Op::Read && slow.class == class);
        KindReport::new(&class_kind(class), stats, bare_of(Op::Read, stats, bare), measured, slowest)
    }

    /// All requests. The limit of their latency is the mean of the kinds' limits.
    pub(super) fn all(stats: &Stats, bare: &Bare, measured: Measured, slowest: &[SlowRequest]) -> KindReport {
        let part = |&op: &Op| {
            let of_kind = stats.op(op);
            bare_of(op, &of_kind, bare) * of_kind.latency.count() as f64
        };
        let sum: f64 = Op::all().iter().map(part).sum();
        KindReport::new(
            "all",
            &stats.all(),
            (sum + 0.0) / stats.requests().max(1) as f64,
            measured,
            // As many are kept of each kind: of all, any more would be the slowest of some kinds alone.
            slowest.iter().take(SLOWEST_KEPT),
        )
    }

    /// `slowest` are the slowest of them that are known one by one, the slowest first.
    fn new<'s>(
        kind: &str,
        stats: &OpStats,
        bare_ns: f64,
        measured: Measured,
        slowest: impl Iterator<Item = &'s SlowRequest>,
    ) -> KindReport {
        let slowest: Vec<&SlowRequest> = slowest.collect();
        let requests = stats.latency.count();
        let Measured { seconds, is_overload } = measured;
        let per_second = |count: u64| if seconds > 0.0 { count as f64 / seconds } else { 0.0 };
        let (ended, bytes) = if is_overload { stats.ended() } else { (requests, stats.bytes) };
        let tail = |&share: &f64| Tail::slowest(&stats.attribution, share, &stats.latency, &slowest);
        KindReport {
            kind: kind.to_string(),
            requests,
            errors: stats.errors,
            requests_per_s: per_second(ended),
            bytes_per_s: per_second(bytes),
            latency: Curve::of(&stats.latency, bare_ns),
            waits: Wait::list(&stats.attribution.all()),
            slowest: TAILS.iter().filter(|&&share| requests as f64 * share >= 1.0).map(tail).collect(),
        }
    }
}

/// The name of the reads of a class.
pub fn class_kind(class: Class) -> String {
    format!("read class {}", class.number())
}

/// The limit of the mean latency of these requests, each by its own size.
pub(super) fn bare_of(op: Op, stats: &OpStats, bare: &Bare) -> f64 {
    let each = |(bytes, count): (u64, u64)| bare.latency_ns(op, bytes as f64) * count as f64;
    let forced = |(bytes, count): (u64, u64)| match op {
        Op::Write => bare.fua_ns(bytes as f64) * count as f64,
        _ => each((bytes, count)),
    };
    let sum: f64 = stats.sizes().map(each).chain(stats.fua_sizes().map(forced)).sum();
    // The sum of nothing is -0.
    (sum + 0.0) / stats.latency.count().max(1) as f64
}
