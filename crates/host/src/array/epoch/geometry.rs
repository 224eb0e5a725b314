//! Placement of copies, and token groups.
//!
//! Chained declustering (Hsiao and DeWitt, ICDE 1990): chunks are distributed round-robin over the drives,
//! and each further copy is on the next drive. Drives belong to token groups in turn (Shin 2017, section
//! 5.3.4: odd and even), so neighbours are in different groups. With two copies, if the last drive and the
//! first would be in the same group, the last joins another; with two groups and an odd number of drives that
//! is impossible, and no chunk has its copies on those two. With more copies every group has the same number
//! of drives.

use crate::array::DriveId;
use crate::array::reads::{Copies, MOST_COPIES};
use std::ops::{Deref, Range};
use tailcut_base::cast::to_usize;
use tailcut_base::ids::Id;

/// A block on a drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// The drive that holds the copy.
    pub drive: DriveId,
    /// The block on it.
    pub block: u64,
}

/// The places of all copies of a block, the first copy first.
#[derive(Clone, Copy, Debug)]
pub(super) struct Places {
    places: [Place; MOST_COPIES],
    count: usize,
}

impl Deref for Places {
    type Target = [Place];

    #[inline]
    fn deref(&self) -> &[Place] {
        &self.places[..self.count]
    }
}

/// Geometry of an array with several copies of each block.
#[derive(Clone, Debug)]
pub(super) struct Geometry {
    /// Placement of the copies.
    pub copies: Copies,
    /// Number of token groups.
    groups: usize,
    /// Number of drives that hold first copies: those that share chunks with the drives behind them.
    chains: usize,
    /// Number of blocks of 4 KiB in a chunk.
    pub chunk: u64,
    /// Chunks of first copies on each drive.
    rows: u64,
}

/// How many drives, token groups and copies of each block there are: what decides which drives hold copies
/// of the same blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Declustering {
    /// Number of drives of the array.
    pub drives: usize,
    /// Number of token groups that the drives belong to in turn.
    pub groups: usize,
    /// Number of copies of each block, at least 2.
    pub copies: usize,
}

impl Declustering {
    /// The token group of a drive.
    pub fn group_of(&self, drive: DriveId) -> usize {
        let Declustering { drives, groups, .. } = *self;
        let is_odd_one = groups > 2 && drives % groups == 1 && drive.index() + 1 == drives;
        if is_odd_one { 1 } else { drive.index() % groups }
    }

    /// Number of drives that hold first copies.
    fn chains(&self) -> usize {
        let last = DriveId::at(self.drives - 1);
        let is_closed = self.group_of(last) != self.group_of(DriveId::new(0));
        if is_closed { self.drives } else { self.drives - 1 }
    }

    /// True if for some blocks no drive with a copy is in sync, given for each drive whether it is.
    pub fn has_lost_all(&self, serves: &[bool]) -> bool {
        let is_lost = |first: usize| (first..first + self.copies).all(|drive| !serves[drive % self.drives]);
        (0..self.chains()).any(is_lost)
    }
}

impl Geometry {
    /// Geometry of drives with data in `blocks`, in chunks of `chunk` blocks.
    pub(super) fn new(blocks: Range<u64>, chunk: u64, over: Declustering) -> Geometry {
        let rows = blocks.end.saturating_sub(blocks.start) / (over.copies as u64 * chunk);
        let copies = Copies { count: over.copies, drives: over.drives, first: blocks.start, chunk };
        Geometry { copies, groups: over.groups, chains: over.chains(), chunk, rows }
    }

    /// How many drives, token groups and copies there are.
    pub(super) fn declustering(&self) -> Declustering {
        Declustering { drives: self.copies.drives, groups: self.groups, copies: self.copies.count }
    }

    /// The drives of each token group.
    pub(super) fn members(&self) -> Vec<Vec<DriveId>> {
        let mut members = vec![Vec::new(); self.groups];
        DriveId::first(self.copies.drives).for_each(|drive| members[self.group(drive)].push(drive));
        members
    }

    /// Number of blocks of the host.
    pub(super) fn blocks(&self) -> u64 {
        self.chains as u64 * self.rows * self.chunk
    }

    /// The token group of a drive.
    pub(super) fn group(&self, drive: DriveId) -> usize {
        self.declustering().group_of(drive)
    }

    /// The range of blocks on a drive that hold data.
    pub(super) fn data(&self) -> Range<u64> {
        self.copies.first..self.copies.first + self.copies.count as u64 * self.rows * self.chunk
    }

