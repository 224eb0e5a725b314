//! The waits of requests, by latency and cause.

use tailcut_base::cause::{CAUSES, HeldUpBy};
use tailcut_base::histogram::rank_at;
use tailcut_base::{Cause, Nanos, Spans};

/// Buckets per doubling of latency: their width is 1/32 of their value.
const PER_OCTAVE: usize = 32;
const ROWS: usize = 60 * PER_OCTAVE;

/// The time spent on each cause, kept apart by the latency of the request, so that the make-up of
/// any percentile can be told afterwards.
#[derive(Clone, Debug)]
pub struct Attribution {
    counts: Vec<u64>,
    nanos: Vec<u64>,
    /// Requests of each row by what held them up longest; empty unless a device has handles.
    held_up: Vec<HeldUpCounts>,
}

/// Requests by what held them up longest, by [`HeldUpBy::index`].
pub type HeldUpCounts = [u64; HeldUpBy::COUNT];

const NOBODY: HeldUpCounts = [0; HeldUpBy::COUNT];

/// Counts requests by what held them up.
pub fn count_held_up<'s>(requests: impl Iterator<Item = &'s Spans>) -> HeldUpCounts {
    let mut counts = NOBODY;
    requests.filter_map(|spans| spans.held_up().by()).for_each(|by| counts[by.index()] += 1);
    counts
}

/// One cause's share in a set of requests.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Share {
    /// The cause that the time was spent on.
    pub cause: Cause,
    /// Mean time per request that was spent on the cause, in ns.
    pub mean_ns: f64,
    /// Share of the latency of the requests that the cause makes up, 0 … 1.
    pub share: f64,
}

/// The requests around a latency.
#[derive(Clone, Debug, PartialEq)]
pub struct LatencyRange {
    /// Ranks of the requests by latency; 0 is the slowest of all requests.
    pub ranks: std::ops::Range<u64>,
    /// Lower bound of their latencies, at most 1/32 below the shortest.
    pub from: Nanos,
    /// Upper bound of their latencies, at most 1/32 above the longest.
    pub to: Nanos,
    /// What the requests in the range waited for, the largest part first.
    pub shares: Vec<Share>,
}

impl LatencyRange {
    /// Number of requests in the range.
    pub fn count(&self) -> u64 {
        self.ranks.end - self.ranks.start
    }
}

/// Some of the requests, by rank.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Part {
    /// Number of requests in the part.
    pub count: u64,
    /// The time that they spent on each cause, in ns.
    pub nanos: [u128; CAUSES],
}

impl Part {
    /// The requests with these spans.
    pub fn of<'s>(requests: impl Iterator<Item = &'s Spans>) -> Part {
        let mut part = Part { count: 0, nanos: [0; CAUSES] };
        for spans in requests {
            part.count += 1;
            part.nanos.iter_mut().zip(spans.nanos()).for_each(|(sum, time)| *sum += u128::from(*time));
        }
        part
    }

    /// The time that they spent in all, in ns: the sum of their latencies.
    fn total(&self) -> u128 {
        self.nanos.iter().sum()
    }

    /// The causes, the largest part first.
    pub fn shares(&self) -> Vec<Share> {
        list(self.count, &self.nanos)
    }
}

impl Default for Attribution {
    fn default() -> Attribution {
        Attribution::new()
    }
}

impl Attribution {
    /// An attribution without any requests.
    pub fn new() -> Attribution {
        Attribution { counts: vec![0; ROWS], nanos: vec![0; ROWS * CAUSES], held_up: Vec::new() }
    }

    /// Adds a request with its latency and the spans that make it up.
    #[inline(always)]
    pub fn record(&mut self, latency: Nanos, spans: &Spans) {
        let row = row_of(latency);
        self.counts[row] += 1;
        let sums = &mut self.nanos[row * CAUSES..(row + 1) * CAUSES];
        for (sum, time) in sums.iter_mut().zip(spans.nanos()) {
            *sum += time;
        }
        if let Some(by) = spans.held_up().by() {
            self.count_held_up(row, by);
        }
    }

    #[cold]
    fn count_held_up(&mut self, row: usize, by: HeldUpBy) {
        self.held_up.resize(ROWS, NOBODY);
        self.held_up[row][by.index()] += 1;
    }

    /// What held the `count` slowest requests up longest. Of the bucket that is only in part among them, each
    /// request counts as an average one.
    pub fn held_up(&self, count: u64) -> HeldUpCounts {
        let mut sums = NOBODY;
        let mut left = count;
        for row in (0..self.held_up.len()).rev().filter(|&row| self.counts[row] > 0) {
            let (all, taken) = (self.counts[row], self.counts[row].min(left));
            left -= taken;
            for (sum, &n) in sums.iter_mut().zip(&self.held_up[row]) {
                *sum += n * taken / all;
            }
            if left == 0 {
                break;
            }
        }
        sums
    }

