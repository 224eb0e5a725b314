//! The server's cost of a disk request, by how it is carried out.

use crate::cpu::costs;
use tailcut_base::Nanos;

/// The way of the system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Path {
    /// SCSI over AHCI.
    Scsi,
    /// One driver; the drive writes completions to memory (NVMe).
    Direct,
    /// A thread of a host, on a core of that host's: what its drives cost is modelled there.
    Thread,
}

impl Path {
    /// From the system call to the drive, or to the thread that is to run. An array is a library in the
    /// thread, whose own work and further requests (copies of writes, once for many items) are not counted.
    pub(super) fn issue(self) -> Nanos {
        costs::ENTER
            + match self {
                Path::Scsi => costs::BUILD_SCSI + costs::ISSUE,
                Path::Direct => costs::BUILD_DIRECT + costs::ISSUE,
                Path::Thread => costs::WAKE + costs::IPI_SEND,
            }
    }

    /// The software interrupt's work for a request that has ended; a thread has left it in memory.
    pub(super) fn end(self) -> Nanos {
        match self {
            Path::Scsi => costs::FETCH_SCSI + costs::FINISH_SCSI,
            Path::Direct => costs::FETCH_DIRECT + costs::FINISH_DIRECT,
            Path::Thread => costs::CHECK,
        }
    }

    /// Interrupts have to be acknowledged over the bus.
    pub(super) fn acknowledges(self) -> bool {
        self == Path::Scsi
    }
}
