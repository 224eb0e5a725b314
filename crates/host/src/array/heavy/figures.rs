//! What epochs did.

use tailcut_base::Nanos;

/// Counts of an array with epochs, since it was made or opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EpochFigures {
    /// Epochs.
    pub epochs: u64,
    /// The longest of them.
    pub longest_epoch: Nanos,
    /// Blocks written to drives for the host, repair and rebuilding; each copy counts.
    pub written: u64,
    /// Copies that were never written, because the block was written again before.
    pub superseded: u64,
    /// Blocks of descriptors.
    pub descriptors: u64,
    /// Of those, the ones that only merge others.
    pub merges: u64,
    /// Blocks of reads that were answered from the cache.
    pub from_cache: u64,
    /// Reads of blocks with one copy on a drive with the token that went to the other.
    pub diverted: u64,
    /// Those that had to go to the drive with the token.
    pub met: u64,
    /// Requests that waited for room in the cache or the lines.
    pub throttled: u64,
    /// The longest time that a copy waited for the token.
    pub longest_wait: Nanos,
    /// Copies that waited for longer than the deadline.
    pub late: u64,
    /// How often a drive that was told to collect had something to collect.
    pub collections: u64,
    /// How often a drive was asked whether it had come to rest.
    pub polls: u64,
    /// How often the token passed on although a drive had not come to rest.
    pub restless: u64,
    /// Drives that do not know the control interface, where it was to be used.
    pub without_control: u32,
}
