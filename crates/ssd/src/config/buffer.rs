//! The DRAM buffer.

use tailcut_base::config::{Configure, KeyVisitor};

/// Configuration of the DRAM write buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BufferConfig {
    /// Bytes of write-back buffer, over all sets; 0 for write-through.
    pub size: u64,
    /// Dirty share of the buffer, in parts per million, above which the oldest pages go to flash.
    pub flush_above: u32,
    /// A capacitor lets the buffer survive a power cut: what is in it counts as durable.
    pub capacitor: bool,
}

impl Configure for BufferConfig {
    fn configure(&mut self, visit: &mut dyn KeyVisitor) {
        visit.bytes(
            "size",
            "Write-back buffer; 0 makes writes complete when they are on flash.",
            &mut self.size,
            0..=1 << 36,
        );
        visit.share(
            "flush_above",
            "Dirty share of the buffer above which the oldest pages are written to flash.",
            &mut self.flush_above,
            0..=900_000,
        );
        visit.flag(
            "capacitor",
            "The buffer survives a power cut, so what is in it is durable.",
            &mut self.capacitor,
        );
    }
}