    /// Adds the requests of `other`.
    pub fn merge(&mut self, other: &Attribution) {
        self.held_up.resize(self.held_up.len().max(other.held_up.len()), NOBODY);
        for (sums, counts) in self.held_up.iter_mut().zip(&other.held_up) {
            sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
        }
        for (sum, x) in self.counts.iter_mut().zip(&other.counts) {
            *sum += x;
        }
        for (sum, x) in self.nanos.iter_mut().zip(&other.nanos) {
            *sum += x;
        }
    }

    /// Number of requests added.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The waits of the `count` slowest requests, whose latencies add up to `total` ns. Of the bucket that is
    /// only in part among them, each request counts as an average one of the bucket, scaled so that the waits
    /// add up to `total` as far as the bounds of the bucket permit.
    pub fn slowest(&self, count: u64, total: u128) -> Part {
        let mut part = self.ranked(0..count);
        let mut slower = 0;
        for row in (0..ROWS).rev().filter(|&row| self.counts[row] > 0) {
            let taken = part.count.saturating_sub(slower).min(self.counts[row]);
            slower += self.counts[row];
            if slower > part.count {
                let edge = self.ranked(slower - self.counts[row]..part.count);
                let (sum, others) = (edge.total(), part.total() - edge.total());
                let within = |row: usize| u128::from(lowest_of(row).0) * u128::from(taken);
                let wanted = total.saturating_sub(others).clamp(within(row), within(row + 1));
                for (all, &own) in part.nanos.iter_mut().zip(&edge.nanos) {
                    *all = *all - own + own * wanted / sum.max(1);
                }
            }
            if slower >= part.count {
                break;
            }
        }
        part
    }

    /// The waits of the requests of these ranks, rank 0 being the slowest. Of a bucket that is only in part
    /// among them, each request counts as an average one of the bucket.
    pub fn ranked(&self, ranks: std::ops::Range<u64>) -> Part {
        let mut part = Part { count: 0, nanos: [0; CAUSES] };
        let mut slower = 0;
        for row in (0..ROWS).rev().filter(|&row| self.counts[row] > 0) {
            let count = self.counts[row];
            let taken = ranks.end.min(slower + count).saturating_sub(ranks.start.max(slower));
            slower += count;
            if taken > 0 {
                part.count += taken;
                for (sum, &n) in part.nanos.iter_mut().zip(&self.nanos[row * CAUSES..(row + 1) * CAUSES]) {
                    *sum += u128::from(n) * u128::from(taken) / u128::from(count);
                }
            }
        }
        part
    }

    /// The requests around `latency`: those of its bucket, and of the buckets nearest to it that it takes for
    /// `least` requests, however much faster or slower these are.
    pub fn around(&self, latency: Nanos, least: u64) -> LatencyRange {
        let row = row_of(latency);
        let (mut low, mut high) = (row, row + 1);
        let count = |low: usize, high: usize| self.counts[low..high].iter().sum::<u64>();
        while count(low, high) < least.min(self.count()) {
            let below = (0..low).rev().find(|&row| self.counts[row] > 0);
            let above = (high..ROWS).find(|&row| self.counts[row] > 0);
            let is_nearer = |below: usize, above: usize| row - below <= above - row;
            match (below, above) {
                (Some(below), Some(above)) if is_nearer(below, above) => low = below,
                (_, Some(above)) => high = above + 1,
                (Some(below), None) => low = below,
                (None, None) => break,
            }
        }
        let mut occupied = (low..high).filter(|&row| self.counts[row] > 0);
        let first = occupied.next().unwrap_or(row);
        let last = occupied.next_back().unwrap_or(first);
        let slower = count(high, ROWS);
        LatencyRange {
            ranks: slower..slower + count(low, high),
            from: lowest_of(first),
            to: lowest_of(last + 1),
            shares: self.shares(low..high),
        }
    }

    /// What all requests waited for.
    pub fn all(&self) -> Vec<Share> {
        self.shares(0..ROWS)
    }

    fn shares(&self, rows: std::ops::Range<usize>) -> Vec<Share> {
        let count: u64 = self.counts[rows.clone()].iter().sum();
        let mut sums = [0u128; CAUSES];
        for row in rows {
            for (sum, &n) in sums.iter_mut().zip(&self.nanos[row * CAUSES..(row + 1) * CAUSES]) {
                *sum += u128::from(n);
            }
        }
        list(count, &sums)
    }

    /// The rows that hold requests: (lowest latency of the bucket, count, time per cause).
    pub fn rows(&self) -> impl Iterator<Item = (Nanos, u64, &[u64])> {
        (0..ROWS)
            .filter(|&row| self.counts[row] > 0)
            .map(|row| (lowest_of(row), self.counts[row], &self.nanos[row * CAUSES..(row + 1) * CAUSES]))
    }

    /// Adds a row as [`Attribution::rows`] gave it.
    pub fn add_row(&mut self, lowest: Nanos, count: u64, nanos: &[u64]) {
        let row = row_of(lowest);
        self.counts[row] += count;
        for (sum, n) in self.nanos[row * CAUSES..].iter_mut().zip(nanos) {
            *sum += n;
        }
    }
}

