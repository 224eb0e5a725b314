//! An AHCI controller: one interrupt for all ports, 32 tags on each (Serial ATA AHCI 1.3.1, sections 3.3 and
//! 5).

use super::emulated::{Emulated, Wiring};
use super::hal::{CoreId, QueueId, Vector};
use super::tags::HardwareQueues;

/// Number of ports of the AHCI controllers in PC chipsets.
pub const PORTS: u32 = 6;

/// Command slots of a port.
pub const SLOTS: u32 = 32;

/// The controller and its low-level driver.
pub type Ahci = Emulated<OneInterrupt>;

/// Wiring of an AHCI controller: each port is a queue, and all ports share one interrupt.
#[derive(Clone, Copy, Debug)]
pub struct OneInterrupt;

impl Wiring for OneInterrupt {
    #[inline]
    fn vector_of(&self, _: QueueId) -> Vector {
        0
    }

    #[inline]
    fn queue_for(&self, drive: u32, _: CoreId) -> QueueId {
        drive
    }
}

/// The ports of an AHCI controller that have drives.
#[derive(Clone, Copy, Debug)]
pub struct AhciPorts {
    /// Number of ports with a drive, 1 … [`PORTS`].
    pub count: u32,
    /// Number of command slots of each port, 1 … [`SLOTS`].
    pub slots: u32,
}

impl Ahci {
    /// A controller with a drive on each of these ports.
    ///
    /// # Panics
    /// If `count` is not in 1 to [`PORTS`], or `slots` not in 1 to [`SLOTS`].
    pub fn new(ports: AhciPorts) -> Ahci {
        let AhciPorts { count, slots } = ports;
        assert!((1..=PORTS).contains(&count) && (1..=SLOTS).contains(&slots), "AHCI has no more");
        Emulated::with(HardwareQueues { count, depth: slots, vectors: 1 }, OneInterrupt)
    }
}
