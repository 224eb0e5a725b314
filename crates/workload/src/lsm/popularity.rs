//! How unequal keys are, and what a number of puts therefore leaves.

use crate::zipf::zeta;

/// Exponent of YCSB's request distribution (`ZipfianGenerator.ZIPFIAN_CONSTANT`).
pub const THETA: f64 = 0.99;
/// Ranks of YCSB's `ScrambledZipfianGenerator`, for any number of keys: those for which its ζ of 26.469 is
/// right (`ZETAN`). Ranks beyond the number of keys fall on the keys evenly, by a hash.
pub const RANKS: u64 = 10_000_000_000;

/// How often keys are put to, and the share of all keys that *n* puts hit:
/// G(n) = mean over the keys of 1 − e^(−n × weight).
///
/// Puts of several files add up, so a file needs no more than its number of entries: n = G⁻¹(share). G
/// is kept at points of equal distance in ln n and taken linear in the logarithms between them, which
/// is right to 0.1 %.
#[derive(Clone, Debug)]
pub struct Popularity {
    keys: u64,
    /// ζ of all ranks.
    zeta: f64,
    /// What falls on each key from the ranks beyond the number of keys.
    even: f64,
    /// ln G at ln n = 0, `STEP`, 2 `STEP` …
    points: Vec<f64>,
}

/// Distance of the points in ln n.
const STEP: f64 = 0.08;
/// Ranks that are added up one by one; behind them each band is 1/`BAND` longer than where it begins.
const HEAD: u64 = 500;
const BAND: u64 = 50;

impl Popularity {
    /// YCSB's over `keys` keys.
    ///
    /// # Panics
    /// If `keys` is zero.
    pub fn ycsb(keys: u64) -> Popularity {
        assert!(keys >= 1, "a store has a key");
        let ranked = keys.min(RANKS);
        let zeta_all = zeta(RANKS, THETA);
        let even = (1.0 - zeta(ranked, THETA) / zeta_all).max(0.0) / keys as f64;
        let mut popularity = Popularity { keys, zeta: zeta_all, even, points: Vec::new() };
        let bands = bands(ranked);
        // Far enough that the coldest key is hit: e^(−40).
        let last = libm::log(40.0 / popularity.weight(keys - 1)).max(1.0);
        let count = (last / STEP).ceil() as usize + 1;
        popularity.points = (0..count)
            .map(|point| libm::log(popularity.sum(&bands, libm::exp(point as f64 * STEP))))
            .collect();
        popularity
    }

    /// Share of the puts that go to the key of rank `rank`, counted from 0, the most popular one.
    pub fn weight(&self, rank: u64) -> f64 {
        let ranked = rank < RANKS;
        let own = if ranked { libm::exp(-THETA * libm::log(rank as f64 + 1.0)) / self.zeta } else { 0.0 };
        own + self.even
    }

    fn sum(&self, bands: &[(u64, u64)], puts: f64) -> f64 {
        let hit = |&(first, ranks): &(u64, u64)| {
            let middle = self.weight(first + ranks / 2);
            ranks as f64 * -libm::expm1(-puts * middle)
        };
        bands.iter().map(hit).sum::<f64>() / self.keys as f64
    }

    /// G(puts), 0 to 1.
    pub fn share(&self, puts: f64) -> f64 {
        if puts <= 1.0 {
            return puts.max(0.0) * libm::exp(self.points[0]);
        }
        let at = libm::log(puts) / STEP;
        let point = at as usize;
        if puts.is_infinite() || point + 1 >= self.points.len() {
            return 1.0;
        }
        let (low, high) = (self.points[point], self.points[point + 1]);
        libm::exp(low + (at - point as f64) * (high - low)).min(1.0)
    }

    /// The number of puts that hit a share of the keys; infinite for all of them.
    pub fn puts(&self, share: f64) -> f64 {
        if share >= 1.0 {
            return f64::INFINITY;
        }
        let log = libm::log(share.max(f64::MIN_POSITIVE));
        if log <= self.points[0] {
            return share.max(0.0) / libm::exp(self.points[0]);
        }
        let behind = self.points.partition_point(|point| *point < log);
        let Some(&high) = self.points.get(behind) else { return f64::INFINITY };
        let low = self.points[behind - 1];
        libm::exp(((behind - 1) as f64 + (log - low) / (high - low)) * STEP)
    }
}

/// The ranks below `ranks` in bands: the first and how many.
fn bands(ranks: u64) -> Vec<(u64, u64)> {
    let mut bands = Vec::new();
    let mut first = 0;
    while first < ranks {
        let length = if first < HEAD { 1 } else { first / BAND };
        bands.push((first, length.min(ranks - first)));
        first += length;
    }
    bands
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_add_up_to_one() {
        for keys in [1, 2, 1000, 200_000] {
            let popularity = Popularity::ycsb(keys);
            let sum: f64 = (0..keys).map(|rank| popularity.weight(rank)).sum();
            assert!((sum - 1.0).abs() < 1e-6, "{keys}: {sum}");
        }
        // YCSB's own constant.
        assert!((Popularity::ycsb(10).zeta - 26.469_028_201_783_02).abs() < 1e-6);
    }

    #[test]
    fn shares_are_those_of_the_sum_over_all_keys() {
        let popularity = Popularity::ycsb(50_000);
        for puts in [0.5, 1.0, 30.0, 1000.0, 50_000.0, 3e6, 1e9] {
            let hit = |rank| -libm::expm1(-puts * popularity.weight(rank));
            let exact = (0..50_000).map(hit).sum::<f64>() / 50_000.0;
            let share = popularity.share(puts);
            assert!((share / exact - 1.0).abs() < 2e-3, "{puts}: {share} for {exact}");
        }
    }

    #[test]
    fn puts_and_shares_undo_each_other() {
        let popularity = Popularity::ycsb(1_000_000);
        for puts in [0.01, 1.0, 7.0, 1e4, 1e6] {
            let back = popularity.puts(popularity.share(puts));
            assert!((back / puts - 1.0).abs() < 1e-9, "{puts}: {back}");
        }
        assert_eq!(popularity.puts(1.0), f64::INFINITY);
        assert_eq!((popularity.share(f64::INFINITY), popularity.share(0.0)), (1.0, 0.0));
    }
}
