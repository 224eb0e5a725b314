//! The control interface of a device: what a host may ask and steer (Shin 2017, table 5.1).
//!
//! The standard that later gave these calls a home is NVMe Predictable Latency Mode:
//! [`Control::IsReadyForRead`] corresponds to entering the deterministic window and
//! [`Control::RunGc`] to the non-deterministic one.

use crate::time::Time;

/// Free-block counts per plane between which garbage collection works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GcThresholds {
    /// Collection starts when a plane has fewer free blocks than this.
    pub low: u32,
    /// Background and host-driven collection ends when every plane has this many.
    pub high: u32,
}

/// A call of the control interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// Capacity that the host can address, in bytes.
    UserCapacity,
    /// Capacity of the flash, in bytes.
    DeviceCapacity,
    /// Size of an erase block, in bytes.
    EraseBlockSize,
    /// Erased blocks, over all planes.
    FreeBlocks,
    /// The thresholds of garbage collection.
    GetThresholds,
    /// Sets the thresholds; refused when `low` exceeds `high` or leaves no room.
    SetThresholds(GcThresholds),
    /// Does garbage collection run?
    IsGcRunning,
    /// Collect until the moment given or the high threshold; returns at once; nothing happens
    /// when the high threshold is reached already.
    RunGc {
        /// When to stop.
        until: Time,
    },
    /// Stop starting garbage collection and programs; answers no until both have ended, then yes
    /// until a write or a trigger of garbage collection arrives.
    IsReadyForRead,
}

/// The answer to a [`Control`] call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ControlReply {
    /// A size in bytes.
    Bytes(u64),
    /// A number of blocks.
    Blocks(u64),
    /// The thresholds.
    Thresholds(GcThresholds),
    /// Yes or no.
    Answer(bool),
    /// Done.
    Done,
    /// The values do not fit the device.
    Invalid,
    /// The device does not know this call.
    Unsupported,
}
