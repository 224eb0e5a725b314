//! Superblocks in the translation layer: their valid pages, and which are free, closed or being emptied.

use super::*;

impl Ftl {
    /// A page of a block of a superblock is valid no more.
    pub(super) fn superblock_lost_page(&mut self, block: BlockId, now: Time) {
        let superblock = self.layout.superblock_of(block);
        self.superblock_valid[superblock] -= 1;
        if self.blocks[block].state == BlockState::Closed {
            let valid = self.superblock_valid[superblock];
            self.closed.changed(PLANE_OF_SUPERBLOCKS, BlockId::new(superblock.get()), valid, now);
        }
    }

    /// Valid pages of a superblock.
    #[inline]
    pub fn superblock_valid(&self, superblock: SuperblockId) -> u32 {
        self.superblock_valid[superblock]
    }

    /// Closes a superblock whose last page has been programmed.
    ///
    /// # Panics
    /// If one of its blocks is not open.
    pub fn close_superblock(&mut self, superblock: SuperblockId, now: Time) {
        for block in self.layout.blocks_of_superblock(superblock, &self.geometry) {
            assert_eq!(self.blocks[block].state, BlockState::Open);
            self.blocks[block].state = BlockState::Closed;
        }
        let valid = self.superblock_valid[superblock];
        self.closed.insert(PLANE_OF_SUPERBLOCKS, BlockId::new(superblock.get()), valid, now);
    }

    /// Chooses a superblock to be collected by the configured policy; `None` when nothing would be gained.
    pub fn choose_superblock(&mut self, now: Time, random: &mut Stream) -> Option<SuperblockId> {
        let valid = &self.superblock_valid;
        let chosen = self
            .closed
            .choose(PLANE_OF_SUPERBLOCKS, now, random, |block| valid[SuperblockId::new(block.get())])?;
        Some(SuperblockId::new(chosen.get()))
    }

    /// Takes a closed superblock out of use to be emptied.
    ///
    /// # Panics
    /// If one of its blocks is not closed.
    pub fn begin_emptying_superblock(&mut self, superblock: SuperblockId) {
        let valid = self.superblock_valid[superblock];
        self.closed.remove(PLANE_OF_SUPERBLOCKS, BlockId::new(superblock.get()), valid);
        for block in self.layout.blocks_of_superblock(superblock, &self.geometry) {
            assert_eq!(self.blocks[block].state, BlockState::Closed);
            self.blocks[block].state = BlockState::Victim;
        }
    }

    /// Takes the next free superblock, to be written.
    pub fn take_free_superblock(&mut self) -> Option<SuperblockId> {
        // All planes free their blocks in the same order, so they agree which is next.
        let mut superblock = None;
        for plane in self.geometry.plane_ids() {
            for _ in 0..self.layout.blocks_each() {
                let block = self.take_free(plane)?;
                let taken = self.layout.superblock_of(block);
                debug_assert!(superblock.is_none_or(|other| other == taken));
                superblock = Some(taken);
            }
        }
        superblock
    }

    /// Puts an erased superblock into the free lists.
    pub fn free_superblock(&mut self, superblock: SuperblockId) {
        for block in self.layout.blocks_of_superblock(superblock, &self.geometry) {
            self.free(block);
        }
    }
}
