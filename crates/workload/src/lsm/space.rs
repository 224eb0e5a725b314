//! Where files lie: extents of a region, next fit.

use std::collections::BTreeMap;

/// A range of neighbouring blocks of the region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// The first block, counted from the start of the region.
    pub first: u64,
    /// Number of blocks of the extent, at least 1.
    pub blocks: u64,
}

/// The free blocks of a region.
#[derive(Clone, Debug)]
pub struct Space {
    /// Length of each free extent by its first block; no two of them touch.
    free: BTreeMap<u64, u64>,
    free_blocks: u64,
    blocks: u64,
    /// Where the last file ended: the next is looked for from here.
    cursor: u64,
}

impl Space {
    /// A region of `blocks` free blocks.
    pub fn new(blocks: u64) -> Space {
        let free = if blocks > 0 { BTreeMap::from([(0, blocks)]) } else { BTreeMap::new() };
        Space { free, free_blocks: blocks, blocks, cursor: 0 }
    }

    /// Number of blocks of the region that are free.
    pub fn free_blocks(&self) -> u64 {
        self.free_blocks
    }

    /// Number of blocks of the region, free or occupied.
    pub fn blocks(&self) -> u64 {
        self.blocks
    }

    /// Takes `blocks` blocks: in one extent where one behind the cursor is large enough, then where
    /// any is, and otherwise in the extents that come. `None`, and nothing taken, when there are not
    /// enough.
    #[expect(clippy::missing_panics_doc, reason = "the free extents have as many blocks as are counted")]
    pub fn take(&mut self, blocks: u64) -> Option<Vec<Extent>> {
        if blocks > self.free_blocks {
            return None;
        }
        let fits = |(&first, &length): (&u64, &u64)| (length >= blocks).then_some(first);
        let behind = self.free.range(self.cursor..).find_map(fits);
        if let Some(first) = behind.or_else(|| self.free.iter().find_map(fits)) {
            return Some(vec![self.cut(first, blocks)]);
        }
        let mut extents = Vec::new();
        let mut left = blocks;
        while left > 0 {
            let behind = self.free.range(self.cursor..).next();
            let (&first, &length) = behind.or_else(|| self.free.iter().next()).expect("there are enough");
            extents.push(self.cut(first, length.min(left)));
            left -= length.min(left);
        }
        Some(extents)
    }

    /// The first `blocks` blocks of the free extent at `first`.
    fn cut(&mut self, first: u64, blocks: u64) -> Extent {
        let length = self.free.remove(&first).expect("a free extent begins here");
        if length > blocks {
            self.free.insert(first + blocks, length - blocks);
        }
        self.free_blocks -= blocks;
        self.cursor = first + blocks;
        Extent { first, blocks }
    }

    /// Gives an extent back.
    ///
    /// # Panics
    /// If the extent reaches beyond the region, or some of it is free already.
    pub fn give(&mut self, extent: Extent) {
        let Extent { mut first, mut blocks } = extent;
        assert!(first + blocks <= self.blocks, "an extent lies in the region");
        let before = self.free.range(..first + blocks).next_back().map(|(&at, &length)| (at, length));
        if let Some((at, length)) = before {
            assert!(at + length <= first, "an extent is given back once");
            if at + length == first {
                self.free.remove(&at);
                (first, blocks) = (at, blocks + length);
            }
        }
        if let Some(length) = self.free.remove(&(first + blocks)) {
            blocks += length;
        }
        self.free.insert(first, blocks);
        self.free_blocks += extent.blocks;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailcut_base::random::Stream;

    #[test]
    fn extents_are_disjoint_and_all_come_back() {
        let mut space = Space::new(1000);
        let mut held: Vec<Extent> = Vec::new();
        let mut owned = vec![false; 1000];
        let mut stream = Stream::new(1, "space");
        for _ in 0..20_000 {
            if stream.below(2) == 0 {
                let wanted = 1 + stream.below(60);
                let Some(extents) = space.take(wanted) else { continue };
                assert_eq!(extents.iter().map(|e| e.blocks).sum::<u64>(), wanted);
                for e in &extents {
                    for block in &mut owned[e.first as usize..(e.first + e.blocks) as usize] {
                        assert!(!std::mem::replace(block, true), "a block has one owner");
                    }
                }
                held.extend(extents);
            } else if !held.is_empty() {
                let e = held.swap_remove(stream.below(held.len() as u64) as usize);
                owned[e.first as usize..(e.first + e.blocks) as usize].fill(false);
                space.give(e);
            }
            assert_eq!(space.free_blocks(), owned.iter().filter(|taken| !**taken).count() as u64);
        }
        held.into_iter().for_each(|e| space.give(e));
        assert_eq!(space.take(1000), Some(vec![Extent { first: 0, blocks: 1000 }]));
    }

    #[test]
    #[should_panic(expected = "given back once")]
    fn what_is_free_cannot_be_given_back() {
        let mut space = Space::new(10);
        let extent = space.take(4).expect("room")[0];
        space.give(extent);
        space.give(extent);
    }
}
