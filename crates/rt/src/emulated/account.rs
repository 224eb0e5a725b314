//! Counters that an emulated drive reports.

use tailcut_ssd::{Accuracy, Figures, Service};

/// Counters and state of a drive.
#[derive(Clone, Debug)]
pub struct Account {
    /// Counters of the drive since it was made.
    pub figures: Figures,
    /// Number of erased blocks of the drive at the moment.
    pub erased_blocks: u64,
    /// Whether the drive is collecting garbage at the moment.
    pub collects: bool,
    /// Free space of the drive's write buffer, in bytes.
    pub buffer_room: u64,
    /// Accuracy of the drive's predictions, in the order of [`Service::ALL`].
    pub predictions: [Accuracy; Service::ALL.len()],
}
