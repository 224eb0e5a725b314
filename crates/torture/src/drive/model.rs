//! How drives are made.

use super::flash::Backend;
use tailcut_base::Nanos;
use tailcut_host::Disk;

/// How a drive is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Model {
    /// Number of blocks of 4 KiB that the drive holds.
    pub blocks: u64,
    /// Maximum number of commands in flight.
    pub depth: u32,
    /// Maximum number of blocks of a command.
    pub most_blocks: u32,
    /// Whether the drive acknowledges writes before they are durable.
    pub volatile_cache: bool,
    /// The shortest and the longest time of a command, where times are drawn.
    pub latency: (Nanos, Nanos),
    /// What times and failures come from.
    pub backend: Backend,
    /// Whether the drive keeps protection information with its blocks.
    pub sealed: bool,
    /// The chance that it refuses a read that may be refused, in parts per million; where times are drawn.
    pub busy: u32,
    /// Whether the drive supports the calls of the control interface.
    pub has_control: bool,
}

impl Model {
    /// The drive's identity as a disk.
    pub fn disk(&self) -> Disk {
        Disk {
            blocks: self.blocks,
            depth: self.depth,
            most_blocks: self.most_blocks,
            volatile_cache: self.volatile_cache,
            copies: 1,
            handles: HANDLES,
        }
    }
}

/// Reclaim unit handles of a drive: as many as arrays and stores tell apart.
const HANDLES: u32 = 3;
