//! Placement of checkpoints on the drives.

use super::DUMP_SUMS;
use super::Geometry;
use crate::array::superblock::SUPERBLOCK_BLOCKS;
use crate::array::{Column, DriveId};
use tailcut_base::cast::to_usize;
use tailcut_base::id;
use tailcut_base::ids::Id;

id! {
    /// One of the two checkpoint regions of each drive. Checkpoints are written to them in turn.
    pub struct Region;
}

impl Region {
    /// Both regions.
    pub(crate) const BOTH: [Region; 2] = [Region(0), Region(1)];

    /// The region of the checkpoint with this number.
    pub(crate) fn of(number: u64) -> Region {
        Region((number % 2) as u32)
    }
}

impl Geometry {
    /// The blocks whose checksums are in block `index` of a checkpoint: the drive, and the first of
    /// [`DUMP_SUMS`] blocks on it. None for the earlier blocks, which hold the map.
    pub(crate) fn sums_of(&self, index: u64) -> Option<(DriveId, u64)> {
        let index = index.checked_sub(self.map_blocks)?;
        Some((
            DriveId::at(to_usize(index / self.sums_blocks)),
            self.first + index % self.sums_blocks * DUMP_SUMS,
        ))
    }

    /// Number of copies of each block of a checkpoint.
    pub(crate) fn copies(&self) -> usize {
        if self.data < self.width { 2 } else { 1 }
    }

    /// Place of copy `copy` of block `index` of a checkpoint: drive and block. Both copies are in one group,
    /// of which only one drive may be missing.
    pub(crate) fn dump_place(&self, region: Region, index: u64, copy: usize) -> (DriveId, u64) {
        let drives = u64::from(self.groups * self.width);
        let (turn, first) = (index / drives, DriveId::at(to_usize(index % drives)));
        let (group, column) = self.column_of(first);
        let column = Column::at((column.index() + copy) % self.width as usize);
        let drive = self.r_groups().drive(group, column);
        (drive, self.header_block(region) + 1 + turn * self.copies() as u64 + copy as u64)
    }

    /// Block of the header of a checkpoint on each drive.
    pub(crate) fn header_block(&self, region: Region) -> u64 {
        SUPERBLOCK_BLOCKS + u64::from(region.get()) * self.region_blocks
    }
}
