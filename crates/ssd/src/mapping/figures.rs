//! What the mapping can report about the blocks and pages of the drive.

use crate::flash::{LogicalPage, PhysicalPage, PlaneId};
use crate::mapping::Mapping;
use crate::mapping::ftl::{BlockState, Location};
use tailcut_base::Command;

impl Mapping {
    /// The spread of wear: fewest, mean and most erases of a block that is in service.
    pub(crate) fn wear(&self) -> (u32, f64, u32) {
        let good = self.geometry.block_ids().filter(|&b| !self.nand.is_bad(b));
        let (mut least, mut sum, mut most, mut count) = (u32::MAX, 0u64, 0, 0u64);
        for erases in good.map(|b| self.nand.erases(b)) {
            (least, most) = (least.min(erases), most.max(erases));
            sum += u64::from(erases);
            count += 1;
        }
        if count == 0 { (0, 0.0, 0) } else { (least, sum as f64 / count as f64, most) }
    }

    /// The valid pages of each block that is full, in the order of block numbers; walks all blocks.
    pub(crate) fn valid_pages_of_closed_blocks(&self) -> Vec<u32> {
        let blocks = self.geometry.block_ids();
        let closed = blocks.filter(|&block| self.ftl.state(block) == BlockState::Closed);
        closed.map(|block| self.ftl.valid_pages(block)).collect()
    }

    /// The valid pages of each block that is programmed to its end, in the order of block numbers; walks all
    /// blocks.
    pub(crate) fn valid_pages_of_full_blocks(&self) -> Vec<u32> {
        let blocks = self.geometry.block_ids();
        let full = blocks.filter(|&block| self.nand.next_page(block) == self.geometry.pages);
        full.map(|block| self.ftl.valid_pages(block)).collect()
    }

    /// The plane in which a logical page lies; `None` while it is in the buffer, or not written.
    pub(crate) fn plane_of_page(&self, logical: LogicalPage) -> Option<PlaneId> {
        match self.ftl.lookup(logical) {
            Location::Flash(physical) => Some(self.layout.plane_of_block(self.layout.block_of(physical))),
            _ => None,
        }
    }

    /// Pages that can still be programmed in each block of a plane that is programmed in part, in the order
    /// of block numbers.
    pub(crate) fn pages_left_in_open_blocks(&self, plane: PlaneId) -> Vec<u32> {
        let blocks = self.layout.blocks_of(plane);
        let left = blocks.map(|block| self.geometry.pages - self.nand.next_page(block));
        left.filter(|left| (1..self.geometry.pages).contains(left)).collect()
    }

    /// The plane with the fewest free blocks, and how many those are.
    pub(crate) fn fullest_plane(&self) -> (PlaneId, u32) {
        let free = |plane: PlaneId| self.ftl.free_blocks(plane);
        let fullest = self.geometry.plane_ids().min_by_key(|&plane| free(plane));
        let fullest = fullest.unwrap_or(PlaneId::new(0));
        (fullest, free(fullest))
    }

    /// Touches what the mapping will look up for these commands, so that it is in the processor's cache by
    /// then. The result means nothing.
    #[inline(always)]
    pub(crate) fn touch(&self, commands: &[Command]) -> u64 {
        // Independent loads overlap in the processor, as far as its window reaches: so one short
        // loop for each table rather than one long loop for all.
        let last = self.ftl.logical_pages().saturating_sub(1);
        let shift = self.geometry.page_sectors().trailing_zeros();
        let logical = |c: &Command| LogicalPage::new((c.sector >> shift).min(last));
        let mut sum = commands.iter().fold(0, |sum, c| sum ^ self.ftl.touch(logical(c)));
        let on_flash = |c: &Command| match self.ftl.lookup(logical(c)) {
            Location::Flash(physical) => physical,
            _ => PhysicalPage::new(0),
        };
        sum = commands.iter().fold(sum, |sum, c| sum ^ self.nand.touch(on_flash(c)));
        sum = commands.iter().fold(sum, |sum, c| sum ^ self.ftl.touch_block(on_flash(c)));
        u64::from(sum)
    }
}
