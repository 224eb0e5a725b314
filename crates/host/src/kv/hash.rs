//! The hash of a key.

use tailcut_base::cast::{to_u32, to_u64};
use xxhash_rust::xxh3::{xxh3_64_with_seed, xxh3_128_with_seed};

/// A 128-bit key hash (XXH3). The seed is a random number of the store, so collisions cannot be constructed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct KeyHash(pub u128);

impl KeyHash {
    /// The hash of `key` in the store with this seed.
    #[inline]
    pub fn of(seed: u64, key: &[u8]) -> KeyHash {
        KeyHash(xxh3_128_with_seed(key, seed))
    }
}

/// The part of a store that owns the item with this key. It is statistically independent of all other uses of
/// the key's hash.
#[inline]
pub fn part_of(seed: u64, key: &[u8], parts: u32) -> u32 {
    if parts == 1 {
        return 0;
    }
    let hash = xxh3_64_with_seed(key, !seed);
    to_u32(to_u64((u128::from(hash) * u128::from(parts)) >> 64))
}
