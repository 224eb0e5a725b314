//! The sizes of requests.

use foldhash::fast::FixedState;
use hashbrown::HashMap;
use serde::Serialize;

/// A distribution of sizes in bytes.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Sizes {
    /// Number of requests that the distribution is of.
    pub requests: u64,
    /// Mean size in bytes; 0 if there are no requests.
    pub mean: f64,
    /// Smallest size in bytes.
    pub min: u32,
    /// The size in bytes that half of the requests do not exceed.
    pub p50: u32,
    /// The size in bytes that 90 % of the requests do not exceed.
    pub p90: u32,
    /// The size in bytes that 99 % of the requests do not exceed.
    pub p99: u32,
    /// Largest size in bytes.
    pub max: u32,
    /// The most frequent sizes and their counts, at most [`Sizes::TOP`].
    pub top: Vec<(u32, u64)>,
}

impl Sizes {
    /// How many of the most frequent sizes are listed.
    pub const TOP: usize = 8;
}

/// Counts each size. Real traces have at most a few thousand; beyond [`SizeMeter::MOST`] distinct
/// sizes the further ones are rounded up to whole 64 KiB.
#[derive(Debug, Default)]
pub(super) struct SizeMeter {
    counts: HashMap<u32, u64, FixedState>,
    bytes: u128,
    requests: u64,
}

impl SizeMeter {
    const MOST: usize = 1 << 20;

    pub(super) fn count(&mut self, len: u32) {
        self.requests += 1;
        self.bytes += u128::from(len);
        let is_full = self.counts.len() >= SizeMeter::MOST;
        let len = if is_full && !self.counts.contains_key(&len) { len | 0xffff } else { len };
        *self.counts.entry(len).or_insert(0) += 1;
    }

    pub(super) fn sizes(&self) -> Sizes {
        let mut counts: Vec<(u32, u64)> = self.counts.iter().map(|(&len, &count)| (len, count)).collect();
        counts.sort_unstable();
        let (Some(&(min, _)), Some(&(max, _))) = (counts.first(), counts.last()) else {
            return Sizes::default();
        };
        let percentile = |p| self.percentile(&counts, p);
        let (p50, p90, p99) = (percentile(50), percentile(90), percentile(99));
        counts.sort_by_key(|&(len, count)| (std::cmp::Reverse(count), len));
        counts.truncate(Sizes::TOP);
        let mean = self.bytes as f64 / self.requests as f64;
        Sizes { requests: self.requests, mean, min, p50, p90, p99, max, top: counts }
    }

    fn percentile(&self, sorted: &[(u32, u64)], percentile: u64) -> u32 {
        let rank = (u128::from(self.requests) * u128::from(percentile)).div_ceil(100) as u64;
        let mut below = 0;
        for &(len, count) in sorted {
            below += count;
            if below >= rank {
                return len;
            }
        }
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_and_top_sizes_are_exact() {
        let mut meter = SizeMeter::default();
        for (len, count) in [(4096, 60), (8192, 35), (512, 4), (1 << 20, 1)] {
            (0..count).for_each(|_| meter.count(len));
        }
        let sizes = meter.sizes();
        assert_eq!((sizes.min, sizes.p50, sizes.p90, sizes.p99, sizes.max), (512, 4096, 8192, 8192, 1 << 20));
        assert_eq!(sizes.top, [(4096, 60), (8192, 35), (512, 4), (1 << 20, 1)]);
        assert_eq!(SizeMeter::default().sizes(), Sizes::default());
    }
}
