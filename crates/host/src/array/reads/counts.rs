//! What reads did.

/// How many reads there were, and how they were served.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadCounts {
    /// Reads that were begun.
    pub begun: u64,
    /// Reconstructed because the drive is missing, or gave an error.
    pub degraded: u64,
    /// Because it was known to be taken.
    pub steered: u64,
    /// Because it would rather not have served.
    pub contended: u64,
    /// Because it did not answer in time.
    pub hedged: u64,
    /// Because it returned something else than was written.
    pub corrupt: u64,
    /// Blocks written again because of that.
    pub repaired: u64,
    /// Reads whose data could not be had at all.
    pub lost: u64,
}

/// What reads of one drive met.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DriveFaults {
    /// Reads that it answered with an error.
    pub errors: u64,
    /// Those that returned something else than was written.
    pub corrupt: u64,
    /// Those that it did not answer in time.
    pub slow: u64,
}
