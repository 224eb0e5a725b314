//! Repair from copies none of which is right as a whole: combines blocks of several copies until a record
//! matches its checksum.

use crate::block::Bytes;
use std::ops::Range;

/// The same blocks as read from different copies.
#[derive(Debug, Default)]
pub(super) struct Versions {
    versions: Vec<Version>,
}

#[derive(Debug)]
struct Version {
    /// The copy; None if the disk has chosen it.
    copy: Option<u8>,
    /// Its blocks, possibly fewer than in other versions; None for an unreadable block.
    blocks: Vec<Option<Bytes>>,
}

impl Versions {
    /// Adds a version; `unreadable` are the indices of its unreadable blocks.
    pub(super) fn add(&mut self, copy: Option<u8>, blocks: &[Bytes], unreadable: &[usize]) {
        let mut blocks: Vec<Option<Bytes>> = blocks.iter().cloned().map(Some).collect();
        unreadable.iter().for_each(|&at| blocks[at] = None);
        self.versions.push(Version { copy, blocks });
    }

    /// Begins the version of a copy, without any block so far.
    pub(super) fn begin(&mut self, copy: u8) {
        self.versions.push(Version { copy: Some(copy), blocks: Vec::new() });
    }

    /// Appends blocks to the version that was begun last.
    pub(super) fn extend(&mut self, blocks: &[Bytes]) {
        let last = self.versions.last_mut().expect("a version was begun");
        last.blocks.extend(blocks.iter().cloned().map(Some));
    }

    /// Whether block `at` may be written over the other copies: some copy of it differs or could not be read,
    /// and with each of the differing ones in its place `is_right` fails. A block that a record touches in
    /// part may be damaged outside of the record, so an intact record does not prove that the block is.
    pub(super) fn proves(&self, at: usize, blocks: &[Bytes], is_right: impl Fn(&[Bytes]) -> bool) -> bool {
        let block = &blocks[at];
        let is_missing = |version: &Version| version.copy.is_some() && version.other(at).is_none();
        let mut changed = blocks.to_vec();
        let is_damaged = |version: &Version| {
            changed[at] = version.other(at).unwrap_or(block).clone();
            !is_right(&changed)
        };
        let is_news = self.differ(at, block) || self.versions.iter().any(is_missing);
        is_news && self.versions.iter().filter(|version| version.differs(at, block)).all(is_damaged)
    }

    /// Block `at` of the first version that could read it.
    pub(super) fn readable(&self, at: usize) -> Option<&Bytes> {
        self.versions.iter().find_map(|version| version.blocks.get(at)?.as_ref())
    }

    /// The first version of exactly `count` blocks; unreadable ones are zeros.
    pub(super) fn first_of(&self, count: usize) -> Option<Vec<Bytes>> {
        let version = self.versions.iter().find(|version| version.blocks.len() == count)?;
        Some(version.blocks.iter().map(|block| block.clone().unwrap_or_default()).collect())
    }

    /// True if there is no version.
    pub(super) fn is_empty(&self) -> bool {
        self.versions.is_empty()
    }

    /// Length of the longest version in blocks.
    pub(super) fn longest(&self) -> usize {
        self.versions.iter().map(|version| version.blocks.len()).max().unwrap_or(0)
    }

    /// True if some version differs from `block` at index `at`.
    pub(super) fn differ(&self, at: usize, block: &Bytes) -> bool {
        self.versions.iter().any(|version| version.differs(at, block))
    }

    /// A copy that has `block` at index `at`.
    pub(super) fn copy_with(&self, at: usize, block: &Bytes) -> Option<u8> {
        let has = |version: &&Version| version.copy.is_some() && version.has(at, block);
        self.versions.iter().find(has).and_then(|version| version.copy)
    }

