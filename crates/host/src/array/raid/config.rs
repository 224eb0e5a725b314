//! Configuration of layouts that write in place.

use crate::array::config::whole_blocks;
use crate::disk::BLOCK_BYTES;
use tailcut_base::cast::to_usize;
use tailcut_base::config::{Choice, Configure, KeyVisitor, choose};

tailcut_base::choice! {
    /// Protection against the *write hole*: data and parity of a stripe are written to several drives, and
    /// power can be lost in between.
    pub enum WriteHole {
        /// Blocks are made durable in a journal first, and written again after a power loss. No data is lost
        /// even if a drive fails at the same moment.
        Journal = "journal",
        /// A bitmap records the regions being written; after a power loss their parity is recomputed (the
        /// default of Linux md). If a drive fails together with the power, or the array was degraded before,
        /// blocks that were not being written can be lost.
        Resync = "resync",
    }
}

/// Configuration of an array that writes in place.
#[derive(Clone, Debug, PartialEq)]
pub struct RaidConfig {
    /// Chunk size: bytes that are contiguous on one drive.
    pub chunk: u64,
    /// How stripes are kept consistent when a power loss interrupts their writes.
    pub write_hole: WriteHole,
    /// Bytes of the journal on each drive.
    pub journal: u64,
    /// Write the journal or the bitmap even in an array without superblocks, for their timing.
    pub journal_always: bool,
}

impl Default for RaidConfig {
    fn default() -> RaidConfig {
        RaidConfig {
            chunk: 64 << 10,
            write_hole: WriteHole::Journal,
            journal: 16 << 20,
            journal_always: false,
        }
    }
}

impl RaidConfig {
    /// Takes what is fixed when an array is created from its superblock: the shape that [`Raid::new`] writes.
    ///
    /// [`Raid::new`]: super::Raid::new
    pub(in crate::array) fn keep(&mut self, [chunk, reserved, write_hole, ..]: [u64; 8]) {
        self.chunk = chunk * BLOCK_BYTES;
        self.write_hole = WriteHole::all()[to_usize(write_hole)];
        if self.write_hole == WriteHole::Journal && reserved > 0 {
            self.journal = reserved * BLOCK_BYTES;
        }
    }

    /// Number of blocks of 4 KiB in a chunk.
    pub fn chunk_blocks(&self) -> u64 {
        self.chunk / BLOCK_BYTES
    }

    /// Blocks of the journal on each drive.
    pub fn journal_blocks(&self) -> u64 {
        self.journal / BLOCK_BYTES
    }

    /// An invalid setting for stripes of `width` drives: the key, and a message.
    pub(crate) fn problems(&self, width: usize) -> Option<(&'static str, String)> {
        let least = (2 * width as u64 + JOURNAL_LEAST) * BLOCK_BYTES;
        (self.journal < least)
            .then(|| ("raid", format!("raid.journal must be at least {least} bytes for {width} drives")))
    }
}

/// Least number of blocks of a journal, in addition to two for each drive.
pub(crate) const JOURNAL_LEAST: u64 = 3;

impl Configure for RaidConfig {
    fn configure(&mut self, visit: &mut dyn KeyVisitor) {
        visit.bytes("chunk", "What lies together on one drive.", &mut self.chunk, BLOCK_BYTES..=1 << 30);
        choose(
            visit,
            "write_hole",
            "How parity is kept right over power cuts: a journal of what is written, or a bitmap of what to \
                compute anew.",
            &mut self.write_hole,
        );
        visit.bytes(
            "journal",
            "Size of the journal on each drive.",
            &mut self.journal,
            16 * BLOCK_BYTES..=1 << 30,
        );
        visit.flag(
            "journal_always",
            "Write the journal or the bitmap also where the array keeps no superblock, for timing.",
            &mut self.journal_always,
        );
        whole_blocks(visit, "chunk", self.chunk);
        whole_blocks(visit, "journal", self.journal);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_journal_has_two_blocks_for_each_drive_and_three_more() {
        let least = (2 * 5 + 3) * BLOCK_BYTES;
        let config = |journal| RaidConfig { journal, ..RaidConfig::default() };
        assert_eq!(config(least).problems(5), None);
        let (key, message) = config(least - BLOCK_BYTES).problems(5).expect("it is too small");
        assert_eq!((key, message.contains(&format!("at least {least} bytes for 5 drives"))), ("raid", true));
    }
}
