//! The checksum area at the end of each member: the blocks of marks, one mark per region, followed by one
//! block of checksums per region.

use super::codec::{MARKS, SUMS};
use std::ops::Range;
use tailcut_base::cast::to_usize;
use tailcut_base::id;
use tailcut_base::ids::Id;

id! {
    /// A region of a drive: 1008 consecutive blocks, whose checksums fill one block.
    pub struct RegionId;
}

id! {
    /// A block of marks: holds 2016 of them.
    pub struct MarkId;
}

/// The checksum area of each drive of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Area {
    /// First block of the area, which is the end of the layout's blocks.
    start: u64,
    marks: usize,
    regions: usize,
}

impl Area {
    /// The area of a drive with `drive_blocks` blocks of 4 KiB. On drives too small to hold it, the area
    /// starts at block 0 and leaves the layout no space.
    pub fn of(drive_blocks: u64) -> Area {
        let regions = to_usize(drive_blocks.div_ceil(SUMS as u64));
        let marks = regions.div_ceil(MARKS);
        let start = drive_blocks.saturating_sub((regions + marks) as u64);
        Area { start, marks, regions }
    }

    /// First block of the area.
    pub fn start(&self) -> u64 {
        self.start
    }

    /// The blocks of the area.
    pub fn blocks(&self) -> Range<u64> {
        self.start..self.start + (self.marks + self.regions) as u64
    }

    /// Number of regions, each with one block of checksums.
    pub fn regions(&self) -> usize {
        self.regions
    }

    /// Number of blocks of marks.
    pub fn marks(&self) -> usize {
        self.marks
    }

    /// The regions of some blocks of the drive.
    #[inline]
    pub fn regions_of(&self, blocks: &Range<u64>) -> impl Iterator<Item = RegionId> + Clone + use<> {
        let first = RegionId::at(to_usize(blocks.start / SUMS as u64));
        first.up_to(RegionId::at(to_usize(blocks.end.div_ceil(SUMS as u64))))
    }

    /// The first block of a region.
    pub fn first_of(&self, region: RegionId) -> u64 {
        region.index() as u64 * SUMS as u64
    }

    /// The block with the checksums of a region.
    pub fn sums_at(&self, region: RegionId) -> u64 {
        self.start + (self.marks + region.index()) as u64
    }

    /// The region whose checksums are in this block of the drive; None if it holds none.
    pub fn sums_in(&self, block: u64) -> Option<RegionId> {
        let index = block.checked_sub(self.start + self.marks as u64)?;
        (index < self.regions as u64).then(|| RegionId::at(to_usize(index)))
    }

    /// The block of the drive with a block of marks.
    pub fn mark_at(&self, mark: MarkId) -> u64 {
        self.start + mark.index() as u64
    }

    /// The block of marks at this block of the drive; None if it holds none.
    pub fn mark_in(&self, block: u64) -> Option<MarkId> {
        let index = block.checked_sub(self.start)?;
        (index < self.marks as u64).then(|| MarkId::at(to_usize(index)))
    }

    /// The block of marks with the mark of a region.
    pub fn mark_of(&self, region: RegionId) -> MarkId {
        MarkId::at(region.index() / MARKS)
    }

    /// The regions whose marks are in a block of marks.
    pub fn marked_in(&self, mark: MarkId) -> impl Iterator<Item = RegionId> + use<> {
        let first = mark.index() * MARKS;
        RegionId::at(first).up_to(RegionId::at((first + MARKS).min(self.regions)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_area_is_marks_and_then_checksums_at_the_end() {
        let area = Area::of(10_000);
        // Ten regions of 1008 blocks, with one block for their marks.
        assert_eq!((area.start(), area.blocks(), area.marks(), area.regions()), (9989, 9989..10_000, 1, 10));
        assert_eq!((area.mark_at(MarkId::new(0)), area.sums_at(RegionId::new(0))), (9989, 9990));
        assert_eq!(area.sums_at(RegionId::new(9)), 9999);
        assert_eq!(area.sums_in(9990), Some(RegionId::new(0)));
        assert_eq!((area.sums_in(9989), area.sums_in(10_000)), (None, None));
        assert_eq!(
            (area.mark_in(9989), area.mark_in(9990), area.mark_in(5)),
            (Some(MarkId::new(0)), None, None)
        );
        let regions = |blocks| area.regions_of(&blocks).map(|region| region.get()).collect::<Vec<_>>();
        assert_eq!(regions(1007..1008), [0]);
        assert_eq!(regions(1007..1009), [0, 1]);
        assert_eq!(regions(2016..2016), []);
    }

    #[test]
    fn large_drives_have_more_blocks_of_marks() {
        // 8 GiB: 2081 regions.
        let area = Area::of(2 << 20);
        assert_eq!((area.regions(), area.marks()), (2081, 2));
        assert_eq!(area.mark_of(RegionId::new(2015)), MarkId::new(0));
        assert_eq!(area.mark_of(RegionId::new(2016)), MarkId::new(1));
        assert_eq!(area.marked_in(MarkId::new(1)).count(), 65);
        assert_eq!(Area::of(1).start(), 0);
    }
}
