//! Named random streams: every component draws from its own, so that an additional draw in one place changes
//! nothing elsewhere.

use crate::Nanos;
use crate::cast::{to_u32, to_usize, whole};
use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// A random stream, determined by the run's seed and the stream's name.
///
/// # Examples
/// ```
/// use tailcut_base::random::Stream;
///
/// let mut sizes = Stream::new(1, "sizes");
/// assert_eq!(sizes.clone().bits(), Stream::new(1, "sizes").bits());
/// assert_ne!(sizes.clone().bits(), Stream::new(1, "arrivals").bits());
/// assert!(sizes.below(6) < 6);
/// ```
#[derive(Clone, Debug)]
pub struct Stream {
    rng: Xoshiro256PlusPlus,
}

impl Stream {
    /// The stream called `name` of the run with `seed`.
    pub fn new(seed: u64, name: &str) -> Stream {
        let named = name.bytes().fold(mix64(seed), |state, byte| mix64(state ^ u64::from(byte)));
        Stream { rng: Xoshiro256PlusPlus::seed_from_u64(named) }
    }

    /// The next 64 random bits of the stream, uniformly distributed.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.rng.next_u64()
    }

    /// A whole number below `bound`, which must not be zero. Uniform up to a bias below
    /// `bound / 2^64` (multiply and shift).
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.rng.next_u64()) * u128::from(bound)) >> 64) as u64
    }

    /// [`below`](Self::below) for a `bound` of 32 bits.
    #[inline]
    pub fn below_u32(&mut self, bound: u32) -> u32 {
        to_u32(self.below(u64::from(bound)))
    }

    /// The index of an entry of a slice with `len` entries, of which there must be one:
    /// [`below`](Self::below).
    #[inline]
    pub fn index(&mut self, len: usize) -> usize {
        to_usize(self.below(len as u64))
    }

    /// True with a probability of `ppm` parts per million.
    #[inline]
    pub fn chance_ppm(&mut self, ppm: u32) -> bool {
        self.below(1_000_000) < u64::from(ppm)
    }

    /// A float in [0, 1), for distributions; never compared to decide the order of events.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.rng.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// A draw from the exponential distribution with this mean. `libm` gives the same bits on every machine.
    pub fn exponential(&mut self, mean: Nanos) -> Nanos {
        Nanos(whole(-libm::log(1.0 - self.unit()) * mean.0 as f64))
    }

    /// Number of trials of probability `p` before the first success; `u64::MAX` for `p = 0`.
    pub fn geometric(&mut self, p: f64) -> u64 {
        if p <= 0.0 {
            return u64::MAX;
        }
        if p >= 1.0 {
            return 0;
        }
        // `libm`'s logarithm, because the last bit of the platform's differs between machines.
        whole((libm::log(1.0 - self.unit()) / libm::log(1.0 - p)).min(1e18))
    }
}

/// A bijective mixing of 64 bits (the finalizer of SplitMix64, Steele et al. 2014).
#[inline]
pub fn mix64(x: u64) -> u64 {
    let mut z = x.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// A pseudorandom permutation of `0..len`, computed without a table: a four-round Feistel network over the
/// next even number of bits, iterated until the value falls below `len`.
#[derive(Clone, Copy, Debug)]
pub struct Permutation {
    len: u64,
    half_bits: u32,
    keys: [u64; 4],
}

impl Permutation {
    /// The permutation of `0..len` for `seed`.
    pub fn new(len: u64, seed: u64) -> Permutation {
        let bits = 64 - len.saturating_sub(1).leading_zeros();
        let half_bits = bits.div_ceil(2).max(1);
        let keys = [1, 2, 3, 4].map(|round| mix64(seed ^ mix64(round)));
        Permutation { len, half_bits, keys }
    }

    /// The image of `index`, which must be below `len`.
    #[inline]
    pub fn at(&self, index: u64) -> u64 {
        debug_assert!(index < self.len);
        let mask = (1u64 << self.half_bits) - 1;
        let mut value = index;
        loop {
            let (mut left, mut right) = (value >> self.half_bits, value & mask);
            for key in self.keys {
                let scrambled = (right ^ key).wrapping_mul(0x9E37_79B9_7F4A_7C15);
                (left, right) = (right, left ^ ((scrambled >> 32) & mask));
            }
            value = (left << self.half_bits) | right;
            if value < self.len {
                return value;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_of_different_names_differ_and_repeat() {
        let draw = |seed, name: &str| Stream::new(seed, name).bits();
        assert_eq!(draw(1, "faults"), draw(1, "faults"));
        assert_ne!(draw(1, "faults"), draw(1, "gc"));
        assert_ne!(draw(1, "faults"), draw(2, "faults"));
    }

    #[test]
    fn draws_of_all_widths_are_the_same() {
        let [mut long, mut short, mut index] = [1; 3].map(|seed| Stream::new(seed, "widths"));
        for bound in [1, 2, 37, u32::MAX] {
            let drawn = long.below(u64::from(bound));
            assert_eq!(
                (u64::from(short.below_u32(bound)), index.index(bound as usize) as u64),
                (drawn, drawn)
            );
        }
    }

    #[test]
    fn a_permutation_hits_every_place_once() {
        for len in [1u64, 2, 3, 10, 1000, 4096, 5001] {
            let permutation = Permutation::new(len, 7);
            let mut seen = vec![false; len as usize];
            for i in 0..len {
                let at = permutation.at(i) as usize;
                assert!(!std::mem::replace(&mut seen[at], true));
            }
        }
    }

    #[test]
    fn geometric_has_its_mean() {
        let mut stream = Stream::new(3, "test");
        let n = 20_000;
        let sum: u64 = (0..n).map(|_| stream.geometric(0.01)).sum();
        let mean = sum as f64 / n as f64;
        assert!((mean - 99.0).abs() < 3.0, "mean {mean}");
    }
}
