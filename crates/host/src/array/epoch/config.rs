//! Configuration of the `epochs` layout.

use crate::array::config::whole_blocks;
use crate::array::reads::MOST_COPIES;
use crate::disk::BLOCK_BYTES;
use tailcut_base::Nanos;
use tailcut_base::cast::to_u32;
use tailcut_base::config::{Configure, KeyVisitor, choose, count_u32};

tailcut_base::choice! {
    /// Isolation of reads from a drive's own work (Shin 2017, section 5.4.2; its third mode, MIX, is the
    /// layout `raid0`).
    pub enum EpochMode {
        /// Writes only within epochs, reads from the copy on another drive (EPCH).
        Epoch = "epoch",
        /// In addition, garbage collection within epochs: after an epoch's writes the drive collects, and
        /// quiesces before the token passes on (GCCTRL). A drive that does not support the calls is treated
        /// as under `epoch`.
        GcControl = "gc-control",
    }
}

/// Configuration of an array with token groups.
#[derive(Clone, Debug, PartialEq)]
pub struct EpochConfig {
    /// Isolation of reads from a drive's own work.
    pub mode: EpochMode,
    /// Copies of each block, on drives of different token groups.
    pub copies: u32,
    /// Chunk size: bytes that are contiguous on one drive.
    pub chunk: u64,
    /// Bytes in the cache that may be dirty.
    pub cache: u64,
    /// How long a write that no flush waits for stays in the cache before an epoch starts for it.
    pub delay: Nanos,
    /// Longest time that a write waits for the token of a drive.
    pub deadline: Nanos,
    /// Interval at which a drive is polled for the end of collection or quiescence.
    pub poll: Nanos,
    /// Write descriptors even in an array without superblocks, for their timing.
    pub descriptors_always: bool,
}

impl Default for EpochConfig {
    fn default() -> EpochConfig {
        EpochConfig {
            mode: EpochMode::Epoch,
            copies: 2,
            chunk: 64 << 10,
            cache: 64 << 20,
            delay: Nanos::millis(1),
            deadline: Nanos::millis(200),
            poll: Nanos::micros(100),
            descriptors_always: false,
        }
    }
}

impl EpochConfig {
    /// Takes what is fixed when an array is created from its superblock: the shape that [`Epochs::new`]
    /// writes.
    ///
    /// [`Epochs::new`]: super::Epochs::new
    pub(in crate::array) fn keep(&mut self, [chunk, _, copies, ..]: [u64; 8]) {
        self.chunk = chunk * BLOCK_BYTES;
        self.copies = copies_in(copies);
    }

    /// Number of blocks of 4 KiB in a chunk.
    pub fn chunk_blocks(&self) -> u64 {
        self.chunk / BLOCK_BYTES
    }

    /// Blocks in the cache that may be dirty.
    pub fn cache_blocks(&self) -> u64 {
        self.cache / BLOCK_BYTES
    }

    /// Longest permitted epoch of one of `groups` groups, so that each gets the token in time.
    pub fn share(&self, groups: u32) -> Nanos {
        self.deadline.saturating_sub(self.delay) / u64::from(groups)
    }

    /// An invalid setting: the key, and a message with the valid range.
    pub(crate) fn problems(&self, groups: u32) -> Option<(&'static str, String)> {
        let least = self.delay + self.poll * 2 * u64::from(groups);
        (self.deadline < least).then(|| {
            let message = format!(
                "epoch.deadline must be at least {least}: epoch.delay, and 2 polls for each of \
                    {groups} groups"
            );
            ("epoch", message)
        })
    }
}

/// The number of copies that a superblock has; arrays that were created when there were always two have 0
/// there.
pub(super) fn copies_in(shape: u64) -> u32 {
    if shape == 0 { 2 } else { to_u32(shape) }
}

impl Configure for EpochConfig {
    fn configure(&mut self, visit: &mut dyn KeyVisitor) {
        choose(visit, "mode", "What is done so that reads do not meet a drive's own work.", &mut self.mode);
        count_u32(
            visit,
            "copies",
            "Copies of each block, on drives of different token groups (layout epochs): that many less one \
                may be lost.",
            &mut self.copies,
            2..=to_u32(MOST_COPIES),
        );
        visit.bytes("chunk", "What lies together on one drive.", &mut self.chunk, BLOCK_BYTES..=1 << 30);
        visit.bytes(
            "cache",
            "What may be in the cache and not yet on all drives.",
            &mut self.cache,
            16 * BLOCK_BYTES..=1 << 32,
        );
        visit.time(
            "delay",
            "How long a write that nobody waits for stays in the cache before an epoch begins for it.",
            &mut self.delay,
            Nanos::ZERO..=Nanos::secs(1),
        );
        visit.time(
            "deadline",
            "The longest time that a write waits for the token; divided by the groups, the longest epoch.",
            &mut self.deadline,
            Nanos::micros(100)..=Nanos::secs(60),
        );
        visit.time(
            "poll",
            "Interval at which a drive is polled until it has quiesced (gc-control).",
            &mut self.poll,
            Nanos::micros(1)..=Nanos::secs(1),
        );
        visit.flag(
            "descriptors_always",
            "Write descriptors also where the array keeps no superblock, for timing.",
            &mut self.descriptors_always,
        );
        whole_blocks(visit, "chunk", self.chunk);
        whole_blocks(visit, "cache", self.cache);
    }
}
