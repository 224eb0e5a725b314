//! NVMe controllers: a queue pair with its own interrupt for each core (NVM Express 1.0, sections 4 and 7.5).

use super::emulated::{Emulated, Wiring};
use super::hal::{CoreId, QueueId, Vector};

/// The NVMe controllers of all drives and their low-level driver.
pub type Nvme = Emulated<QueuePairs>;

/// Number of queue pairs per drive; the first pair of every drive has the first interrupt, and so on.
#[derive(Clone, Copy, Debug)]
pub struct QueuePairs(u32);

impl Wiring for QueuePairs {
    #[inline]
    fn vector_of(&self, queue: QueueId) -> Vector {
        queue % self.0
    }

    #[inline]
    fn queue_for(&self, drive: u32, core: CoreId) -> QueueId {
        drive * self.0 + core.get() % self.0
    }
}

impl Nvme {
    /// `drives` drives with `pairs` queue pairs of `depth` entries each; more cores than pairs share them.
    pub fn with_pairs(drives: u32, pairs: u32, depth: u32) -> Nvme {
        assert!(drives > 0 && pairs > 0 && depth > 0, "there is something to issue to, and from");
        Emulated::new(drives * pairs, depth, pairs, QueuePairs(pairs))
    }
}
