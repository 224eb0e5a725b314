//! Whether drives are large enough for an array.

use super::config::ArrayConfig;
use super::epoch;
use super::integrity::Area;
use super::log;
use super::raid;
use super::superblock::SUPERBLOCK_BLOCKS;
use crate::disk::{BLOCK_BYTES, Disk};

/// A drive is too small to replace another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the drive has {blocks} blocks of 4 KiB, and the array uses {needed} of each drive: use one that is no \
        smaller"
)]
pub struct TooSmall {
    /// Number of blocks of 4 KiB of the drive.
    pub blocks: u64,
    /// Number of blocks of 4 KiB that the array uses of each drive.
    pub needed: u64,
}

impl ArrayConfig {
    /// The first conflict with these drives, of which the smallest counts: the key, and a message with the
    /// error and the valid range. The configuration itself must have no [`problems`](ArrayConfig::problems).
    pub fn validation_error(&self, disks: &[Disk]) -> Option<(&'static str, String)> {
        let blocks = disks.iter().map(|disk| disk.blocks).min()?;
        if self.layout.is_mirrored() {
            epoch::validation_error(self, disks)
        } else if self.layout.is_in_place() {
            self.raid_validation_error(self.room(blocks))
        } else {
            log::validation_error(self, blocks)
        }
    }

    /// Number of blocks left to the layout on a drive of `blocks` blocks.
    pub(super) fn room(&self, blocks: u64) -> u64 {
        if self.has_checksums_in_place() { Area::of(blocks).start() } else { blocks }
    }

    fn raid_validation_error(&self, blocks: u64) -> Option<(&'static str, String)> {
        let (chunk, reserved) = (self.raid.chunk_blocks(), raid::reserved_blocks(self));
        let needed = SUPERBLOCK_BLOCKS + reserved + chunk;
        (blocks < needed).then(|| {
            let (chunk, reserved) = (chunk * BLOCK_BYTES, reserved * BLOCK_BYTES);
            let message = format!(
                "the smallest drive has {} bytes, and {} are needed for the superblock, {reserved} bytes of \
                 journal or bitmap (raid.journal) and a chunk of {chunk} bytes: make these smaller, or the \
                 drives larger",
                blocks * BLOCK_BYTES,
                needed * BLOCK_BYTES
            );
            ("raid.chunk", message)
        })
    }
}
