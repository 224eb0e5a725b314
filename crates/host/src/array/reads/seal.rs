//! Seals: protection information that identifies a block as the one written there.

use crate::array::DriveId;
use tailcut_base::random::mix64;

/// The seal of a block: derived from its place and the age of its content. Two blocks of the same age never
/// share a seal (up to 2^48 blocks on each of 2^16 drives); of different ages, with a probability of 2^-64.
#[inline]
pub fn seal_of(drive: DriveId, block: u64, age: u64) -> u64 {
    mix64(mix64(age) ^ (block << 16 | u64::from(drive.get())))
}
