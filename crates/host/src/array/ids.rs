//! Numbering of the drives of an array.

use tailcut_base::id;
use tailcut_base::ids::Id;

id! {
    /// A member position in an array, shared by a drive and its replacements. Numbered from 0, R-group by
    /// R-group.
    pub struct DriveId;
}

id! {
    /// An R-group of an array.
    pub struct GroupId;
}

id! {
    /// The position of a drive in its R-group, from 0: a column of stripes.
    pub struct Column;
}

/// The division of drives into R-groups of equal width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RGroups {
    width: usize,
}

impl RGroups {
    /// R-groups of `width` drives, at least 1.
    pub fn new(width: usize) -> RGroups {
        RGroups { width }
    }

    /// Number of drives in each R-group.
    #[inline]
    pub fn width(self) -> usize {
        self.width
    }

    /// The R-group of a drive.
    #[inline]
    pub fn group_of(self, drive: DriveId) -> GroupId {
        GroupId::at(drive.index() / self.width)
    }

    /// The position of a drive in its R-group.
    #[inline]
    pub fn column_of(self, drive: DriveId) -> Column {
        Column::at(drive.index() % self.width)
    }

    /// The drive at a position of an R-group.
    #[inline]
    pub fn drive(self, group: GroupId, column: Column) -> DriveId {
        DriveId::at(group.index() * self.width + column.index())
    }

    /// The drives of an R-group, in ascending order.
    #[inline]
    pub fn drives(self, group: GroupId) -> impl DoubleEndedIterator<Item = DriveId> + Clone {
        (group.index() * self.width..(group.index() + 1) * self.width).map(DriveId::at)
    }
}

/// The numbers of some drives, for a message.
pub(super) fn numbers(drives: &[DriveId]) -> Vec<u32> {
    drives.iter().map(|drive| drive.get()).collect()
}
