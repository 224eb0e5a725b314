//! The hash of a key.

use xxhash_rust::xxh3::xxh3_128_with_seed;

/// 128 bits of hash of a key (XXH3). The seed is a random number of the store, so nobody can make keys that meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct KeyHash(pub u128);

impl KeyHash {
    /// The hash of `key` in the store with this seed.
    #[inline]
    pub fn of(seed: u64, key: &[u8]) -> KeyHash {
        KeyHash(xxh3_128_with_seed(key, seed))
    }
}
