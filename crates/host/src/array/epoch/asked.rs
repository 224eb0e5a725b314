//! The purpose of drive requests.

use super::batch::BatchId;
use super::compare::ComparedCopy;
use super::work::WorkId;
use crate::array::DriveId;
use crate::array::requests::RequestSlot;
use tailcut_base::cast::low_u32;

/// Purpose of a request: packed into the token that drives and reads return.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RequestPurpose {
    /// A part of a host read.
    Read(RequestSlot),
    /// A part of a host read on a drive that had the token already: its epoch does not wait for it.
    Met(RequestSlot),
    /// The descriptor of a batch.
    Descriptor(BatchId),
    /// A write of a batch.
    BatchWrite(BatchId),
    /// The flush at the end of a drive's epoch.
    Flush(DriveId),
    /// Creation and recovery.
    Recovery,
    /// A copy that recovery compares.
    Compare(ComparedCopy),
    /// A read of blocks held for scrub or repair.
    Work(WorkId),
    /// Clearing of the descriptors of a drive's predecessor: the drive.
    Clear(DriveId),
}

impl RequestPurpose {
    /// Packs the purpose into a token.
    pub(super) fn pack(self) -> u64 {
        let (kind, id) = match self {
            RequestPurpose::Read(slot) => (0, slot.get()),
            RequestPurpose::Descriptor(id) => (1, id.get()),
            RequestPurpose::BatchWrite(id) => (2, id.get()),
            RequestPurpose::Flush(drive) => (3, drive.get()),
            RequestPurpose::Recovery => (4, 0),
            RequestPurpose::Compare(compared) => (5, compared.pack()),
            RequestPurpose::Work(id) => (6, id.get()),
            RequestPurpose::Clear(drive) => (7, drive.get()),
            RequestPurpose::Met(slot) => (8, slot.get()),
        };
        kind << 32 | u64::from(id)
    }

    /// Unpacks a token.
    pub(super) fn unpack(number: u64) -> RequestPurpose {
        let id = low_u32(number);
        match number >> 32 {
            0 => RequestPurpose::Read(RequestSlot::new(id)),
            1 => RequestPurpose::Descriptor(BatchId::new(id)),
            2 => RequestPurpose::BatchWrite(BatchId::new(id)),
            3 => RequestPurpose::Flush(DriveId::new(id)),
            4 => RequestPurpose::Recovery,
            5 => RequestPurpose::Compare(ComparedCopy::unpack(id)),
            6 => RequestPurpose::Work(WorkId::new(id)),
            7 => RequestPurpose::Clear(DriveId::new(id)),
            8 => RequestPurpose::Met(RequestSlot::new(id)),
            kind => unreachable!("kind {kind} was never given out"),
        }
    }
}
