//! Bandwidth over bytes: the time of each stretch of equal bytes, and where it changes permanently.

use tailcut_base::Nanos;
use tailcut_base::steady::Window;

/// Times of consecutive stretches of equal bytes. When there are too many, stretches are merged in pairs, so
/// a profile takes 4 KiB of memory for any number of bytes.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// Bytes per stretch.
    bytes: u64,
    /// End time of each stretch, since the start.
    ends: Vec<Nanos>,
    /// Bytes of the current, incomplete stretch.
    begun: u64,
}

/// A lasting drop of the bandwidth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cliff {
    /// Bytes transferred before the cliff, in whole stretches.
    pub at: u64,
    /// Bytes per second before the cliff.
    pub before: f64,
    /// Bytes per second after the cliff, over the last half of what follows.
    pub after: f64,
}

/// Maximum number of stretches.
const MOST: usize = 512;

/// A smaller drop is not a cliff: in steady state, five rounds may differ by as much (SNIA Solid State
/// Storage Performance Test Specification 2.0.2, section 2.1.4).
const LEAST_FALL: f64 = 0.2;

/// A cliff has to reduce the squared deviation from one level below this share of it; lesser reductions are
/// noise.
const EXPLAINED: f64 = 0.5;

impl Profile {
    /// A profile with stretches of `bytes`, which is at least 1 and no less than any single addition.
    pub fn new(bytes: u64) -> Profile {
        Profile { bytes, ends: Vec::new(), begun: 0 }
    }

    /// Adds `bytes` transferred by `at`. True if this completes a stretch.
    pub fn add(&mut self, bytes: u64, at: Nanos) -> bool {
        self.begun += bytes;
        if self.begun < self.bytes {
            return false;
        }
        self.begun -= self.bytes;
        self.ends.push(at);
        if self.ends.len() == MOST {
            self.join();
        }
        true
    }

    fn join(&mut self) {
        self.ends = self.ends.iter().skip(1).step_by(2).copied().collect();
        self.bytes *= 2;
    }

    /// Bytes per stretch; doubled whenever stretches are merged.
    pub fn size(&self) -> u64 {
        self.bytes
    }

    /// Bytes of all complete stretches, and of the current one.
    pub fn total(&self) -> u64 {
        self.bytes * self.ends.len() as u64 + self.begun
    }

    /// Bytes per second of each stretch.
    pub fn rates(&self) -> Vec<f64> {
        (0..self.ends.len()).map(|index| self.rate(index..index + 1)).collect()
    }

    /// Bytes per second over some stretches; 0 over none.
    pub fn rate(&self, stretches: std::ops::Range<usize>) -> f64 {
        if stretches.is_empty() {
            return 0.0;
        }
        let begun = if stretches.start == 0 { Nanos::ZERO } else { self.ends[stretches.start - 1] };
        let took = self.ends[stretches.end - 1].saturating_sub(begun).0.max(1);
        self.bytes as f64 * stretches.len() as f64 / (took as f64 / 1e9)
    }

    /// Bytes per second of the median stretch among the first `bytes`; 0 if none is complete.
    pub fn typical_rate(&self, bytes: u64) -> f64 {
        let mut rates = self.rates();
        rates.truncate((bytes / self.bytes).max(1) as usize);
        rates.sort_by(f64::total_cmp);
        rates.get(rates.len() / 2).copied().unwrap_or(0.0)
    }

    /// Bytes per second over the last half.
    pub fn settled_rate(&self) -> f64 {
        self.rate(self.ends.len() / 2..self.ends.len())
    }

    /// True if the last five rounds of a sixteenth of `bytes` are in steady state: no two differ by more than
    /// 20 %, and the best-fit line stays within 10 % (SNIA PTS 2.0.2, section 2.1.4).
    pub fn is_steady(&self, bytes: u64) -> bool {
        let each = (bytes / 16 / self.bytes).max(1) as usize;
        let Some(first) = self.ends.len().checked_sub(5 * each) else { return false };
        let round = |index: usize| self.rate(first + index * each..first + (index + 1) * each) as u64;
        Window { figures: std::array::from_fn(round) }.is_steady()
    }

