//! The state of a drive that maps by block.

use super::placement::shuffle;
use super::{Precondition, PreparedState};
use crate::config::Allocation;
use crate::flash::{BlockId, PlaneId};
use crate::mapping::Mapping;
use crate::mapping::ftl::stripes::LogicalBlockId;
use std::collections::VecDeque;
use tailcut_base::cast::to_u32;
use tailcut_base::ids::{Id, IdVec};
use tailcut_base::random::Stream;

impl Mapping {
    /// Fills the logical blocks of a new drive. Returns how many pages hold data, from page 0 on.
    pub(super) fn fill_logical_blocks(&mut self, how: &Precondition, random: &mut Stream) -> u64 {
        let (pages, stripes) = (self.geometry.pages, self.ftl.stripes());
        let logical = self.ftl.logical_pages() * u64::from(how.fill) / 1_000_000;
        let blocks = to_u32(logical / u64::from(pages * stripes.width())) * stripes.width();
        let is_steady = how.state == PreparedState::Steady;
        if is_steady {
            self.settle_stripes(blocks / stripes.width(), random);
        }
        let mut of_plane = IdVec::<PlaneId, _>::filled(self.geometry.plane_count() as usize, Vec::new());
        for logical_block in LogicalBlockId::first(blocks as usize) {
            let plane = self.settle_block_home(logical_block);
            of_plane[plane].push(logical_block);
        }
        for (plane, logical_blocks) in of_plane.iter_enumerated() {
            let free = self.ftl.free_blocks(plane) - to_u32(logical_blocks.len());
            let replaced = match is_steady {
                true => Replacements::none(logical_blocks.len(), pages).after_random_writes(free, random),
                false => Replacements::none(logical_blocks.len(), pages),
            };
            self.fill_blocks_of_plane(plane, logical_blocks, &replaced);
        }
        u64::from(blocks) * u64::from(pages)
    }

    /// Stripes get their planes when their first page is written: under dynamic allocation, where pages are
    /// written in any order, in a random order.
    fn settle_stripes(&mut self, stripes: u32, random: &mut Stream) {
        if self.config.ftl.allocation == Allocation::Static {
            return;
        }
        let mut order: Vec<u32> = (0..stripes).collect();
        shuffle(&mut order, random);
        for stripe in order {
            self.block_mapped().placement.settle_in_turn(stripe);
        }
    }

    fn fill_blocks_of_plane(
        &mut self,
        plane: PlaneId,
        logical_blocks: &[LogicalBlockId],
        replaced: &Replacements,
    ) {
        let pages = self.geometry.pages;
        for (&logical_block, &next) in logical_blocks.iter().zip(&replaced.next) {
            let whole = self.fill_block(plane, logical_block, next % pages..pages, pages);
            if next < pages {
                let newer = self.fill_block(plane, logical_block, 0..next, next);
                self.block_mapped().place_replaced(logical_block, newer, whole);
            } else {
                self.block_mapped().place(logical_block, whole);
            }
        }
        for &at in &replaced.queue {
            self.block_mapped().declare_replaced(plane, logical_blocks[at]);
        }
    }

    /// Takes a free block for the pages of a logical block, programmed up to `programmed`, with `valid` of
    /// them valid.
    fn fill_block(
        &mut self,
        plane: PlaneId,
        logical_block: LogicalBlockId,
        valid: std::ops::Range<u32>,
        programmed: u32,
    ) -> BlockId {
        let stripes = self.ftl.stripes();
        let block = self.ftl.take_free(plane).expect("the configuration leaves room for all logical pages");
        for offset in valid.clone() {
            self.place(self.layout.page_at(block, offset), stripes.page_at(logical_block, offset));
        }
        self.ftl.set_valid_pages(block, valid);
        self.nand.prepare_block(block, programmed);
        block
    }
}

/// The logical blocks of a plane that lie in two blocks each: of some of their pages there are newer
/// versions, from the first page on, in a replacement that is not complete.
struct Replacements {
    /// Of each logical block the pages that its replacement has; all pages of a block where there is none.
    next: Vec<u32>,
    /// The logical blocks with replacements, that of the oldest one first.
    queue: VecDeque<usize>,
    pages: u32,
    free: u32,
}

impl Replacements {
    fn none(blocks: usize, pages: u32) -> Replacements {
        Replacements { next: vec![pages; blocks], queue: VecDeque::new(), pages, free: 0 }
    }

    /// What random writes of single pages leave in a plane with `free` blocks beside, after none. They are
    /// carried out on this table alone, as [`crate::mapping`] does on flash; what was written before the free
    /// blocks have been used a few times over is forgotten.
    fn after_random_writes(self, free: u32, random: &mut Stream) -> Replacements {
        let mut plane = Replacements { free, ..self };
        let (blocks, pages) = (plane.next.len(), plane.pages);
        if blocks > 0 && free > 0 {
            for _ in 0..ROUNDS * (free + to_u32(blocks)) {
                let at = random.index(blocks);
                plane.write(at, random.below_u32(pages));
            }
        }
        // A block that was completed, and replaced again, has been noted twice.
        let mut seen = vec![false; blocks];
        let next = &plane.next;
        plane.queue.retain(|&at| next[at] < pages && !std::mem::replace(&mut seen[at], true));
        plane
    }

    fn write(&mut self, at: usize, offset: u32) {
        if offset < self.next[at] {
            self.complete(at);
            self.open(at);
        }
        self.next[at] = offset + 1;
        if self.next[at] == self.pages {
            self.free += 1;
        }
    }

    /// The old block of a logical block goes back, if it has one.
    fn complete(&mut self, at: usize) {
        if self.next[at] < self.pages {
            self.next[at] = self.pages;
            self.free += 1;
        }
    }

    /// Begins a replacement. Where no block is free the two oldest are completed: the second while the block
    /// of the first is being erased.
    fn open(&mut self, at: usize) {
        let mut to_complete = if self.free == 0 { 2 } else { 0 };
        while to_complete > 0 {
            let Some(oldest) = self.queue.pop_front() else { break };
            if self.next[oldest] < self.pages {
                self.complete(oldest);
                to_complete -= 1;
            }
        }
        self.free -= 1;
        self.queue.push_back(at);
    }
}

/// How often the blocks of a plane are written, a page of each on average.
const ROUNDS: u32 = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn free_blocks_are_in_use_as_replacements() {
        let mut random = Stream::new(1, "test");
        for (blocks, free) in [(40, 12), (40, 1), (3, 20), (0, 5)] {
            let plane = Replacements::none(blocks, 16).after_random_writes(free, &mut random);
            let replaced = plane.next.iter().filter(|&&next| next < 16).count();
            assert_eq!(replaced, plane.queue.len());
            assert_eq!(replaced as u32 + plane.free, free);
            assert!(plane.free <= 3 || free as usize > blocks, "{} of {free} blocks are free", plane.free);
        }
    }
}
