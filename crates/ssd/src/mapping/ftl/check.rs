//! What holds of the translation layer.

use super::*;
use crate::request::EntryId;

impl Ftl {
    /// Asserts that maps, valid bits and counts agree. For tests: walks the whole drive.
    ///
    /// # Panics
    /// If they disagree; the message names the page, the block or the plane.
    pub fn check(&self, nand: &NandArray, old_of_entry: impl Fn(EntryId) -> Option<PhysicalPage>) {
        let mut mapped = 0u64;
        for logical in LogicalPage::first(to_usize(self.map.len())) {
            let physical = match self.lookup(logical) {
                Location::Unmapped => None,
                Location::Flash(physical) => Some(physical),
                Location::Buffer(entry) => old_of_entry(entry),
            };
            if let Some(physical) = physical {
                assert!(self.is_valid(physical), "logical page {logical} is mapped to an invalid page");
                assert_eq!(nand.logical(physical), logical, "the spare area names another logical page");
                mapped += 1;
            }
        }
        for plane in self.free.ids() {
            let blocks = self.layout.blocks_of(plane);
            let closed = blocks.map(|b| self.blocks[b]).filter(|b| b.state == BlockState::Closed);
            let garbage: u64 = closed.map(|b| u64::from(self.geometry.pages - b.valid)).sum();
            if !self.collects_superblocks() {
                assert_eq!(
                    garbage,
                    self.closed.garbage(plane),
                    "garbage of the closed blocks of plane {plane}"
                );
            }
        }
        for superblock in self.superblock_valid.ids() {
            let blocks = self.layout.blocks_of_superblock(superblock);
            let valid: u32 = blocks.map(|b| self.blocks[b].valid).sum();
            assert_eq!(valid, self.superblock_valid[superblock], "valid pages of superblock {superblock}");
        }
        let ones: u64 = self.valid.iter().map(|w| u64::from(w.count_ones())).sum();
        let counts: u64 = self.blocks.iter().map(|b| u64::from(b.valid)).sum();
        assert_eq!(
            (mapped, mapped),
            (ones, counts),
            "mapped pages, valid bits and counts of valid pages differ"
        );
    }
}