    /// The places of all copies of a block of the host.
    #[inline]
    pub(super) fn places(&self, block: u64) -> Places {
        let (chunk, offset) = (block / self.chunk, block % self.chunk);
        let (row, drive) = (chunk / self.chains as u64, DriveId::at(to_usize(chunk % self.chains as u64)));
        let first = self.copies.first + self.copies.count as u64 * row * self.chunk + offset;
        let mut places = [Place { drive, block: first }; MOST_COPIES];
        for (copy, place) in places.iter_mut().enumerate().take(self.copies.count).skip(1) {
            let (drive, block) = self.copies.copy_from(drive, first, copy.cast_signed());
            *place = Place { drive, block };
        }
        Places { places, count: self.copies.count }
    }

    /// The block of the host with a copy at this place, and the copy's number.
    #[inline]
    pub(super) fn host_block(&self, place: Place) -> Option<(u64, usize)> {
        if !self.data().contains(&place.block) {
            return None;
        }
        let copy = self.copies.copy_at(place.block);
        let (drive, block) = self.copies.copy_from(place.drive, place.block, -copy.cast_signed());
        let (chunk, offset) =
            ((block - self.copies.first) / self.chunk, (block - self.copies.first) % self.chunk);
        let chunk = chunk / self.copies.count as u64 * self.chains as u64 + u64::from(drive.get());
        (drive.index() < self.chains).then_some((chunk * self.chunk + offset, copy))
    }

    /// The first used block of a drive at or behind this place; the end of the data if there is none. With
    /// two groups and an odd number of drives, every other chunk of the first and of the last drive is
    /// unused.
    pub(super) fn used_from(&self, place: Place) -> u64 {
        let end = self.data().end;
        if place.block >= end || self.host_block(place).is_some() {
            return place.block.min(end);
        }
        // Of two consecutive chunks on a drive, one is used.
        let next = place.block + self.chunk - (place.block - self.copies.first) % self.chunk;
        next.min(end)
    }

    /// The longest prefix of `blocks` of the host that is contiguous on a drive.
    pub(super) fn run(&self, blocks: Range<u64>) -> Range<u64> {
        blocks.start..blocks.end.min((blocks.start / self.chunk + 1) * self.chunk)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn over(drives: usize, groups: usize, copies: usize) -> Declustering {
        Declustering { drives, groups, copies }
    }

    fn shapes() -> impl Iterator<Item = Declustering> {
        let all = (2..13).flat_map(|drives| (2..=drives.min(5)).map(move |groups| (drives, groups)));
        let with = |(drives, groups)| (2..=MOST_COPIES).map(move |copies| over(drives, groups, copies));
        all.flat_map(with).filter(|&Declustering { drives, groups, copies }| {
            copies == 2 || copies <= groups && usize::is_multiple_of(drives, groups)
        })
    }

    #[test]
    fn copies_are_in_different_groups_and_no_place_is_used_twice() {
        for over in shapes() {
            let Declustering { drives, groups, copies } = over;
            for chunk in [1, 3, 4] {
                let shape = Geometry::new(7..7 + 40, chunk, over);
                let mut used = BTreeSet::new();
                for block in 0..shape.blocks() {
                    let places = shape.places(block);
                    let have: BTreeSet<usize> = places.iter().map(|place| shape.group(place.drive)).collect();
                    assert_eq!(have.len(), copies, "{drives} {groups}");
                    for (copy, place) in places.iter().enumerate() {
                        assert!(shape.data().contains(&place.block) && place.drive.index() < drives);
                        assert!(used.insert((place.drive, place.block)));
                        assert_eq!(shape.host_block(*place), Some((block, copy)));
                        for (other, there) in places.iter().enumerate() {
                            let (drive, block) = shape.copies.copy(place.drive, place.block, other);
                            assert_eq!(Place { drive, block }, *there);
                        }
                    }
                }
                let all = drives as u64 * shape.data().count() as u64;
                assert_eq!(used.len() as u64, copies as u64 * shape.blocks());
                assert!(groups == 2 && drives % 2 == 1 || used.len() as u64 == all);
            }
        }
    }

    #[test]
    fn every_group_has_a_drive() {
        for drives in 2..12 {
            for groups in 2..=drives {
                let have: BTreeSet<usize> =
                    DriveId::first(drives).map(|drive| over(drives, groups, 2).group_of(drive)).collect();
                assert_eq!(have.len(), groups);
            }
        }
    }

    #[test]
    fn drives_that_are_all_gone_are_a_loss() {
        assert!(!over(4, 2, 2).has_lost_all(&[false, true, false, true]));
        assert!(over(4, 2, 2).has_lost_all(&[false, true, true, false]));
        assert!(!over(3, 2, 2).has_lost_all(&[false, true, false]), "with two groups these share nothing");
        assert!(over(3, 3, 2).has_lost_all(&[false, true, false]));
        assert!(!over(4, 4, 3).has_lost_all(&[false, true, true, false]));
        assert!(over(4, 4, 3).has_lost_all(&[false, true, false, false]));
    }
}
