//! Which keys puts go to, and so which keys the files have that they become.

use super::popularity::Popularity;

/// A key, as the law of the store knows it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Key {
    /// Position of the key in the order of all keys, from 0.
    pub place: u64,
    /// In a store that grows: how many keys were inserted before this one.
    pub age: u64,
    /// Share of the puts that go to the key.
    pub weight: f64,
}

/// Which keys puts go to. A file is known by its key range and its number of entries; the law derives from
/// that the distribution over single keys.
#[derive(Clone, Debug)]
pub enum Law {
    /// Puts go to any key, equally often.
    Uniform,
    /// Puts go to some keys much more often than to others.
    Skewed(Popularity),
    /// Each put goes to a key that was not there.
    Growing,
}

impl Law {
    /// How many different ones of `keys` keys `puts` puts hit. Rounded; at least 1 when there was one.
    /// Uniform draws hit K(1 − e^(−puts ÷ K)).
    pub fn distinct(&self, puts: u64, keys: u64) -> u64 {
        let share = match self {
            Law::Uniform => -libm::expm1(-(puts as f64) / keys as f64),
            Law::Skewed(popularity) => popularity.share(puts as f64),
            Law::Growing => return puts,
        };
        ((keys as f64 * share).round() as u64).clamp(puts.min(1), puts.min(keys))
    }

    /// Puts that leave a file with the share `density` of the keys in its range: as many for all keys as
    /// would leave its entries in its range. Infinite for a file with all keys; 0 for laws that do not need
    /// it.
    pub fn puts(&self, density: f64) -> f64 {
        match self {
            Law::Skewed(popularity) => popularity.puts(density),
            Law::Uniform | Law::Growing => 0.0,
        }
    }

    /// The share of the keys that is in at least one of the files with the shares `densities`.
    ///
    /// Uniform: 1 − (1 − d₁)(1 − d₂)…, as what a key is in does not depend on the other files. Skewed:
    /// the share that the puts of all of them together leave. Growing: the sum, for no key is inserted
    /// twice.
    pub fn union(&self, densities: impl Iterator<Item = f64>) -> f64 {
        match self {
            Law::Uniform => 1.0 - densities.map(|density| 1.0 - density).product::<f64>(),
            Law::Skewed(popularity) => {
                popularity.share(densities.map(|density| popularity.puts(density)).sum())
            }
            Law::Growing => densities.sum::<f64>().min(1.0),
        }
    }

    /// The probability that one of `puts` puts went to a key with the share `weight` of them.
    pub fn hit(puts: f64, weight: f64) -> f64 {
        -libm::expm1(-puts * weight)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_growing_store_keeps_every_entry_and_a_skewed_one_fewer_than_a_uniform_one() {
        let skewed = Law::Skewed(Popularity::ycsb(100_000));
        assert_eq!(Law::Growing.distinct(5000, 100_000), 5000);
        assert_eq!(Law::Uniform.distinct(5000, 100_000), 4877);
        let few = skewed.distinct(5000, 100_000);
        assert!((2000..4000).contains(&few), "{few}");
        assert_eq!([1, 0].map(|puts| skewed.distinct(puts, 100_000)), [1, 0]);
        let union = |law: &Law| law.union([0.1, 0.2].into_iter());
        assert!((union(&Law::Uniform) - 0.28).abs() < 1e-12);
        assert!((union(&Law::Growing) - 0.3).abs() < 1e-12);
        // Hot keys are in both files.
        let both = union(&skewed);
        assert!((0.2..0.28).contains(&both), "{both}");
        assert_eq!(skewed.union([1.0, 0.2].into_iter()), 1.0);
    }
}
