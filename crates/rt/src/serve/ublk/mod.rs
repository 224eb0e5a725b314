//! A drive as a block device of this kernel: `/dev/ublkbN`, by ublk.
//!
//! The kernel's driver passes requests of the block device on to the thread of the drive, through a ring of
//! io_uring ([`Queue`]): each has one of a fixed number of places (tags), a descriptor in memory that both
//! see, and data that is copied between the pages of the request and the blocks of the drive by reading and
//! writing `/dev/ublkcN`. Everything else is asked of `/dev/ublk-control`, by the thread that starts and
//! stops the server ([`Device`]): these calls wait, some of them for requests that the drive has to answer.
//!
//! What the kernel asks is said in the words of NBD and held against the same rules, so that from there on a
//! request is one like any other. Why so: `docs/decisions/block-server.md`.
//!
//! Sources: `Documentation/block/ublk.rst`, `include/uapi/linux/ublk_cmd.h` and `drivers/block/ublk_drv.c` of
//! Linux.

mod control;
pub mod descriptor;
mod device;
mod mapped;
mod queue;
pub mod standard;

pub use device::Device;
pub use queue::Queue;

use crate::Drive;
use rustix::io::Errno;
use std::io;
use tailcut_base::Status;

/// What the kernel is told of a drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Its size; a multiple of 4096.
    pub bytes: u64,
    /// Nothing can be written.
    pub is_read_only: bool,
    /// Completed writes can be lost with the power until they are flushed.
    pub volatile_cache: bool,
}

impl Shape {
    /// That of a drive.
    pub fn of(drive: &impl Drive, is_read_only: bool) -> Shape {
        Shape { bytes: drive.bytes(), is_read_only, volatile_cache: drive.disk().volatile_cache }
    }
}

/// Why a drive is no block device of this kernel.
#[derive(Debug, thiserror::Error)]
pub enum CannotAttach {
    /// The kernel has no ublk.
    #[error(
        "there is no /dev/ublk-control: load the module (modprobe ublk_drv); it comes with Linux 6.0 and later where that was \
         built with CONFIG_BLK_DEV_UBLK, and Linux 6.5 is needed here"
    )]
    NoDriver,
    /// It is too old.
    #[error(
        "the ublk of this kernel is too old: it cannot copy data by reads and writes (UBLK_F_USER_COPY); Linux 6.5 or later \
         is needed"
    )]
    TooOld,
    /// Somebody else may, we may not.
    #[error("making a block device is not allowed: ublk wants CAP_SYS_ADMIN, so start this as root")]
    NotAllowed,
    /// The number is taken.
    #[error("/dev/ublkb{0} is served by another program; stop it, or choose another number")]
    Taken(u32),
    /// A server that is gone has left it behind, and somebody still uses it.
    #[error(
        "/dev/ublkb{0} was left behind by a server that is gone and is still in use; unmount and close it, or choose another \
         number"
    )]
    InUse(u32),
    /// The system says no.
    #[error("cannot {what} /dev/ublkb{number}: {error}")]
    System {
        /// What was tried.
        what: &'static str,
        /// Number of the device.
        number: u32,
        /// What the system says.
        error: io::Error,
    },
}

/// The number by which the kernel knows what became of a request, where it was not carried out. It knows a
/// bad medium and a lack of room apart from other errors (`blk_errors` of `block/blk-core.c`); what would
/// make it try again is not among these.
pub fn errno(status: Status) -> Option<Errno> {
    match status {
        Status::Success => None,
        Status::InvalidField => Some(Errno::INVAL),
        Status::WriteProtected => Some(Errno::NOSPC),
        Status::MediaError => Some(Errno::NODATA),
        Status::Contended | Status::Gone => Some(Errno::IO),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_failed_is_not_tried_again() {
        assert_eq!(errno(Status::Success), None);
        let failures = [
            Status::InvalidField,
            Status::WriteProtected,
            Status::MediaError,
            Status::Contended,
            Status::Gone,
        ];
        for failure in failures {
            let error = errno(failure).expect("a failure has a number");
            let again = [Errno::AGAIN, Errno::BUSY, Errno::NOMEM, Errno::INTR, Errno::TIMEDOUT];
            assert!(!again.contains(&error), "{failure:?} is {error:?}");
            assert_ne!(error, Errno::NODEV, "the driver takes that for the end of the device");
        }
        assert_eq!(errno(Status::MediaError), Some(Errno::NODATA));
        assert_eq!(errno(Status::WriteProtected), Some(Errno::NOSPC));
    }
}
