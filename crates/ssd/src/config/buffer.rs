//! The DRAM buffer.

use tailcut_base::Nanos;
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
    /// The memory that it is in.
    pub dram: DramConfig,
}

/// The memory that the buffer is in: one access at a time, in the order of arrival.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DramConfig {
    /// Bytes per second; 0 for as fast as the data comes.
    rate: u64,
    /// Before the first byte.
    access: Nanos,
}

impl DramConfig {
    /// A memory that takes data as fast as the link carries it.
    pub const AT_ONCE: DramConfig = DramConfig { rate: 0, access: Nanos::ZERO };

    /// A memory of `rate` bytes per second that takes `access` before the first byte.
    pub fn new(rate: u64, access: Nanos) -> DramConfig {
        DramConfig { rate, access }
    }

    /// How long the data of a write, `bytes` bytes, occupies the memory.
    pub fn time(&self, bytes: u64) -> Nanos {
        self.access + Nanos::for_bytes(bytes, self.rate)
    }
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
        self.dram.configure(visit);
    }
}

impl Configure for DramConfig {
    fn configure(&mut self, visit: &mut dyn KeyVisitor) {
        visit.rate(
            "rate",
            "Bandwidth of the memory that the buffer is in, for writes; 0 for as fast as the link.",
            &mut self.rate,
            0..=1_000_000_000_000,
        );
        visit.time(
            "access",
            "Time of that memory before the first byte of a write.",
            &mut self.access,
            Nanos(0)..=Nanos::millis(1),
        );
    }
}
