//! How layouts that write a log behave.

use crate::array::config::whole_blocks;
use tailcut_base::config::{Configure, Visit};

/// A log, as configured.
#[derive(Clone, Debug, PartialEq)]
pub struct LogConfig {
    /// Bytes of a segment on one drive (SWAN, section 4.1: 1 MiB).
    pub segment: u64,
}

impl Default for LogConfig {
    fn default() -> LogConfig {
        LogConfig { segment: 1 << 20 }
    }
}

impl Configure for LogConfig {
    fn configure(&mut self, visit: &mut dyn Visit) {
        visit.bytes(
            "segment",
            "Size of a segment on one drive, the unit of collection.",
            &mut self.segment,
            65_536..=1 << 30,
        );
        whole_blocks(visit, "segment", self.segment);
    }
}
