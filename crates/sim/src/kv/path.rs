//! What a request for the disk costs the server, by the protocol that its drives speak.

use crate::cpu::costs;
use tailcut_base::Nanos;

/// The way of the system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Path {
    /// SCSI over AHCI.
    Scsi,
    /// One driver, which the drive tells its ends in memory (NVMe).
    Direct,
}

impl Path {
    /// From the system call to the drive. An array is a library in the thread, whose own work and further requests (copies of what is written, once
    /// for many items) are not counted.
    pub fn issue(self) -> Nanos {
        let build = match self {
            Path::Scsi => costs::BUILD_SCSI,
            Path::Direct => costs::BUILD_DIRECT,
        };
        costs::ENTER + build + costs::ISSUE
    }

    /// The software interrupt's work for a request that has ended.
    pub fn end(self) -> Nanos {
        match self {
            Path::Scsi => costs::FETCH_SCSI + costs::FINISH_SCSI,
            Path::Direct => costs::FETCH_DIRECT + costs::FINISH_DIRECT,
        }
    }

    /// Interrupts have to be acknowledged over the bus.
    pub fn acknowledges(self) -> bool {
        self == Path::Scsi
    }
}
