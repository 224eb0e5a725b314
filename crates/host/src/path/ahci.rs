//! An AHCI controller: one interrupt for all ports, 32 tags on each (Serial ATA AHCI 1.3.1, sections 3.3 and
//! 5).

use super::emulated::{Emulated, Wiring};
use super::hal::{CoreId, QueueId, Vector};

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

impl Ahci {
    /// A controller with a drive on each of `ports` ports, 1 … [`PORTS`], each with `depth` command slots, at
    /// most [`SLOTS`].
    pub fn with_ports(ports: u32, depth: u32) -> Ahci {
        assert!((1..=PORTS).contains(&ports) && (1..=SLOTS).contains(&depth), "AHCI has no more");
        Emulated::new(ports, depth, 1, OneInterrupt)
    }
}
