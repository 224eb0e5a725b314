//! What an engine is made like.

use super::log::LEAST_SEGMENTS;
use super::place::UNIT;
use super::record::Header;
use crate::disk::{BLOCK_BYTES, Disk};
use tailcut_base::Nanos;

/// Settings of an engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Bytes of memory for items; those of the index come on top.
    pub memory: u64,
    /// The most bytes of an item with its key and header; below half a segment, and below a sixteenth of the
    /// memory.
    pub most_item: u64,
    /// What becomes of items when there is no room.
    pub keep: Keep,
    /// When what is written is appended to the log.
    pub append: Append,
    /// Blocks of a segment on flash.
    pub segment_blocks: u32,
    /// How long what is appended to the log may wait in memory for more to be written with it.
    pub patience: Nanos,
}

/// What is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// A cache: who was not asked for goes first.
    WhatIsUsed,
    /// A store: nothing goes, and one that is full says so.
    Everything,
}

/// When what is written is appended to the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Append {
    /// When it leaves memory, and is found worth it. What is only in memory is lost with it; nothing that is
    /// out of date comes back in its place.
    OnLeaving,
    /// At once. Stores do this whatever is said here.
    AtOnce,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            memory: 64 << 20,
            most_item: 1 << 20,
            keep: Keep::WhatIsUsed,
            append: Append::OnLeaving,
            segment_blocks: 1024,
            patience: Nanos::millis(100),
        }
    }
}

impl Settings {
    /// What is written is appended to the log at once.
    pub(super) fn writes_at_once(&self) -> bool {
        self.keep == Keep::Everything || self.append == Append::AtOnce
    }

    /// What does not fit together, each with what would be right.
    pub fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        let segment = u64::from(self.segment_blocks) * BLOCK_BYTES;
        if self.most_item > segment / 2 {
            problems.push(format!(
                "an item of {} bytes needs segments of at least twice as many",
                self.most_item
            ));
        }
        if self.most_item > self.memory / 16 {
            problems.push(format!(
                "an item of {} bytes needs at least {} bytes of memory",
                self.most_item,
                self.most_item * 16
            ));
        }
        if self.most_item < (Header::BYTES as u64 + 256).next_multiple_of(UNIT) {
            problems.push("an item has at least 304 bytes, or there is no room for its key".into());
        }
        problems
    }

    /// Segments on a disk.
    ///
    /// # Errors
    /// If it is too small, in words.
    pub fn segments_on(&self, disk: &Disk) -> Result<u32, String> {
        let segments = disk.blocks / u64::from(self.segment_blocks);
        if segments < u64::from(LEAST_SEGMENTS) {
            let needed = (u64::from(LEAST_SEGMENTS * self.segment_blocks) * BLOCK_BYTES) >> 10;
            let there = (disk.blocks * BLOCK_BYTES) >> 10;
            return Err(format!("{needed} KiB are needed on flash, and there are {there} KiB"));
        }
        Ok(segments.min(MOST_UNITS / (u64::from(self.segment_blocks) * BLOCK_BYTES / UNIT)) as u32)
    }

    /// Partitions of the index, as a power of two, for so many bytes on flash.
    pub(super) fn partition_bits(&self, flash: u64) -> u32 {
        let items = (self.memory + flash) / ITEM_BYTES;
        (items / ITEMS_OF_PARTITION).max(1).ilog2().clamp(4, 20)
    }
}

/// Units that a place can name.
pub(super) const MOST_UNITS: u64 = 1 << 38;
/// A small item, as an estimate for the number of partitions; nothing depends on it but their size.
const ITEM_BYTES: u64 = 256;
const ITEMS_OF_PARTITION: u64 = 512;
