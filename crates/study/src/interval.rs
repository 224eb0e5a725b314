//! How far a percentile of a sample can be from that of all requests.

use tailcut_base::Nanos;
use tailcut_base::histogram::LatencyHistogram;

/// Where the percentile of all requests lies in at least 95 of 100 such runs, if their latencies are
/// independent. Of runs whose slow requests come in clusters, such as those that meet one erase, it is the
/// narrowest bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Interval {
    /// Lower bound; `None` where there are too few requests for one.
    pub from: Option<Nanos>,
    /// Upper bound; `None` where there are too few requests for one.
    pub to: Option<Nanos>,
}

impl Interval {
    /// Of the latency that `percentile` (above 50, below 100) of the requests do not exceed, by order
    /// statistics: of *n* independent requests the number that exceed it is binomial, and so are the ranks
    /// that bracket it (David and Nagaraja, Order Statistics, section 7.1).
    pub(crate) fn of(latencies: &LatencyHistogram, percentile: f64) -> Interval {
        let count = latencies.count();
        let (most, least) = exceeding(count as f64, 1.0 - percentile / 100.0);
        let from = count.checked_sub(most).filter(|&rank| rank > 0);
        let to = (least > 0).then(|| count.saturating_sub(least) + 1);
        Interval { from: from.map(|rank| at(latencies, rank)), to: to.map(|rank| at(latencies, rank)) }
    }
}

/// The latency of this rank, 1 for the lowest.
fn at(latencies: &LatencyHistogram, rank: u64) -> Nanos {
    let mut before = 0;
    let found = latencies.buckets().find(|&(_, count)| {
        before += count;
        before >= rank
    });
    found.map_or(latencies.max(), |(latency, _)| latency.min(latencies.max()))
}

/// The least *j* of which at most *j* of `count` requests exceed what the share `above` exceeds with a
/// probability of 97.5 %, and the greatest of which at least *j* do.
fn exceeding(count: f64, above: f64) -> (u64, u64) {
    let mean = count * above;
    if mean > FEW {
        let around = NORMAL * (mean * (1.0 - above)).sqrt();
        return ((mean + around).ceil() as u64, (mean - around).floor() as u64);
    }
    // A small number out of a large one is Poisson distributed.
    let (mut term, mut below, mut least) = ((-mean).exp(), 0.0, 0);
    for exactly in 0u64.. {
        if below <= TAIL {
            least = exactly;
        }
        below += term;
        if below >= 1.0 - TAIL {
            return (exactly, least);
        }
        term *= mean / (exactly + 1) as f64;
    }
    unreachable!("probabilities add up to 1")
}

/// Expected requests above which the normal distribution is close enough.
const FEW: f64 = 400.0;

/// The probability that is left out on each side.
const TAIL: f64 = 0.025;

/// Standard deviations from the mean that leave that much out.
const NORMAL: f64 = 1.959_964;

#[cfg(test)]
mod tests {
    use super::*;
    use tailcut_base::random::Stream;

    #[test]
    fn ranks_are_those_of_tables() {
        // Exact limits of a Poisson mean of 10: P(K <= 3) = 1.03 %, P(K <= 4) = 2.93 %, P(K <= 17) = 98.57 %.
        assert_eq!(exceeding(10e6, 1e-6), (17, 4));
        assert_eq!(exceeding(1e6, 1e-6), (3, 0), "one may well be none");
        let (most, least) = exceeding(1e6, 1e-3);
        assert_eq!((most, least), (1062, 938));
    }

    #[test]
    fn too_few_requests_tell_nothing_above() {
        let mut latencies = LatencyHistogram::new();
        (1..=1000).for_each(|n| latencies.record(Nanos(n)));
        assert_eq!(Interval::of(&latencies, 99.9999).to, None);
        assert_eq!(Interval::of(&LatencyHistogram::new(), 99.0), Interval { from: None, to: None });
    }

    #[test]
    fn it_holds_the_percentile_in_95_of_100_runs() {
        for percentile in [90.0, 99.0, 99.9] {
            let truth = percentile / 100.0 * 1e9;
            let mut random = Stream::new(7, "interval");
            let holds = |_: &u32| {
                let mut latencies = LatencyHistogram::new();
                (0..5000).for_each(|_| latencies.record(Nanos(random.below(1_000_000_000))));
                let Interval { from, to } = Interval::of(&latencies, percentile);
                // Buckets are a thousandth of their value wide.
                let (low, high) = (truth * 1.001, truth * 0.999);
                from.is_none_or(|from| from.0 as f64 <= low) && to.is_none_or(|to| to.0 as f64 >= high)
            };
            let held = (0..200u32).filter(holds).count();
            assert!(held >= 185, "{percentile}: {held} of 200");
        }
    }
}
