//! Settings of the storage engine.

use super::admission::AdmissionSettings;
use super::log::LEAST_SEGMENTS;
use super::place::UNIT;
use super::record::Header;
use crate::disk::{BLOCK_BYTES, Disk};
use tailcut_base::Nanos;
use tailcut_base::cast::to_u32;

/// Settings of an engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Memory for items in bytes, in addition to that of the index.
    pub memory: u64,
    /// Largest item in bytes, including key and header; at most half a segment on flash, and what
    /// [`Settings::least_memory`] lets it be.
    pub most_item: u64,
    /// Whether items are evicted when there is no room.
    pub keep: Keep,
    /// A cache may be opened where a store was, whose items it evicts.
    pub may_evict_store: bool,
    /// When items are appended to the log.
    pub append: Append,
    /// Bounds on what a cache appends when items leave memory.
    pub admission: AdmissionSettings,
    /// Length of a segment of the log on flash, in blocks of 4 KiB.
    pub segment_blocks: u32,
    /// Longest time that appended data waits in memory for more to share its write.
    pub patience: Nanos,
}

/// Whether the engine is a cache or a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// A cache: cold items are evicted.
    WhatIsUsed,
    /// A store: nothing is evicted, and writes fail when it is full.
    Everything,
}

/// When items are appended to the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Append {
    /// On eviction from memory, if admitted. Items that are only in memory are lost with it; no stale version
    /// reappears in their place.
    OnLeaving,
    /// At once. Stores always do this.
    AtOnce,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            memory: 64 << 20,
            most_item: 1 << 20,
            keep: Keep::WhatIsUsed,
            may_evict_store: false,
            append: Append::OnLeaving,
            admission: AdmissionSettings::default(),
            segment_blocks: 1024,
            patience: Nanos::millis(100),
        }
    }
}

impl Settings {
    /// True if items are appended to the log at once.
    pub(super) fn writes_at_once(&self) -> bool {
        self.keep == Keep::Everything || self.append == Append::AtOnce
    }

    /// The least memory in bytes: that of four of the largest items in a cache, and of sixteen in a store,
    /// which cannot evict others to put a long one in one piece.
    pub fn least_memory(&self) -> u64 {
        let items = if self.keep == Keep::WhatIsUsed { 4 } else { 16 };
        self.most_item.saturating_mul(items)
    }

    /// Descriptions of invalid settings, each with the valid range.
    pub fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        let segment = u64::from(self.segment_blocks) * BLOCK_BYTES;
        if self.most_item > segment / 2 {
            problems.push(format!(
                "an item of {} bytes needs segments of at least twice as many",
                self.most_item
            ));
        }
        if self.memory < self.least_memory() {
            problems.push(format!(
                "an item of {} bytes needs at least {} bytes of memory",
                self.most_item,
                self.least_memory()
            ));
        }
        if self.most_item < (Header::BYTES as u64 + 256).next_multiple_of(UNIT) {
            problems.push("an item has at least 304 bytes, or there is no room for its key".into());
        }
        problems
    }

    /// Number of segments on a disk.
    ///
    /// # Errors
    /// A description, if the disk is too small.
    pub fn segments_on(&self, disk: &Disk) -> Result<u32, String> {
        let segments = disk.blocks / u64::from(self.segment_blocks);
        if segments < u64::from(LEAST_SEGMENTS) {
            let needed = (u64::from(LEAST_SEGMENTS * self.segment_blocks) * BLOCK_BYTES) >> 10;
            let there = (disk.blocks * BLOCK_BYTES) >> 10;
            return Err(format!("{needed} KiB are needed on flash, and there are {there} KiB"));
        }
        Ok(to_u32(segments.min(MOST_UNITS / (u64::from(self.segment_blocks) * BLOCK_BYTES / UNIT))))
    }

    /// Number of index partitions, as a power of two, for `flash` bytes on flash.
    pub(super) fn partition_bits(&self, flash: u64) -> u32 {
        let items = (self.memory + flash) / ITEM_BYTES;
        (items / ITEMS_OF_PARTITION).max(1).ilog2().clamp(4, 20)
    }
}

/// Number of units that a place can address.
pub(super) const MOST_UNITS: u64 = 1 << 38;
/// Estimated size of an item in bytes; only the number of index partitions depends on it.
const ITEM_BYTES: u64 = 256;
const ITEMS_OF_PARTITION: u64 = 512;