    /// Returns the result of `judge` on the blocks. If that is None, replaces as many blocks within `range`
    /// as necessary by those of another copy. If no combination helps, the blocks stay as they are.
    ///
    /// It tries all combinations with one other copy as long as that costs less than [`MOST_BYTES`] of
    /// checksums, and otherwise the copy as a whole.
    pub(super) fn combine<T>(
        &self,
        blocks: &mut [Bytes],
        range: Range<usize>,
        judge: impl Fn(&[Bytes]) -> Option<T>,
    ) -> Option<T> {
        if let Some(found) = judge(blocks) {
            return Some(found);
        }
        let range = range.start..range.end.min(blocks.len());
        let most = (MOST_BYTES / range.len().max(1)).ilog2() as usize;
        for version in &self.versions {
            let differs = |at: &usize| version.differs(*at, &blocks[*at]);
            let places: Vec<usize> = range.clone().filter(differs).collect();
            let before: Vec<Bytes> = places.iter().map(|&at| blocks[at].clone()).collect();
            let all = (1u64 << places.len().min(63)) - 1;
            let first = if places.len() <= most { 1 } else { all };
            for chosen in first..=all {
                for (bit, &at) in places.iter().enumerate() {
                    let is_other = first == all || chosen >> bit & 1 == 1;
                    let other = version.blocks[at].as_ref().filter(|_| is_other);
                    blocks[at] = other.unwrap_or(&before[bit]).clone();
                }
                if let Some(found) = judge(blocks).filter(|_| !places.is_empty()) {
                    return Some(found);
                }
            }
            places.iter().zip(before).for_each(|(&at, block)| blocks[at] = block);
        }
        None
    }
}

impl Version {
    fn has(&self, at: usize, block: &Bytes) -> bool {
        self.other(at).is_some_and(|other| other.as_slice() == block.as_slice())
    }

    fn differs(&self, at: usize, block: &Bytes) -> bool {
        self.other(at).is_some_and(|other| other.as_slice() != block.as_slice())
    }

    fn other(&self, at: usize) -> Option<&Bytes> {
        self.blocks.get(at)?.as_ref()
    }
}

/// Most blocks checksummed for one record: 64 MiB.
const MOST_BYTES: usize = 16_384;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn block(number: u8) -> Bytes {
        let mut block = Bytes::zeroed();
        block.as_mut_slice().fill(number);
        block
    }

    fn blocks(numbers: &[u8]) -> Vec<Bytes> {
        numbers.iter().map(|&number| block(number)).collect()
    }

    fn numbers(blocks: &[Bytes]) -> Vec<u8> {
        blocks.iter().map(|block| block.as_slice()[0]).collect()
    }

    proptest! {
        /// Each block is intact in one of its two copies: the search finds the intact combination, and no
        /// block outside the range changes.
        #[test]
        fn what_one_of_two_copies_has_is_found(bad in proptest::collection::vec(0u8..3, 1..9), from in 0usize..4) {
            let right: Vec<u8> = (0..bad.len() as u8).map(|at| 10 + at).collect();
            let copy = |wrong: u8| -> Vec<u8> {
                right.iter().zip(&bad).map(|(&number, &bad)| if bad == wrong { 99 } else { number }).collect()
            };
            let range = from.min(bad.len())..bad.len();
            let mut versions = Versions::default();
            versions.add(Some(1), &blocks(&copy(1)), &[]);
            let mut found = blocks(&copy(0));
            let wanted = right[range.clone()].to_vec();
            let judge = |blocks: &[Bytes]| (numbers(&blocks[range.clone()]) == wanted).then_some(());
            prop_assert_eq!(versions.combine(&mut found, range.clone(), judge), Some(()));
            prop_assert_eq!(numbers(&found[range.clone()]), wanted);
            prop_assert_eq!(numbers(&found[..range.start]), copy(0)[..range.start].to_vec());
        }
    }

    #[test]
    fn blocks_stay_as_they_are_where_no_copy_helps() {
        let mut versions = Versions::default();
        versions.add(None, &blocks(&[7, 8]), &[]);
        versions.add(Some(1), &blocks(&[7]), &[]);
        let mut found = blocks(&[1, 2, 3]);
        assert_eq!(versions.combine(&mut found, 0..3, |_| None::<()>), None);
        assert_eq!(numbers(&found), [1, 2, 3]);
        assert_eq!((versions.copy_with(0, &block(7)), versions.copy_with(1, &block(8))), (Some(1), None));
        assert!(versions.differ(1, &block(2)) && !versions.differ(2, &block(3)));
    }

    #[test]
    fn many_differences_are_tried_as_a_whole_only() {
        let mut versions = Versions::default();
        versions.add(Some(1), &blocks(&[5; 100]), &[]);
        let mut found = blocks(&[6; 100]);
        let judge = |blocks: &[Bytes]| numbers(blocks).iter().all(|&number| number == 5).then_some(());
        assert_eq!(versions.combine(&mut found, 0..100, judge), Some(()));
    }
}
