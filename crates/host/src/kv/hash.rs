//! The hash of a key.

use xxhash_rust::xxh3::{xxh3_64_with_seed, xxh3_128_with_seed};

/// 128 bits of hash of a key (XXH3). The seed is a random number of the store, so nobody can make keys that
/// meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct KeyHash(pub u128);

impl KeyHash {
    /// The hash of `key` in the store with this seed.
    #[inline]
    pub fn of(seed: u64, key: &[u8]) -> KeyHash {
        KeyHash(xxh3_128_with_seed(key, seed))
    }
}

/// Which of several parts of a store has the item with this key. Nothing else that is known of the key by its
/// hash depends on it.
#[inline]
pub fn part_of(seed: u64, key: &[u8], parts: u32) -> u32 {
    if parts == 1 {
        return 0;
    }
    let hash = xxh3_64_with_seed(key, !seed);
    ((u128::from(hash) * u128::from(parts)) >> 64) as u32
}
