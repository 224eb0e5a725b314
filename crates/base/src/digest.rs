//! A digest of a run's event history: two runs of one seed must agree on it.

use crate::random::mix64;

/// A running 64-bit digest. It finds accidental differences; it is no protection against intent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Digest(u64);

impl Digest {
    /// The digest of nothing.
    pub const fn new() -> Digest {
        Digest(0)
    }

    /// Takes one more number in.
    #[inline]
    pub fn add(&mut self, value: u64) {
        self.0 = (self.0.rotate_left(5) ^ value).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }

    /// The digest of everything taken in so far.
    pub fn value(self) -> u64 {
        mix64(self.0)
    }
}
