//! Substitutes for blocks that cannot be read, or not now.

use crate::array::config::ArrayConfig;
use crate::array::{Column, DriveId, RGroups};
use tailcut_base::cast::to_usize;
use tailcut_base::ids::Id;

/// The substitutes for blocks that cannot be read, or not now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Redundancy {
    /// No other drive can replace a block.
    None,
    /// The blocks at the same address on the other members of an R-group with this number of drives.
    Parity(usize),
    /// Other drives hold copies of each block.
    Copies(Copies),
}

/// Placement of several copies of each block. A drive holds a chunk of first copies, one of second copies,
/// and so on, then repeats. A chunk with its first copy on one drive has its second on the next, one chunk
/// further on, its third on the one after that (chained declustering: Hsiao and DeWitt, ICDE 1990, for two
/// copies). So an array that is filled from the start fills its drives from the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Copies {
    /// Number of copies, 2 to [`MOST_COPIES`].
    pub count: usize,
    /// Number of drives; the first follows the last.
    pub drives: usize,
    /// First block of every drive that holds a copy; the blocks before it hold metadata.
    pub first: u64,
    /// Number of blocks of 4 KiB in a chunk.
    pub chunk: u64,
}

/// Largest number of copies of a block.
pub const MOST_COPIES: usize = 4;

impl Redundancy {
    /// Redundancy of an array. Its layout sets the placement of copies: see
    /// [`Reads::set_copies`](super::Reads::set_copies).
    pub fn of(config: &ArrayConfig) -> Redundancy {
        if config.layout.has_parity() { Redundancy::Parity(config.width()) } else { Redundancy::None }
    }

    /// Number of substitutes for a block.
    pub(super) fn others(&self) -> usize {
        match self {
            Redundancy::None => 0,
            Redundancy::Parity(width) => width - 1,
            Redundancy::Copies(copies) => copies.count - 1,
        }
    }

    /// A substitute for `block` of `drive`: drive, and block there.
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
    /// Place of copy `wanted` of a block, given the place of one of its copies.
    #[inline]
    pub fn copy(&self, drive: DriveId, block: u64, wanted: usize) -> (DriveId, u64) {
        self.copy_from(drive, block, wanted.cast_signed() - self.copy_at(block).cast_signed())
    }

    /// Place of the copy of a block that is `step` copies behind the one at this place, or before it if
    /// negative.
    #[inline]
    pub fn copy_from(&self, drive: DriveId, block: u64, step: isize) -> (DriveId, u64) {
        let after = (drive.index() + self.drives).wrapping_add_signed(step);
        let drive = DriveId::at(if after >= 2 * self.drives {
            after - 2 * self.drives
        } else if after >= self.drives {
            after - self.drives
        } else {
            after
        });
        (drive, block.wrapping_add_signed(step as i64 * self.chunk.cast_signed()))
    }

    /// Number of the copy, from 0, that block `block` of a drive holds.
    #[inline]
    pub fn copy_at(&self, block: u64) -> usize {
        to_usize((block - self.first) / self.chunk % self.count as u64)
    }
}
