//! Which logical pages make up a logical block under block-level mapping.

use crate::flash::{Geometry, LogicalPage};
use std::ops::Range;
use tailcut_base::cast::to_u32;
use tailcut_base::divisor::Divisor;
use tailcut_base::id;
use tailcut_base::ids::Id;

id! {
    /// A logical block, under block-level mapping.
    pub struct LogicalBlockId;
}

/// Stripes of logical blocks: consecutive logical pages go to the blocks of a stripe in turn, so that
/// what is written in order keeps as many planes at work. With one block to a stripe the pages of a
/// logical block are consecutive themselves.
///
/// The blocks of a stripe lie in planes that follow each other in `ftl.order`. Each is mapped on its
/// own: the map of the drive has an entry for each block, whatever the width, and a block that goes
/// bad concerns its plane alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stripes {
    width: Divisor,
    /// Pages of a block.
    pages: u32,
    /// Pages of a stripe.
    stripe: u64,
}

impl Stripes {
    /// Stripes of `width` blocks, which must not be zero.
    pub fn new(width: u32, geometry: &Geometry) -> Stripes {
        let pages = geometry.pages;
        Stripes { width: Divisor::new(width), pages, stripe: u64::from(width) * u64::from(pages) }
    }

    /// Number of blocks of a stripe; at least 1.
    #[inline]
    pub fn width(&self) -> u32 {
        self.width.get()
    }

    /// The logical block of a logical page.
    #[inline]
    pub fn block_of(&self, logical: LogicalPage) -> LogicalBlockId {
        let (stripe, within) = self.place_of(logical);
        LogicalBlockId::new(stripe * self.width.get() + self.width.remainder(within))
    }

    /// The stripe of a logical block.
    #[inline]
    pub fn stripe_of(&self, logical_block: LogicalBlockId) -> u32 {
        self.width.quotient(logical_block.get())
    }

    /// The logical blocks of a stripe.
    pub fn blocks_in(&self, stripe: u32) -> impl Iterator<Item = LogicalBlockId> + use<> {
        let first = stripe * self.width.get();
        LogicalBlockId::new(first).up_to(LogicalBlockId::new(first + self.width.get()))
    }

    /// The place of a logical page in its logical block.
    #[inline]
    pub fn offset_of(&self, logical: LogicalPage) -> u32 {
        self.width.quotient(self.place_of(logical).1)
    }

    /// The stripe of a logical page, and its place among the pages of the stripe.
    #[inline]
    fn place_of(&self, logical: LogicalPage) -> (u32, u32) {
        (to_u32(logical.get() / self.stripe), to_u32(logical.get() % self.stripe))
    }

    /// The logical page at a place of a logical block.
    #[inline]
    pub fn page_at(&self, logical_block: LogicalBlockId, offset: u32) -> LogicalPage {
        debug_assert!(offset < self.pages);
        let (stripe, turn) = (self.stripe_of(logical_block), self.width.remainder(logical_block.get()));
        LogicalPage::new(u64::from(stripe) * self.stripe + u64::from(offset * self.width.get() + turn))
    }

    /// The stripes of which some pages are a part.
    #[inline]
    pub fn stripes_of(&self, pages: Range<LogicalPage>) -> Range<u32> {
        let (first, end) = (pages.start.get(), pages.end.get());
        to_u32(first / self.stripe)..to_u32(end.div_ceil(self.stripe))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Preset;

    fn stripes_of(width: u32, pages: u32) -> Stripes {
        Stripes::new(width, &Geometry { pages, ..Preset::M.config().geometry })
    }

    #[test]
    fn every_page_has_a_place_of_its_own() {
        for (width, pages) in [(1, 1), (1, 7), (2, 1), (2, 4), (3, 5), (8, 3)] {
            let stripes = stripes_of(width, pages);
            let mut places = Vec::new();
            for logical in (0..5 * u64::from(width * pages)).map(LogicalPage::new) {
                let (block, offset) = (stripes.block_of(logical), stripes.offset_of(logical));
                assert!(offset < pages);
                assert_eq!(stripes.page_at(block, offset), logical);
                let stripe = stripes.stripe_of(block);
                assert_eq!(
                    stripes.stripes_of(logical..LogicalPage::new(logical.get() + 1)),
                    stripe..stripe + 1
                );
                assert!(stripes.blocks_in(stripe).any(|other| other == block));
                places.push((block, offset));
            }
            places.sort_unstable();
            let all = LogicalBlockId::first(5 * width as usize)
                .flat_map(|block| (0..pages).map(move |offset| (block, offset)));
            assert!(places.into_iter().eq(all), "{width} blocks of {pages} pages");
        }
    }

    #[test]
    fn consecutive_pages_go_to_the_blocks_of_a_stripe_in_turn() {
        let stripes = stripes_of(2, 4);
        let blocks: Vec<u32> =
            (6..11).map(LogicalPage::new).map(|logical| stripes.block_of(logical).get()).collect();
        assert_eq!(blocks, [0, 1, 2, 3, 2]);
        assert_eq!(stripes.stripes_of(LogicalPage::new(6)..LogicalPage::new(9)), 0..2);
        assert_eq!(stripes.stripes_of(LogicalPage::new(8)..LogicalPage::new(8)), 1..1);
        let whole = stripes_of(1, 4);
        assert_eq!(
            [
                whole.block_of(LogicalPage::new(3)).get(),
                whole.block_of(LogicalPage::new(4)).get(),
                whole.offset_of(LogicalPage::new(6))
            ],
            [0, 1, 2]
        );
    }
}
