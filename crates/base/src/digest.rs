//! A digest of a run's event history: two runs with the same seed must have equal digests.

use crate::random::mix64;

/// A running 64-bit digest. It detects accidental differences, not deliberate ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Digest(u64);

impl Digest {
    /// The digest of an empty history.
    pub const fn new() -> Digest {
        Digest(0)
    }

    /// Folds a number into the digest; the order of the numbers matters.
    #[inline]
    pub fn add(&mut self, value: u64) {
        self.0 = (self.0.rotate_left(5) ^ value).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }

    /// Adds the decimal numbers in a text and ignores everything else, so that fields may be renamed.
    pub fn add_numbers(&mut self, text: &str) {
        for digits in text.split(|c: char| !c.is_ascii_digit()).filter(|digits| !digits.is_empty()) {
            digits.bytes().for_each(|digit| self.add(u64::from(digit)));
            self.add(0);
        }
    }

    /// The digest of all numbers added so far.
    pub fn value(self) -> u64 {
        mix64(self.0)
    }
}
