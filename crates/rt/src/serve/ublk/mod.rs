//! A drive as a block device of this kernel, `/dev/ublkbN`, through ublk.
//!
//! The kernel's driver passes requests of the block device to the drive's thread through an io_uring ring
//! ([`Queue`]): each has one of a fixed number of tags, a descriptor in shared memory, and data that is
//! copied between the pages of the request and the blocks of the drive by reads and writes of `/dev/ublkcN`.
//! All other commands go to `/dev/ublk-control`, from the thread that starts and stops the server
//! ([`Device`]): these calls block, some of them until the drive has completed requests.
//!
//! A request of the kernel is translated into one of NBD and validated by the same rules, so later stages
//! treat all requests alike. For the reasons: `docs/decisions/block-server.md`.
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

/// Parameters of a drive, as the kernel needs them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Size of the drive in bytes; a multiple of 4096.
    pub bytes: u64,
    /// Whether the kernel refuses writes.
    pub is_read_only: bool,
    /// Completed writes can be lost in a power loss until they are flushed.
    pub volatile_cache: bool,
}

impl Shape {
    /// The parameters of a drive.
    pub fn of(drive: &impl Drive, is_read_only: bool) -> Shape {
        Shape { bytes: drive.bytes(), is_read_only, volatile_cache: drive.disk().volatile_cache }
    }
}

/// Why a drive cannot become a block device of this kernel.
#[derive(Debug, thiserror::Error)]
pub enum CannotAttach {
    /// The kernel has no ublk.
    #[error(
        "there is no /dev/ublk-control: load the module (modprobe ublk_drv); it comes with Linux 6.0 and \
         later where that was built with CONFIG_BLK_DEV_UBLK, and Linux 6.5 is needed here"
    )]
    NoDriver,
    /// The kernel's ublk is too old.
    #[error(
        "the ublk of this kernel is too old: it cannot copy data by reads and writes (UBLK_F_USER_COPY); \
         Linux 6.5 or later is needed"
    )]
    TooOld,
    /// The process lacks permission.
    #[error("making a block device is not allowed: ublk wants CAP_SYS_ADMIN, so start this as root")]
    NotAllowed,
    /// The device number is in use.
    #[error("/dev/ublkb{0} is served by another program; stop it, or choose another number")]
    Taken(u32),
    /// A server that has exited has left the device behind, and it is still in use.
    #[error(
        "/dev/ublkb{0} was left behind by a server that is gone and is still in use; unmount and close it, \
         or choose another number"
    )]
    InUse(u32),
    /// A system call failed.
    #[error("cannot {what} /dev/ublkb{number}: {error}")]
    System {
        /// The operation that failed.
        what: &'static str,
        /// Number of the device.
        number: u32,
        /// The system error.
        error: io::Error,
    },
}

/// The error number by which the kernel learns why a request failed; None for success. The kernel
/// distinguishes a media error and lack of space from other errors (`blk_errors` of `block/blk-core.c`);
/// errors that would make it retry are not used.
pub fn errno(status: Status) -> Option<Errno> {
    match status {
        Status::Success => None,
        Status::InvalidField => Some(Errno::INVAL),
        Status::WriteProtected | Status::NoSpace => Some(Errno::NOSPC),
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
            Status::NoSpace,
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