/// How many of `count` requests the slowest `share` are: rounded up, one at least.
pub fn rank_of(count: u64, share: f64) -> u64 {
    rank_at(count, share * 100.0)
}

fn list(count: u64, sums: &[u128; CAUSES]) -> Vec<Share> {
    let total: u128 = sums.iter().sum();
    let parts = Cause::ALL.into_iter().zip(sums).filter(|&(_, &sum)| sum > 0);
    let mut shares: Vec<Share> = parts
        .map(|(cause, &sum)| Share {
            cause,
            mean_ns: sum as f64 / count.max(1) as f64,
            share: sum as f64 / total as f64,
        })
        .collect();
    shares.sort_by(|a, b| b.share.total_cmp(&a.share).then(a.cause.cmp(&b.cause)));
    shares
}

/// Latencies below 32 ns have a bucket each; above, 32 buckets for each doubling.
#[inline]
fn row_of(latency: Nanos) -> usize {
    let n = latency.0.max(1);
    let octave = 63 - n.leading_zeros() as usize;
    if octave < 5 {
        return n as usize;
    }
    let within = (n >> (octave - 5)) as usize & (PER_OCTAVE - 1);
    ((octave - 4) * PER_OCTAVE + within).min(ROWS - 1)
}

fn lowest_of(row: usize) -> Nanos {
    if row < PER_OCTAVE {
        return Nanos(row as u64);
    }
    let octave = row / PER_OCTAVE + 4;
    Nanos(((PER_OCTAVE + row % PER_OCTAVE) as u64) << (octave - 5))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_found_again_by_their_lowest_latency() {
        for n in (0..10_000u64).chain((14..62).map(|s| (1 << s) + 12_345)) {
            let row = row_of(Nanos(n));
            assert_eq!(row_of(lowest_of(row)), row, "{n}");
            assert!(lowest_of(row).0 <= n.max(1) || row == ROWS - 1);
        }
    }

    #[test]
    fn the_slowest_are_told_apart_from_the_rest() {
        let mut attribution = Attribution::new();
        for i in 0..1000u64 {
            let mut spans = Spans::new();
            spans.add(Cause::Cell, Nanos(75_000));
            if i == 7 {
                spans.add(Cause::ChipErase, Nanos(3_000_000));
            }
            attribution.record(spans.total(), &spans);
        }
        let part = attribution.slowest(1, 3_075_000);
        assert_eq!((part.count, part.shares()[0].cause), (1, Cause::ChipErase));
        assert_eq!(attribution.all()[0].cause, Cause::Cell);
        let around = attribution.around(Nanos(75_000), 10);
        assert_eq!((around.count(), around.shares.len()), (999, 1));
        assert!(around.from <= Nanos(75_000) && Nanos(75_000) < around.to && around.to < Nanos(80_000));
    }

    #[test]
    fn few_requests_around_a_latency_are_joined_by_others_and_the_range_shows_it() {
        let mut attribution = Attribution::new();
        for micros in [10, 1000, 1000, 5000, 100_000] {
            let mut spans = Spans::new();
            spans.add(Cause::Cell, Nanos::micros(micros));
            attribution.record(spans.total(), &spans);
        }
        let around = attribution.around(Nanos::micros(5000), 1);
        assert!(around.count() == 1 && around.from > Nanos::micros(4800), "{around:?}");
        let around = attribution.around(Nanos::micros(5000), 2);
        assert_eq!(around.count(), 3);
        assert!(around.from > Nanos::micros(950) && around.from <= Nanos::micros(1000), "{around:?}");
        assert!(around.to > Nanos::micros(5000) && around.to < Nanos::micros(5200), "{around:?}");
    }

    #[test]
    fn the_nearest_requests_join_first_and_no_more_than_it_takes() {
        let mut attribution = Attribution::new();
        for micros in [500, 900, 1000, 1100, 9000] {
            let mut spans = Spans::new();
            spans.add(Cause::Cell, Nanos::micros(micros));
            attribution.record(spans.total(), &spans);
        }
        let around = |least| {
            let around = attribution.around(Nanos::micros(1000), least);
            (around.count(), around.ranks.start)
        };
        assert_eq!(around(1), (1, 2));
        assert_eq!(around(2), (2, 1), "1100 is nearer than 900, by ratio");
        assert_eq!((around(3), around(4)), ((3, 1), (4, 1)));
        assert_eq!((around(5), around(6)), ((5, 0), (5, 0)));
    }

    #[test]
    fn a_bucket_is_shared_out_by_count() {
        let mut attribution = Attribution::new();
        for _ in 0..1000 {
            let mut spans = Spans::new();
            spans.add(Cause::Cell, Nanos(75_000));
            attribution.record(spans.total(), &spans);
        }
        let part = attribution.slowest(10, 750_000);
        assert_eq!((part.count, part.shares()[0].mean_ns), (10, 75_000.0));
        let part = attribution.ranked(10..100);
        assert_eq!((part.count, part.shares()[0].mean_ns), (90, 75_000.0));
        assert_eq!(attribution.ranked(900..2000).count, 100);
    }
}
