//! How layouts that write in place behave.

use crate::array::config::whole_blocks;
use crate::disk::BLOCK_BYTES;
use tailcut_base::config::{Configure, Visit};

/// An array that writes in place, as configured.
#[derive(Clone, Debug, PartialEq)]
pub struct RaidConfig {
    /// Bytes that lie together on one drive.
    pub chunk: u64,
}

impl Default for RaidConfig {
    fn default() -> RaidConfig {
        RaidConfig { chunk: 64 << 10 }
    }
}

impl RaidConfig {
    /// Blocks of a chunk.
    pub fn chunk_blocks(&self) -> u64 {
        self.chunk / BLOCK_BYTES
    }
}

impl Configure for RaidConfig {
    fn configure(&mut self, visit: &mut dyn Visit) {
        visit.bytes("chunk", "What lies together on one drive.", &mut self.chunk, BLOCK_BYTES..=1 << 30);
        whole_blocks(visit, "chunk", self.chunk);
    }
}
