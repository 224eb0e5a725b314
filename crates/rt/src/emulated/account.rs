//! Counters that an emulated drive reports.

use tailcut_ssd::{Accuracy, Figures, Service};

/// Counters and state of a drive.
#[derive(Clone, Debug)]
pub struct Account {
    /// Counters of the drive.
    pub figures: Figures,
    /// Erased blocks.
    pub erased_blocks: u64,
    /// It is collecting garbage.
    pub collects: bool,
    /// Free space of its write buffer, in bytes.
    pub buffer_room: u64,
    /// Accuracy of its behaviour tracker, in the order of [`Service::ALL`].
    pub predictions: [Accuracy; Service::ALL.len()],
}
