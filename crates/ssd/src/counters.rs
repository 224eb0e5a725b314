//! What a drive has counted.

use tailcut_base::{Command, Op, SECTOR_BYTES};

/// Counts of a drive that no part of it keeps for itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Read commands completed, with any status: failed and contended reads count as well.
    pub host_reads: u64,
    /// Read commands that failed with [`Status::Contended`](tailcut_base::Status::Contended) instead of
    /// waiting.
    pub contended_reads: u64,
    /// Pages that reads asked for and that hold no data: never written, or trimmed. They take no time in
    /// flash.
    pub unmapped_reads: u64,
    /// Write commands completed, with any status.
    pub host_writes: u64,
    /// Logical pages that completed write commands touched, in whole or in part; each command counts its own.
    pub host_pages_written: u64,
    /// Bytes of completed write commands, with any status.
    pub host_bytes_written: u64,
    /// Pages programmed with data of the host.
    pub programmed_user: u64,
    /// Pages programmed by garbage collection and wear levelling.
    pub programmed_gc: u64,
    /// Block erases carried out to the end, including failed ones, but without those that were reset.
    pub erases: u64,
    /// Victims of collection, for any purpose: blocks, or superblocks under that mapping. Counted as each
    /// begins.
    pub collections: u64,
    /// Emptied blocks that could not wait for a window of collection, or for the next.
    pub forced_collections: u64,
    /// Blocks that wear levelling emptied because they had been erased less often than others.
    pub levelled: u64,
    /// Waiting reads that followed a page to its new place.
    pub readdressed: u64,
    /// Page programs that failed; the block of each goes bad.
    pub program_failures: u64,
    /// Block erases that failed; the block of each goes bad.
    pub erase_failures: u64,
    /// Blocks that went bad in use, after a failed program or erase.
    pub bad_blocks: u64,
    /// Suspensions of programs; a program that was suspended twice counts twice.
    pub program_suspends: u64,
    /// Suspensions of erases; an erase that was suspended twice counts twice.
    pub erase_suspends: u64,
    /// Page programs that were reset; a transaction of several counts each of them.
    pub program_resets: u64,
    /// Block erases that were reset: each has worn its block like a whole one.
    pub erase_resets: u64,
    /// Pages that resets left unusable until their block is erased, beside those programmed before.
    pub pages_spoiled: u64,
    /// Pages programmed before in spoiled word lines, which had to be programmed again.
    pub pages_restored: u64,
    /// Queued programs that moved from a busy chip to an idle one.
    pub levelled_queues: u64,
    /// Reads of garbage collection that a read of the host for the same page has spared.
    pub merged_reads: u64,
}

impl Counters {
    pub(crate) fn since(&self, earlier: &Counters) -> Counters {
        Counters {
            host_reads: self.host_reads - earlier.host_reads,
            contended_reads: self.contended_reads - earlier.contended_reads,
            unmapped_reads: self.unmapped_reads - earlier.unmapped_reads,
            host_writes: self.host_writes - earlier.host_writes,
            host_pages_written: self.host_pages_written - earlier.host_pages_written,
            host_bytes_written: self.host_bytes_written - earlier.host_bytes_written,
            programmed_user: self.programmed_user - earlier.programmed_user,
            programmed_gc: self.programmed_gc - earlier.programmed_gc,
            erases: self.erases - earlier.erases,
            collections: self.collections - earlier.collections,
            forced_collections: self.forced_collections - earlier.forced_collections,
            levelled: self.levelled - earlier.levelled,
            readdressed: self.readdressed - earlier.readdressed,
            program_failures: self.program_failures - earlier.program_failures,
            erase_failures: self.erase_failures - earlier.erase_failures,
            bad_blocks: self.bad_blocks - earlier.bad_blocks,
            program_suspends: self.program_suspends - earlier.program_suspends,
            erase_suspends: self.erase_suspends - earlier.erase_suspends,
            program_resets: self.program_resets - earlier.program_resets,
            erase_resets: self.erase_resets - earlier.erase_resets,
            pages_spoiled: self.pages_spoiled - earlier.pages_spoiled,
            pages_restored: self.pages_restored - earlier.pages_restored,
            levelled_queues: self.levelled_queues - earlier.levelled_queues,
            merged_reads: self.merged_reads - earlier.merged_reads,
        }
    }

    #[inline]
    pub(crate) fn count(&mut self, command: &Command, page_sectors: u32) {
        match command.op {
            Op::Read => self.host_reads += 1,
            Op::Write => {
                self.host_writes += 1;
                let pages = (command.sector + u64::from(command.sectors)).div_ceil(u64::from(page_sectors))
                    - command.sector / u64::from(page_sectors);
                self.host_pages_written += pages;
                self.host_bytes_written += u64::from(command.sectors) * SECTOR_BYTES;
            }
            Op::Trim | Op::Flush => {}
        }
    }
}

/// Data of one reclaim unit handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct HandleFigures {
    /// Bytes of the host written to flash through the handle.
    pub written: u64,
    /// Bytes of its data that collection has moved.
    pub moved: u64,
    /// Superblocks collected whose data was mostly of this handle.
    pub collected: u64,
}

impl HandleFigures {
    pub(crate) fn since(self, earlier: HandleFigures) -> HandleFigures {
        HandleFigures {
            written: self.written - earlier.written,
            moved: self.moved - earlier.moved,
            collected: self.collected - earlier.collected,
        }
    }
}
