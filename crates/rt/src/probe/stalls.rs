//! Analysis of slow reads: the maximum duration of the stalls behind them, and their bursts.

use tailcut_base::{Nanos, Time};

/// The longest stall, as shown by reads at random times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Edge {
    /// Duration of the longest stall, estimated from the waits.
    pub length: Nanos,
    /// Number of reads that the estimate is derived from.
    pub reads: usize,
    /// The longest wait of a read.
    pub longest: Nanos,
}

/// Minimum number of reads for an edge.
const LEAST: usize = 30;

/// A read at a random time finds the stall begun by a uniformly distributed part of it, so waits beyond
/// `above` lie uniformly between `above` and the full duration: nine tenths of them within nine tenths of
/// that range. The last tenth, which includes reads that met more than one stall, is not used. None if too
/// few reads waited that long.
#[expect(clippy::missing_panics_doc, reason = "the reads that waited long are counted before")]
pub fn edge(waits: impl Iterator<Item = Nanos>, above: Nanos) -> Option<Edge> {
    let mut long: Vec<Nanos> = waits.filter(|&wait| wait > above).collect();
    long.sort_unstable();
    if long.len() < LEAST {
        return None;
    }
    let ninth = long[long.len() * 9 / 10];
    let length = above + (ninth - above) * 10 / 9;
    Some(Edge { length, reads: long.len(), longest: *long.last().expect("there are some") })
}

/// Pattern of slow reads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Signature {
    /// Latency from which on a read counts as slow.
    pub slow_from: Nanos,
    /// Share of slow reads among all, 0 … 1.
    pub slow: f64,
    /// Number of runs of slow reads, with no more than [`PARDON`] others in between.
    pub bursts: usize,
    /// Mean duration of a run, from the start of its first read to the end of its last.
    pub burst: Nanos,
    /// Mean time from the start of a run to the start of the next.
    pub period: Nanos,
    /// Coefficient of variation of the period: 0 for a clock, 1 for a Poisson process.
    pub irregularity: f64,
}

/// Number of fast reads between slow ones that do not end a run.
const PARDON: usize = 2;

impl Signature {
    /// The pattern of reads at depth 1 (their start times and latencies); those beyond `slow_from` are slow.
    pub fn of(samples: &[(Time, Nanos)], slow_from: Nanos) -> Signature {
        let mut runs: Vec<(Time, Time)> = Vec::new();
        let (mut since, mut slow) = (usize::MAX, 0);
        for &(began, latency) in samples {
            if latency <= slow_from {
                since = since.saturating_add(1);
                continue;
            }
            let end = began + latency;
            match runs.last_mut() {
                Some(run) if since <= PARDON => run.1 = end,
                _ => runs.push((began, end)),
            }
            (since, slow) = (0, slow + 1);
        }
        let lengths = runs.iter().map(|run| run.1.since(run.0).0 as f64);
        let gaps: Vec<f64> = runs.windows(2).map(|two| two[1].0.since(two[0].0).0 as f64).collect();
        let period = mean(gaps.iter().copied());
        let variance = mean(gaps.iter().map(|gap| (gap - period) * (gap - period)));
        Signature {
            slow_from,
            slow: slow as f64 / samples.len().max(1) as f64,
            bursts: runs.len(),
            burst: Nanos(mean(lengths) as u64),
            period: Nanos(period as u64),
            irregularity: if period > 0.0 { variance.sqrt() / period } else { 0.0 },
        }
    }
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0), |(sum, count), value| (sum + value, count + 1));
    if count == 0 { 0.0 } else { sum / f64::from(count) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailcut_base::random::Stream;

    #[test]
    fn an_edge_is_found_beneath_a_few_reads_that_met_two_things() {
        let mut random = Stream::new(5, "edge");
        let waits: Vec<Nanos> = (0..2000)
            .map(|number| match number % 20 {
                0 => Nanos(random.below(3_800_000) + random.below(3_800_000) / 10),
                1 | 2 => Nanos(random.below(3_800_000)),
                _ => Nanos(random.below(750_000)),
            })
            .collect();
        let edge = edge(waits.iter().copied(), Nanos(1_000_000)).expect("enough of them");
        assert!((edge.length.0 as f64 / 3.8e6 - 1.0).abs() < 0.1, "{edge:?}");
        assert!(super::edge(waits.into_iter().take(50), Nanos(1_000_000)).is_none());
    }

    #[test]
    fn bursts_have_length_and_period() {
        // Two slow reads of 1 ms every 10 ms, with a fast one between them.
        let burst = |number: u64| {
            let at = move |offset: u64| Time(number * 10_000_000 + offset);
            let quick = (2..40).map(move |place| (at(2_000_000 + place * 200_000), Nanos(100_000)));
            [(at(0), Nanos(1_000_000)), (at(1_000_000), Nanos(100_000)), (at(1_100_000), Nanos(1_000_000))]
                .into_iter()
                .chain(quick)
        };
        let samples: Vec<(Time, Nanos)> = (0..50).flat_map(burst).collect();
        let signature = Signature::of(&samples, Nanos(500_000));
        assert_eq!((signature.bursts, signature.period), (50, Nanos::millis(10)));
        assert_eq!(signature.burst, Nanos(2_100_000));
        assert!(signature.irregularity < 0.01 && (signature.slow - 2.0 / 41.0).abs() < 1e-9, "{signature:?}");
        assert_eq!(Signature::of(&[], Nanos(1)).bursts, 0);
    }
}
