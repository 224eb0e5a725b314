//! The terms of NVMe Flexible Data Placement (FDP; NVM Express Base Specification 2.1): the host names a
//! *reclaim unit handle* with each write, and the device writes the data of different handles to different
//! *reclaim units*, which it erases as a whole. Their layout as bytes is in `tailcut_ssd::nvme::fdp`.
//!
//! A device may be divided into *reclaim groups*, which have dies and reclaim units of their own. A handle
//! references one reclaim unit in each group, so a write names both: with a *placement identifier*.

use crate::cast::{to_u8, to_u16};
use crate::time::Time;
use std::fmt;

/// The most reclaim unit handles of a device.
pub const HANDLES_MAX: usize = 8;

/// The most reclaim groups of a device.
pub const GROUPS_MAX: usize = 8;

crate::id! {
    /// A reclaim group: a part of the flash that is written and collected apart from the others.
    pub struct GroupId;
}

impl GroupId {
    /// The group of writes that name none, and the only one of a device that is not divided.
    pub const FIRST: GroupId = GroupId(0);
}

crate::id! {
    /// A reclaim unit handle.
    pub struct HandleId;
}

impl HandleId {
    /// The handle of writes that name none, and the only one of a device without data placement.
    pub const FIRST: HandleId = HandleId(0);
}

/// A placement identifier: where a write goes, and whose data it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlacementId {
    group: GroupId,
    handle: HandleId,
}

impl PlacementId {
    /// Where writes go that name nothing: the first handle in the first group.
    pub const FIRST: PlacementId = PlacementId { group: GroupId::FIRST, handle: HandleId::FIRST };

    /// The reclaim unit that a handle references in a group.
    pub fn new(group: GroupId, handle: HandleId) -> PlacementId {
        PlacementId { group, handle }
    }

    /// The reclaim group.
    #[inline]
    pub fn group(self) -> GroupId {
        self.group
    }

    /// The reclaim unit handle.
    #[inline]
    pub fn handle(self) -> HandleId {
        self.handle
    }

    /// The number by which [`Command::stream`](crate::Command::stream) names it on a device with `handles`
    /// handles: its place among the descriptors of Reclaim Unit Handle Status, from which Linux numbers its
    /// write streams. It must be below 256.
    pub fn stream(self, handles: u32) -> u8 {
        to_u8(self.group.get() * handles + self.handle.get())
    }

    /// What a write stream names on a device with `handles` handles. It need not have such a group.
    #[inline]
    pub fn of_stream(stream: u8, handles: u32) -> PlacementId {
        let stream = u32::from(stream);
        PlacementId { group: GroupId::new(stream / handles), handle: HandleId::new(stream % handles) }
    }

    /// The 16 bits of the Directive Specific field of a write, of which the upper `group_bits` are the group
    /// (RGIF: Reclaim Group Identifier Format, 0 to 15), and the others the handle. Both must fit.
    pub fn to_bits(self, group_bits: u32) -> u16 {
        to_u16(self.group.get() << (u16::BITS - group_bits) | self.handle.get())
    }

    /// What the Directive Specific field of a write names; see [`PlacementId::to_bits`].
    pub fn of_bits(bits: u16, group_bits: u32) -> PlacementId {
        let (bits, shift) = (u32::from(bits), u16::BITS - group_bits);
        PlacementId { group: GroupId::new(bits >> shift), handle: HandleId::new(bits & ((1 << shift) - 1)) }
    }
}

/// The handle, and the group unless it is the first: `3`, or `3 of group 1`.
impl fmt::Display for PlacementId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.group == GroupId::FIRST {
            return write!(f, "{}", self.handle);
        }
        write!(f, "{} of group {}", self.handle, self.group)
    }
}

/// The bits of a placement identifier that name one of `groups` reclaim groups, a power of two (RGIF).
pub fn group_bits(groups: u32) -> u32 {
    groups.trailing_zeros()
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

/// The state of a handle in a reclaim group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HandleStatus {
    /// Reclaim unit nominal size (RUNS): bytes of each reclaim unit.
    pub size: u64,
    /// Reclaim unit available media writes (RUAMW): bytes that can still be written to the reclaim unit that
    /// the handle references.
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
    /// A write named a handle or a group that does not exist. Its data went to the first of both.
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
    /// The group and the handle that a write or an update named, or whose data was moved.
    pub placement: PlacementId,
    /// Logical blocks of 512 bytes that were moved (NLBAM); 0 for other events.
    pub moved: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_are_the_upper_and_the_lower_bits_of_the_directive() {
        for groups in [1, 2, 8] {
            for (group, handle) in (0..groups).flat_map(|group| (0..8).map(move |handle| (group, handle))) {
                let id = PlacementId::new(GroupId::new(group), HandleId::new(handle));
                let bits = id.to_bits(group_bits(groups));
                assert_eq!(PlacementId::of_bits(bits, group_bits(groups)), id);
                assert_eq!(u32::from(bits), group * (0x1_0000 / groups) + handle);
                assert_eq!(PlacementId::of_stream(id.stream(8), 8), id);
            }
        }
        assert_eq!(PlacementId::of_bits(0x4001, 2), PlacementId::new(GroupId::new(1), HandleId::new(1)));
        let unknown = PlacementId::of_bits(0xffff, 0);
        assert_eq!((unknown.group(), unknown.handle().get()), (GroupId::FIRST, 0xffff));
    }

    #[test]
    fn streams_count_the_handles_of_one_group_after_those_of_another() {
        let named = |stream| {
            let id = PlacementId::of_stream(stream, 3);
            (id.group().get(), id.handle().get())
        };
        assert_eq!([0, 2, 3, 5].map(named), [(0, 0), (0, 2), (1, 0), (1, 2)]);
        let id = PlacementId::new(GroupId::new(1), HandleId::new(2));
        assert_eq!((id.to_string(), PlacementId::FIRST.to_string()), ("2 of group 1".into(), "0".into()));
    }
}
