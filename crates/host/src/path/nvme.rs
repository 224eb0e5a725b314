//! NVMe controllers: a queue pair with its own interrupt for each core (NVM Express 1.0, sections 4 and 7.5).

use super::emulated::{Emulated, Wiring};
use super::hal::{CoreId, QueueId, Vector};
use super::tags::HardwareQueues;

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

/// NVMe drives of one kind.
#[derive(Clone, Copy, Debug)]
pub struct NvmeDrives {
    /// Number of drives, at least 1.
    pub count: u32,
    /// Number of queue pairs of each drive, at least 1; if there are more cores than pairs, they share them.
    pub pairs: u32,
    /// Number of entries of each queue, at least 1.
    pub depth: u32,
}

impl Nvme {
    /// The controllers of these drives.
    ///
    /// # Panics
    /// If the number of controllers, of their queue pairs, or of entries of a queue is zero.
    pub fn new(drives: NvmeDrives) -> Nvme {
        let NvmeDrives { count, pairs, depth } = drives;
        assert!(count > 0 && pairs > 0 && depth > 0, "there is something to issue to, and from");
        let hardware = HardwareQueues { count: count * pairs, depth, vectors: pairs };
        Emulated::with(hardware, QueuePairs(pairs))
    }
}
