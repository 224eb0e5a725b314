//! Counters of a log.

use super::geometry::Row;
use tailcut_base::Nanos;

/// Host reads from an R-group in one state (SWAN, table 4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GroupReads {
    /// Number of reads of blocks from groups in this state.
    pub reads: u64,
    /// Sum of the times that these reads spent in the array; divided by `reads`, their mean latency.
    pub time: Nanos,
}

/// A row that collection has emptied, for the analysis of its choices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Collected {
    /// The row that was collected.
    pub row: Row,
    /// Valid blocks of the host in it when it was chosen.
    pub valid: u32,
    /// Free rows of all groups afterwards.
    pub free_rows: u32,
}

/// Counters of a log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogFigures {
    /// Blocks of 4 KiB that the host has written to the log.
    pub host_blocks: u64,
    /// Valid blocks of the host that collection has appended again.
    pub moved_blocks: u64,
    /// Descriptors written: one block for each batch of the log.
    pub descriptors: u64,
    /// Blocks without data that were written only to complete a stripe.
    pub padding: u64,
    /// Blocks of checkpoints, including their copies.
    pub checkpoint_blocks: u64,
    /// Checkpoints that were completed.
    pub checkpoints: u64,
    /// Rows that collection has emptied and released.
    pub rows_collected: u64,
    /// Sum of the valid blocks that collected rows held when they were chosen.
    pub victim_blocks: u64,
    /// Positions per row, the denominator of the valid share.
    row_positions: u32,
    /// Collected rows whose blocks had to be looked up in the map, because a summary could not be read.
    pub rows_without_summary: u64,
    /// Rows that could not be collected because of unreadable blocks.
    pub rows_stuck: u64,
    /// Number of free rows of each R-group at the moment.
    pub free_rows: Vec<u32>,
    /// Number of the R-group that is being written (front-end).
    pub front: u32,
    /// Number of the R-group that is being collected; `None` if there is none.
    pub collecting: Option<u32>,
    /// Number of changes of the front-end.
    pub rotations: u64,
    /// Requests of the host that had to wait until collection had freed space.
    pub throttled: u64,
    /// Reads from the group being written.
    pub reads_front: GroupReads,
    /// Reads from a group that is neither written nor collected.
    pub reads_idle: GroupReads,
    /// Reads from the group being collected.
    pub reads_collecting: GroupReads,
    /// Blocks rewritten because a drive returned wrong data.
    pub repaired_blocks: u64,
    /// Blocks that the host read.
    host_reads: u64,
    /// Of these, blocks without data: never written, or trimmed.
    unmapped_reads: u64,
    /// Blocks read from memory because their writes were in flight.
    pub reads_memory: u64,
}

/// Largest number of collected rows kept in the list.
pub(super) const RECENT_MAX: usize = 4096;

impl LogFigures {
    /// Nothing yet, of a log whose rows have `row_positions` positions.
    pub(super) fn new(row_positions: u32) -> LogFigures {
        LogFigures { row_positions, ..LogFigures::default() }
    }

    /// The host reads blocks.
    pub(super) fn count_host_reads(&mut self, blocks: u32) {
        self.host_reads += u64::from(blocks);
    }

    /// One of them has no data.
    pub(super) fn count_unmapped_read(&mut self) {
        self.unmapped_reads += 1;
    }

    /// Share of the blocks that the host read without data: never written, or trimmed. 0 if it read none.
    pub fn unmapped_share(&self) -> f64 {
        self.unmapped_reads as f64 / self.host_reads.max(1) as f64
    }

    /// Mean share of valid blocks in victims.
    pub fn victim_utilisation(&self) -> f64 {
        let all = self.rows_collected * u64::from(self.row_positions);
        if all == 0 { 0.0 } else { self.victim_blocks as f64 / all as f64 }
    }
}
