//! What a log did.

use super::geometry::Row;
use tailcut_base::Nanos;

/// Reads of the host that met an R-group in one state (SWAN, table 4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GroupReads {
    /// How many.
    pub reads: u64,
    /// The sum of their times in the array.
    pub time: Nanos,
}

/// A row that was collected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Collected {
    /// Which.
    pub row: Row,
    /// Blocks of the host that were valid in it when it was chosen.
    pub valid: u32,
    /// Free rows of all groups afterwards.
    pub free_rows: u32,
}

/// What a log did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogFigures {
    /// Blocks that the host wrote.
    pub host_blocks: u64,
    /// Blocks that collection moved.
    pub moved_blocks: u64,
    /// Descriptors.
    pub descriptors: u64,
    /// Empty blocks that filled stripes.
    pub padding: u64,
    /// Blocks of checkpoints, with their copies.
    pub checkpoint_blocks: u64,
    /// Checkpoints that were completed.
    pub checkpoints: u64,
    /// Rows that were collected.
    pub rows_collected: u64,
    /// The sum of the valid blocks that they had.
    pub victim_blocks: u64,
    /// Positions of a row, for the share that was valid.
    pub row_positions: u32,
    /// Rows that could not be collected because blocks of them cannot be read.
    pub rows_stuck: u64,
    /// Rows that are free, in each group.
    pub free_rows: Vec<u32>,
    /// The group that is written.
    pub front: u32,
    /// The group that is being collected.
    pub collecting: Option<u32>,
    /// Times that the front-end passed on.
    pub rotations: u64,
    /// Requests that had to wait for collection.
    pub throttled: u64,
    /// Reads of the group that is written.
    pub reads_front: GroupReads,
    /// Reads of a group that is neither written nor collected.
    pub reads_idle: GroupReads,
    /// Reads of the group that is collected.
    pub reads_collecting: GroupReads,
    /// Blocks that were written again because a drive returned something else.
    pub repaired_blocks: u64,
    /// Blocks read from memory, because they were on their way to the drives.
    pub reads_memory: u64,
}

/// The most collected rows that are remembered.
pub const RECENT_MAX: usize = 4096;

impl LogFigures {
    /// Share of the victims' blocks that was valid, on average.
    pub fn victim_utilisation(&self) -> f64 {
        let all = self.rows_collected * u64::from(self.row_positions);
        if all == 0 { 0.0 } else { self.victim_blocks as f64 / all as f64 }
    }
}
