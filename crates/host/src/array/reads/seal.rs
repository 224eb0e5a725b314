//! Seals: protection information that identifies a block as the one written there.

use crate::array::DriveId;
use tailcut_base::random::mix64;

/// What tells apart the contents that a block has one after the other, in its seal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct SealAge(u64);

impl SealAge {
    /// The age of all blocks that are overwritten in place: their seals tell nothing about it.
    pub const IN_PLACE: SealAge = SealAge(0);

    /// An age; different contents of a block have different ones.
    pub const fn new(age: u64) -> SealAge {
        SealAge(age)
    }
}

/// The seal of a block: derived from its place and the age of its content. Two blocks of the same age never
/// share a seal (up to 2^48 blocks on each of 2^16 drives); of different ages, with a probability of 2^-64.
#[inline]
pub fn seal_of(drive: DriveId, block: u64, age: SealAge) -> u64 {
    mix64(mix64(age.0) ^ (block << 16 | u64::from(drive.get())))
}
