//! What stands in for blocks that cannot be read, or not now.

use crate::array::config::ArrayConfig;
use crate::array::{Column, DriveId, RGroups};
use tailcut_base::ids::Id;

/// What stands in for blocks that cannot be read, or not now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Redundancy {
    /// Nothing.
    None,
    /// The blocks at the same address on the other members of an R-group of so many drives.
    Parity(usize),
    /// Their copies.
    Copies(Copies),
}

/// Several copies of each block: a drive holds a chunk of first copies, one of second copies, and so on, and
/// then again. What has its first copy on one drive has its second on the next, one chunk further on, its
/// third on the one after that (chained declustering: Hsiao and DeWitt, ICDE 1990, for two copies). So an
/// array that is filled from its beginning fills its drives from theirs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Copies {
    /// How many, at least 2 and at most [`MOST_COPIES`].
    pub count: usize,
    /// Drives, the last of which is followed by the first.
    pub drives: usize,
    /// The first block with a copy.
    pub first: u64,
    /// Blocks of a chunk.
    pub chunk: u64,
}

/// The most copies of a block.
pub const MOST_COPIES: usize = 4;

impl Redundancy {
    /// That of an array. Where copies are is for its layout to say: see
    /// [`Reads::set_copies`](super::Reads::set_copies).
    pub fn of(config: &ArrayConfig) -> Redundancy {
        if config.layout.has_parity() { Redundancy::Parity(config.width()) } else { Redundancy::None }
    }

    /// How many drives stand in for one.
    pub(super) fn others(&self) -> usize {
        match self {
            Redundancy::None => 0,
            Redundancy::Parity(width) => width - 1,
            Redundancy::Copies(copies) => copies.count - 1,
        }
    }

    /// One of those that stand in for `block` of `drive`: a drive, and the block there.
    pub(super) fn other(&self, drive: DriveId, block: u64, index: usize) -> (DriveId, u64) {
        match self {
            Redundancy::None => (drive, block),
            Redundancy::Parity(width) => {
                let groups = RGroups::new(*width);
                let column = index + usize::from(index >= groups.column_of(drive).index());
                (groups.drive(groups.group_of(drive), Column::at(column)), block)
            }
            Redundancy::Copies(copies) => {
                let next = copies.copy_at(block) + 1 + index;
                copies.copy(drive, block, if next < copies.count { next } else { next - copies.count })
            }
        }
    }
}

impl Copies {
    /// Where copy `wanted` of a block is, of which there is one in this place.
    #[inline]
    pub fn copy(&self, drive: DriveId, block: u64, wanted: usize) -> (DriveId, u64) {
        self.copy_from(drive, block, self.copy_at(block), wanted)
    }

    /// The same where it is known that this place is copy `here`.
    #[inline]
    pub fn copy_from(&self, drive: DriveId, block: u64, here: usize, wanted: usize) -> (DriveId, u64) {
        let after = drive.index() + self.drives + wanted - here;
        let drive = DriveId::at(if after >= 2 * self.drives {
            after - 2 * self.drives
        } else if after >= self.drives {
            after - self.drives
        } else {
            after
        });
        (drive, block + wanted as u64 * self.chunk - here as u64 * self.chunk)
    }

    /// Which copy the block in this place is.
    #[inline]
    pub fn copy_at(&self, block: u64) -> usize {
        ((block - self.first) / self.chunk % self.count as u64) as usize
    }
}
