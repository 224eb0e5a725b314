//! Collection that takes no time (`gc.ideal`): what any way of collecting can be held against.
//!
//! It chooses victims as ordinary collection would, moves their pages and erases them, so write
//! amplification and wear are as ever; but no chip or bus is held, and a plane is never short of blocks
//! for longer than reads keep its victims from being erased. While they do, it takes other victims.

use crate::controller::ftl::BlockState;
use crate::flash::{BlockId, PhysicalPage, PlaneId};
use crate::probe::Probe;
use crate::ssd::Ssd;
use tailcut_base::Time;

impl<P: Probe> Ssd<P> {
    /// Empties bad blocks of a plane, then victims until it has `wanted` free blocks, and levels its wear.
    #[cold]
    pub(crate) fn collect_at_once(&mut self, now: Time, plane: PlaneId, wanted: u32) {
        while self.collection.has_bad(plane) || self.ftl.free_blocks(plane) < wanted {
            let Some((victim, _)) = self.next_victim(now, plane) else { return };
            if !self.empty_at_once(now, plane, victim) {
                return;
            }
        }
        if let Some(coldest) = self.block_to_level(plane) {
            self.empty_at_once(now, plane, coldest);
        }
    }

    /// Makes room for a write that has none. False when there is none to be made, now or when reads have
    /// ended.
    #[cold]
    pub(crate) fn recovers_at_once(&mut self, now: Time, plane: PlaneId) -> bool {
        self.collect_at_once(now, plane, self.config.gc_reserve() + 1);
        self.ftl.free_blocks(plane) > self.config.gc_reserve() || self.collection.pinned_victims(plane) > 0
    }

    /// Moves the valid pages of a block away and erases it, or has it erased when the last read of it ends.
    /// False when there is no page to move them to.
    fn empty_at_once(&mut self, now: Time, plane: PlaneId, victim: BlockId) -> bool {
        if self.ftl.state(victim) != BlockState::Victim {
            self.ftl.begin_emptying(victim);
        }
        while let Some(page) = self.ftl.next_valid(victim, 0) {
            if !self.ftl.can_allocate(plane, self.ftl.gc_frontier()) {
                self.collection.empty_later(plane, victim);
                return false;
            }
            self.move_at_once(now, plane, page);
        }
        self.counters.collections += 1;
        if self.ftl.is_pinned(victim) {
            self.collection.pin_victim(plane);
        } else {
            self.release_at_once(victim);
        }
        true
    }

    /// Moves a page, unless the program fails: then another block is tried next.
    fn move_at_once(&mut self, now: Time, plane: PlaneId, from: PhysicalPage) {
        let (logical, content) = (self.nand.logical(from), self.nand.read(from));
        let to = self.ftl.allocate(plane, self.ftl.gc_frontier());
        if !self.nand.program(to, logical, content) {
            self.counters.program_failures += 1;
            return self.lose_block(now, self.layout.block_of(to));
        }
        self.counters.programmed_gc += 1;
        self.move_page(now, logical, from, to);
        self.settle_block(now, to);
    }

    /// The last read of a victim has ended: it is erased, or retired if it is bad.
    #[cold]
    pub(crate) fn victim_unpinned(&mut self, now: Time, block: BlockId) {
        let plane = self.layout.plane_of_block(block);
        if self.collection.is_emptied_later(plane, block) {
            return;
        }
        self.collection.unpin_victim(plane);
        self.release_at_once(block);
        self.wake(now);
    }

    fn release_at_once(&mut self, block: BlockId) {
        let plane = self.layout.plane_of_block(block);
        if self.nand.is_bad(block) {
            self.ftl.retire(block);
        } else {
            self.erase_victim(plane, block);
        }
        let (lun, _) = self.layout.lun_of_plane(plane);
        if self.luns[lun].has_work() {
            self.woken.push(lun);
        }
    }
}
