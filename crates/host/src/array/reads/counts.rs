//! Counters of reads.

/// Counters of reads, by how they were served.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadCounts {
    /// Reads of blocks of one drive that were started, however they were served.
    pub begun: u64,
    /// Reads reconstructed because the drive was missing or reported an error.
    pub degraded: u64,
    /// Reads reconstructed at once because the drive was known to be busy.
    pub steered: u64,
    /// Reads reconstructed because the drive declined.
    pub contended: u64,
    /// Reads reconstructed because the drive was late.
    pub hedged: u64,
    /// Reads reconstructed because the drive returned wrong data.
    pub corrupt: u64,
    /// Blocks rewritten after errors or wrong data.
    pub repaired: u64,
    /// Reads whose data could neither be read nor reconstructed.
    pub lost: u64,
}

/// Faults of one drive in reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DriveFaults {
    /// Reads of the drive that completed with an error.
    pub errors: u64,
    /// Reads of the drive that returned wrong data.
    pub corrupt: u64,
    /// Reads of the drive that took longer than
    /// [`ArrayConfig::slow_after`](crate::array::ArrayConfig::slow_after).
    pub slow: u64,
}
