//! The terms of NVMe Flexible Data Placement (FDP; NVM Express Base Specification 2.1): the host names a
//! *reclaim unit handle* with each write, and the device writes the data of different handles to different
//! *reclaim units*, which it erases as a whole. Their layout as bytes is in `tailcut_ssd::nvme::fdp`.
//!
//! A device has one reclaim group here, so that a placement identifier is the number of a handle. Linux calls
//! it a write stream.

use crate::time::Time;
use std::fmt;

/// The most reclaim unit handles of a device.
pub const HANDLES_MAX: usize = 8;

crate::id! {
    /// A reclaim unit handle.
    pub struct HandleId;
}

impl HandleId {
    /// The handle of writes that name none, and the only one of a device without data placement.
    pub const FIRST: HandleId = HandleId(0);
}

crate::choice! {
    /// Where collection puts the data of a handle.
    pub enum Isolation {
        /// Data that collection moves may share reclaim units with that of other handles.
        Initially = "initially",
        /// Data of a handle never shares a reclaim unit with that of another.
        Persistently = "persistently",
    }
}

/// The statistics of an endurance group, in bytes since the device was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Host bytes with metadata written (HBMW): data of write commands of the host.
    pub host_written: u64,
    /// Media bytes with metadata written (MBMW): data of the host and data moved by collection.
    pub media_written: u64,
    /// Media bytes erased (MBE).
    pub media_erased: u64,
}

/// The state of a handle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HandleStatus {
    /// Reclaim unit available media writes (RUAMW): bytes that can still be written to the reclaim unit that
    /// the handle references; 0 if it references none yet.
    pub available: u64,
    /// Bytes of the host written to flash through this handle, padding of its units left out.
    pub host_written: u64,
    /// Bytes that collection has moved of the data of this handle.
    pub moved: u64,
    /// Reclaim units emptied by collection whose data was mostly of this handle.
    pub collected: u64,
}

/// A type of event that a device can report, by the number that the standard gives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventType {
    /// The host made a handle reference another reclaim unit before the last was written to its end.
    NotFullyWritten,
    /// A write named a handle that does not exist. Its data went to handle 0.
    InvalidIdentifier,
    /// Collection moved data of a handle to another reclaim unit.
    MediaReallocated,
}

impl EventType {
    /// All types that are reported.
    pub const ALL: [EventType; 3] =
        [EventType::NotFullyWritten, EventType::InvalidIdentifier, EventType::MediaReallocated];

    /// The number in the standard.
    pub fn number(self) -> u8 {
        match self {
            EventType::NotFullyWritten => 0x00,
            EventType::InvalidIdentifier => 0x03,
            EventType::MediaReallocated => 0x80,
        }
    }

    /// True if the host has caused it, false if the controller has.
    pub fn is_of_host(self) -> bool {
        self.number() < 0x80
    }
}

impl fmt::Display for EventType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            EventType::NotFullyWritten => "reclaim unit not fully written",
            EventType::InvalidIdentifier => "invalid placement identifier",
            EventType::MediaReallocated => "media reallocated",
        })
    }
}

/// An event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// What happened.
    pub of: EventType,
    /// When.
    pub at: Time,
    /// The handle that a write or an update named, or whose data was moved.
    pub handle: HandleId,
    /// Logical blocks of 512 bytes that were moved (NLBAM); 0 for other events.
    pub moved: u64,
}
