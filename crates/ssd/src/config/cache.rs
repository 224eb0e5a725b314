//! The read cache.

use tailcut_base::config::{Configure, KeyVisitor, count_u32};

/// Configuration of the read cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheConfig {
    /// Bytes of DRAM for pages that have been read, over all sets; 0 for none.
    pub size: u64,
    /// How many pages are read ahead of a sequential stream; 0 for none.
    pub ahead: u32,
    /// Maximum number of sequential streams that are tracked.
    pub streams: u32,
}

impl CacheConfig {
    /// A drive without a read cache.
    pub const OFF: CacheConfig = CacheConfig { size: 0, ahead: 0, streams: 64 };
}

impl Configure for CacheConfig {
    fn configure(&mut self, visit: &mut dyn KeyVisitor) {
        visit.bytes(
            "size",
            "DRAM in which pages stay that have been read, the least recently used goes first; 0 for none.",
            &mut self.size,
            0..=1 << 36,
        );
        count_u32(
            visit,
            "ahead",
            "Pages that are read ahead of a sequential stream, when a chip has nothing else to do; 0 for \
                none.",
            &mut self.ahead,
            0..=4096,
        );
        count_u32(
            visit,
            "streams",
            "Maximum number of sequential streams that are tracked.",
            &mut self.streams,
            1..=4096,
        );
        if self.ahead > 0 && self.size == 0 {
            visit.problem("ahead", "pages that are read ahead need room: set size, or ahead = 0".into());
        }
    }
}
