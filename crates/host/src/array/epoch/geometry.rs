//! Where the copies of a block are, and which drives share a token.
//!
//! Chained declustering (Hsiao and DeWitt, ICDE 1990): chunks go round over the drives, and the second copy
//! of each is on the next drive. Drives belong to token groups in turn (Shin 2017, section 5.3.4: odd and
//! even), so neighbours are in different groups. Where the last drive and the first would be in the same
//! one, it joins another; with two groups and an odd number of drives that is impossible, and no chunk
//! has its copies on those two.

use crate::array::reads::Copies;
use std::ops::Range;

/// A block of a drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The drive.
    pub drive: usize,
    /// The block on it.
    pub block: u64,
}

/// The shape of an array with two copies of each block.
#[derive(Clone, Debug)]
pub struct Geometry {
    /// Drives and chunks.
    pub copies: Copies,
    /// Token groups.
    pub groups: usize,
    /// Pairs of neighbours that share chunks.
    pairs: usize,
    /// Blocks of a chunk.
    pub chunk: u64,
    /// Pairs of chunks on each drive.
    rows: u64,
}

/// The token group of a drive.
pub fn group_of(drive: usize, drives: usize, groups: usize) -> usize {
    let is_odd_one = groups > 2 && drives % groups == 1 && drive + 1 == drives;
    if is_odd_one { 1 } else { drive % groups }
}

/// Pairs of neighbours that share chunks.
fn pairs(drives: usize, groups: usize) -> usize {
    let is_closed = group_of(drives - 1, drives, groups) != group_of(0, drives, groups);
    if is_closed { drives } else { drives - 1 }
}

/// True when of some pair of neighbours that share chunks neither drive serves.
pub fn has_lost_both(serves: &[bool], groups: usize) -> bool {
    let drives = serves.len();
    (0..pairs(drives, groups)).any(|drive| !serves[drive] && !serves[(drive + 1) % drives])
}

impl Geometry {
    /// The shape of drives whose data lies in `blocks`.
    pub fn new(blocks: Range<u64>, chunk: u64, drives: usize, groups: usize) -> Geometry {
        let rows = blocks.end.saturating_sub(blocks.start) / (2 * chunk);
        let copies = Copies { drives, first: blocks.start, chunk };
        Geometry { copies, groups, pairs: pairs(drives, groups), chunk, rows }
    }

    /// The drives of each token group.
    pub fn members(&self) -> Vec<Vec<usize>> {
        let mut members = vec![Vec::new(); self.groups];
        (0..self.copies.drives).for_each(|drive| members[self.group(drive)].push(drive));
        members
    }

    /// Blocks of the host.
    pub fn blocks(&self) -> u64 {
        self.pairs as u64 * self.rows * self.chunk
    }

    /// The token group of a drive.
    pub fn group(&self, drive: usize) -> usize {
        group_of(drive, self.copies.drives, self.groups)
    }

    /// The blocks of a drive that hold data.
    pub fn data(&self) -> Range<u64> {
        self.copies.first..self.copies.first + 2 * self.rows * self.chunk
    }

    /// Where the copies of a block of the host are.
    #[inline]
    pub fn places(&self, block: u64) -> [Place; 2] {
        let (chunk, offset) = (block / self.chunk, block % self.chunk);
        let (row, drive) = (chunk / self.pairs as u64, (chunk % self.pairs as u64) as usize);
        let first = Place { drive, block: self.copies.first + 2 * row * self.chunk + offset };
        let (drive, block) = self.copies.other(first.drive, first.block);
        [first, Place { drive, block }]
    }

    /// The block of the host of which there is a copy in this place, and which copy it is.
    #[inline]
    pub fn host_block(&self, place: Place) -> Option<(u64, usize)> {
        if !self.data().contains(&place.block) {
            return None;
        }
        let is_second = self.copies.is_second(place.block);
        let (drive, block) = match is_second {
            true => self.copies.other(place.drive, place.block),
            false => (place.drive, place.block),
        };
        let (chunk, offset) =
            ((block - self.copies.first) / self.chunk, (block - self.copies.first) % self.chunk);
        let chunk = chunk / 2 * self.pairs as u64 + drive as u64;
        (drive < self.pairs).then_some((chunk * self.chunk + offset, usize::from(is_second)))
    }

    /// The first block of a drive from this place on that is used; the end of the data if there is none. With
    /// two groups and an odd number of drives, every other chunk of the first and of the last drive is not.
    pub fn used_from(&self, place: Place) -> u64 {
        let end = self.data().end;
        if place.block >= end || self.host_block(place).is_some() {
            return place.block.min(end);
        }
        // Of two chunks that follow each other on a drive one is used.
        let next = place.block + self.chunk - (place.block - self.copies.first) % self.chunk;
        next.min(end)
    }

    /// The part of `blocks` of the host that lies together on a drive, from its beginning on.
    pub fn run(&self, blocks: Range<u64>) -> Range<u64> {
        blocks.start..blocks.end.min((blocks.start / self.chunk + 1) * self.chunk)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn copies_are_in_different_groups_and_no_place_is_used_twice() {
        for drives in 2..12 {
            for groups in 2..=drives.min(5) {
                for chunk in [1, 3, 4] {
                    let shape = Geometry::new(7..7 + 25, chunk, drives, groups);
                    let mut used = BTreeSet::new();
                    for block in 0..shape.blocks() {
                        let places = shape.places(block);
                        assert_ne!(
                            shape.group(places[0].drive),
                            shape.group(places[1].drive),
                            "{drives} {groups}"
                        );
                        for (copy, place) in places.into_iter().enumerate() {
                            assert!(shape.data().contains(&place.block) && place.drive < drives);
                            assert!(used.insert((place.drive, place.block)));
                            assert_eq!(shape.host_block(place), Some((block, copy)));
                        }
                        let (drive, other) = shape.copies.other(places[1].drive, places[1].block);
                        assert_eq!(Place { drive, block: other }, places[0]);
                    }
                    let all = drives as u64 * shape.data().count() as u64;
                    assert_eq!(used.len() as u64, 2 * shape.blocks());
                    assert!(groups == 2 && drives % 2 == 1 || used.len() as u64 == all);
                }
            }
        }
    }

    #[test]
    fn every_group_has_a_drive() {
        for drives in 2..12 {
            for groups in 2..=drives {
                let have: BTreeSet<usize> =
                    (0..drives).map(|drive| group_of(drive, drives, groups)).collect();
                assert_eq!(have.len(), groups);
            }
        }
    }

    #[test]
    fn neighbours_that_are_both_gone_are_a_loss() {
        assert!(!has_lost_both(&[false, true, false, true], 2));
        assert!(has_lost_both(&[false, true, true, false], 2));
        assert!(!has_lost_both(&[false, true, false], 2), "with two groups these share nothing");
        assert!(has_lost_both(&[false, true, false], 3));
    }
}
