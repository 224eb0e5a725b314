//! Seals: what tells that a block is the one that was written there.

use crate::array::DriveId;
use tailcut_base::random::mix64;

/// The seal of a block: its place, and the age of what is there. Two blocks of one age never share a
/// seal (up to 2^48 blocks on each of 2^16 drives); of different ages, with a chance of 2^-64.
#[inline]
pub fn seal_of(drive: DriveId, block: u64, age: u64) -> u64 {
    mix64(mix64(age) ^ (block << 16 | u64::from(drive.get())))
}
