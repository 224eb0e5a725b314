//! Superblocks in the translation layer: their valid pages, and which are free, closed or being emptied.

use super::*;
use tailcut_base::fdp::GroupId;

impl Ftl {
    /// Where a closed superblock stands among the closed blocks of planes.
    #[inline]
    fn as_block(&self, superblock: SuperblockId) -> (PlaneId, BlockId) {
        let group = self.layout.group_of_superblock(superblock);
        (PlaneId::new(group.get()), BlockId::new(superblock.get()))
    }

    /// A page of a block of a superblock is valid no more.
    pub(super) fn superblock_lost_page(&mut self, block: BlockId, now: Time) {
        let superblock = self.layout.superblock_of(block);
        self.superblock_valid[superblock] -= 1;
        if self.blocks[block].state == BlockState::Closed {
            let valid = self.superblock_valid[superblock];
            let (plane, block) = self.as_block(superblock);
            self.closed.changed(plane, block, valid, now);
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
        for block in self.layout.blocks_of_superblock(superblock) {
            assert_eq!(self.blocks[block].state, BlockState::Open);
            self.blocks[block].state = BlockState::Closed;
        }
        let valid = self.superblock_valid[superblock];
        let (plane, block) = self.as_block(superblock);
        self.closed.insert(plane, block, valid, now);
    }

    /// Chooses a superblock of a group to be collected by the configured policy; `None` when nothing would be
    /// gained.
    pub fn choose_superblock(
        &mut self,
        group: GroupId,
        now: Time,
        random: &mut Stream,
    ) -> Option<SuperblockId> {
        let (valid, plane) = (&self.superblock_valid, PlaneId::new(group.get()));
        let chosen = self.closed.choose(plane, now, random, |b| valid[SuperblockId::new(b.get())])?;
        Some(SuperblockId::new(chosen.get()))
    }

    /// Valid pages of a group. Looks at all of its superblocks.
    pub fn group_valid(&self, group: GroupId) -> u64 {
        self.layout.superblocks_of(group).map(|superblock| u64::from(self.superblock_valid[superblock])).sum()
    }

    /// Takes a closed superblock out of use to be emptied.
    ///
    /// # Panics
    /// If one of its blocks is not closed.
    pub fn begin_emptying_superblock(&mut self, superblock: SuperblockId) {
        let valid = self.superblock_valid[superblock];
        let (plane, block) = self.as_block(superblock);
        self.closed.remove(plane, block, valid);
        for block in self.layout.blocks_of_superblock(superblock) {
            assert_eq!(self.blocks[block].state, BlockState::Closed);
            self.blocks[block].state = BlockState::Victim;
        }
    }

    /// Takes the next free superblock of a group, to be written.
    pub fn take_free_superblock(&mut self, group: GroupId) -> Option<SuperblockId> {
        // All planes of a group free their blocks in the same order, so they agree which is next.
        let mut superblock = None;
        for plane in self.layout.planes_of_group(group) {
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
        for block in self.layout.blocks_of_superblock(superblock) {
            self.free(block);
        }
    }
}
