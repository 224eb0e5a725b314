//! Blocks in the translation layer: from the free list to a frontier, closed, emptied, and free again.

use super::*;
use tailcut_base::cast::to_u32;

impl Ftl {
    /// Free blocks of a plane.
    #[inline]
    pub fn free_blocks(&self, plane: PlaneId) -> u32 {
        to_u32(self.free[plane].len())
    }

    /// The use of a block.
    #[inline]
    pub fn state(&self, block: BlockId) -> BlockState {
        self.blocks[block].state
    }

    /// Takes a free block of a plane out of the free list, to be written.
    pub(crate) fn take_free(&mut self, plane: PlaneId) -> Option<BlockId> {
        let block = self.free[plane].pop_front()?;
        self.blocks[block].state = BlockState::Open;
        Some(block)
    }

    /// Closes the frontiers on a block whose program has failed: no more of its pages are allocated. Returns
    /// true if there was such a frontier.
    pub fn abandon(&mut self, block: BlockId) -> bool {
        let plane = self.layout.plane_of_block(block);
        let mut found = false;
        // A frontier still names the last block that it filled, which another may have opened
        // since: both let go of it.
        let first = plane.index() * self.frontiers_each;
        for frontier in &mut self.frontiers[first..first + self.frontiers_each] {
            if frontier.block == block {
                *frontier = Frontier { block: BlockId::NONE, next: self.geometry.pages };
                found = true;
            }
        }
        found
    }

    /// Closes a block whose last page has been programmed.
    ///
    /// # Panics
    /// If the block is not open.
    #[inline]
    pub fn close(&mut self, block: BlockId, now: Time) {
        assert_eq!(self.blocks[block].state, BlockState::Open);
        self.blocks[block].state = BlockState::Closed;
        self.closed.insert(self.layout.plane_of_block(block), block, self.blocks[block].valid, now);
    }

    /// Chooses a victim in a plane by the configured policy; `None` when nothing would be gained.
    pub fn choose_victim(&mut self, plane: PlaneId, now: Time, random: &mut Stream) -> Option<BlockId> {
        let blocks = &self.blocks;
        self.closed.choose(plane, now, random, |block| blocks[block].valid)
    }

    /// Takes a block out of use to be emptied: a victim, or a block that went bad.
    ///
    /// # Panics
    /// If the block is neither open nor closed.
    pub fn begin_emptying(&mut self, block: BlockId) {
        let valid = self.blocks[block].valid;
        let state = &mut self.blocks[block].state;
        match *state {
            BlockState::Closed => self.closed.remove(self.layout.plane_of_block(block), block, valid),
            BlockState::Open => {}
            other => panic!("a block that is {other:?} cannot be emptied"),
        }
        *state = BlockState::Victim;
    }

    /// Puts an erased block into the free list.
    ///
    /// # Panics
    /// If the block is not being emptied, still holds valid pages, or is pinned by reads.
    pub fn free(&mut self, block: BlockId) {
        let state = &mut self.blocks[block];
        assert!(
            state.state == BlockState::Victim && state.valid == 0 && state.pins == 0,
            "freed a block in use"
        );
        state.state = BlockState::Free;
        self.free[self.layout.plane_of_block(block)].push_back(block);
    }

    /// Takes an emptied bad block out of service for good.
    ///
    /// # Panics
    /// If the block still holds valid pages.
    pub fn retire(&mut self, block: BlockId) {
        let state = &mut self.blocks[block];
        assert!(state.valid == 0, "retired a block that holds data");
        state.state = BlockState::Retired;
    }

    /// The closed block of a plane with the fewest erases. Looks at every block of the plane:
    /// called once per `blocks` erases of a plane at most.
    pub fn least_worn(&self, plane: PlaneId, nand: &NandArray) -> Option<BlockId> {
        let all = self.layout.blocks_of(plane);
        all.filter(|&b| self.blocks[b].state == BlockState::Closed).min_by_key(|&b| nand.erases(b))
    }
}