    /// The lasting drop of the bandwidth: the division of the stretches in two with the least squared
    /// deviation from two levels (of the logarithm of the time of a stretch, so that one slow stretch has
    /// little weight). None where one level explains as much, or where the second is not slower.
    pub fn cliff(&self) -> Option<Cliff> {
        let rates = self.rates();
        let sums = Sums::of(rates.iter().map(|rate| rate.ln()));
        let count = rates.len();
        let cost = |at: usize| sums.deviation(0..at) + sums.deviation(at..count);
        let at = (2..count.saturating_sub(1)).min_by(|&a, &b| cost(a).total_cmp(&cost(b)))?;
        let (before, after) = (self.rate(0..at), self.rate((at + count) / 2..count));
        let is_clear = cost(at) < EXPLAINED * sums.deviation(0..count);
        (is_clear && after < (1.0 - LEAST_FALL) * before).then_some(Cliff {
            at: at as u64 * self.bytes,
            before,
            after,
        })
    }
}

/// Prefix sums of the values and of their squares.
struct Sums(Vec<(f64, f64)>);

impl Sums {
    fn of(values: impl Iterator<Item = f64>) -> Sums {
        let mut sums = vec![(0.0, 0.0)];
        sums.extend(values.scan((0.0, 0.0), |(sum, squares), value| {
            *sum += value;
            *squares += value * value;
            Some((*sum, *squares))
        }));
        Sums(sums)
    }

    /// Squared deviation from the mean.
    fn deviation(&self, part: std::ops::Range<usize>) -> f64 {
        let count = part.len() as f64;
        if count == 0.0 {
            return 0.0;
        }
        let (sum, squares) =
            (self.0[part.end].0 - self.0[part.start].0, self.0[part.end].1 - self.0[part.start].1);
        (squares - sum * sum / count).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailcut_base::random::Stream;

    /// Stretches of 1000 bytes with these times in ns, plus or minus a tenth.
    fn profile(lengths: &[(usize, u64)]) -> Profile {
        let (mut profile, mut now, mut random) = (Profile::new(1000), 0, Stream::new(3, "profile"));
        for &(count, length) in lengths {
            for _ in 0..count {
                now += length * (90 + random.below(21)) / 100;
                profile.add(1000, Nanos(now));
            }
        }
        profile
    }

    #[test]
    fn a_cliff_is_where_it_is_slower_from_then_on() {
        let cliff = profile(&[(100, 1000), (200, 4000)]).cliff().expect("there is one");
        assert_eq!(cliff.at, 100_000);
        assert!(
            (cliff.before / 1e9 - 1.0).abs() < 0.05 && (cliff.after / 2.5e8 - 1.0).abs() < 0.05,
            "{cliff:?}"
        );
    }

    #[test]
    fn noise_single_stalls_and_a_rise_are_no_cliff() {
        assert_eq!(profile(&[(300, 1000)]).cliff(), None);
        assert_eq!(profile(&[(100, 1000), (1, 50_000), (150, 1000), (1, 50_000), (90, 1000)]).cliff(), None);
        assert_eq!(profile(&[(100, 4000), (200, 1000)]).cliff(), None);
        assert_eq!(profile(&[(3, 1000)]).cliff(), None);
    }

    #[test]
    fn joined_stretches_keep_times_and_bytes() {
        let joined = profile(&[(1000, 1000)]);
        assert!(joined.ends.len() < MOST && joined.size() == 2000 && joined.total() == 1_000_000);
        assert!((joined.rate(0..joined.ends.len()) / 1e9 - 1.0).abs() < 0.02);
    }

    #[test]
    fn steady_is_what_neither_falls_nor_jumps() {
        assert!(profile(&[(100, 1000)]).is_steady(160_000));
        assert!(!profile(&[(10, 1000)]).is_steady(160_000), "five rounds take longer");
        assert!(!profile(&[(80, 1000), (20, 2000)]).is_steady(160_000));
        let falling: Vec<(usize, u64)> = (0..100).map(|at| (1, 1000 + 8 * at)).collect();
        assert!(!profile(&falling).is_steady(160_000));
    }
}
