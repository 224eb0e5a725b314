//! Counters that an emulated drive reports.

use tailcut_ssd::{Accuracy, Figures, Service};

/// What a drive has done, and how it is.
#[derive(Clone, Debug)]
pub struct Account {
    /// What it has done.
    pub figures: Figures,
    /// Erased blocks.
    pub erased_blocks: u64,
    /// It collects.
    pub collects: bool,
    /// Free space of its write buffer, in bytes.
    pub buffer_room: u64,
    /// How right its behaviour tracker was, in the order of [`Service::ALL`].
    pub predictions: [Accuracy; Service::ALL.len()],
}
