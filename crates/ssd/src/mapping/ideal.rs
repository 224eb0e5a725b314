//! Collection that takes no time (`gc.ideal`): what any way of collecting can be held against.
//!
//! It chooses victims as ordinary collection would, moves their pages and erases them, so write
//! amplification and wear are as ever; but no chip or bus is held, and a plane is never short of blocks
//! for longer than reads keep its victims from being erased. While they do, it takes other victims.

use crate::flash::{BlockId, PhysicalPage, PlaneId};
use crate::mapping::ftl::BlockState;
use crate::mapping::{Effect, Mapping};
use tailcut_base::Time;

impl Mapping {
    /// True for a drive that collects so.
    pub(crate) fn collects_at_once(&self) -> bool {
        self.config.gc.ideal && self.block_mapped.is_none() && self.superblocks.is_none()
    }

    /// Empties a bad block of a plane, or a victim while it has not `wanted` free blocks, and continues once
    /// that block [is released](Mapping::release_emptied); then levels the wear of the plane.
    #[cold]
    pub(crate) fn collect_at_once(&mut self, now: Time, plane: PlaneId, wanted: u32) {
        if self.collection.has_bad(plane) || self.ftl.free_blocks(plane) < wanted {
            let Some((victim, _)) = self.next_victim(now, plane) else { return };
            if self.empty_at_once(now, plane, victim) {
                self.effects.push_back(Effect::CollectAtOnce { plane, wanted });
            }
        } else if let Some(coldest) = self.block_to_level(plane) {
            self.empty_at_once(now, plane, coldest);
        }
    }

    /// True when a plane that was collected at once has room for a write, now or when reads have ended.
    pub(crate) fn has_room_at_once(&self, plane: PlaneId) -> bool {
        self.config.gc.ideal
            && (self.ftl.free_blocks(plane) > self.reserve || self.collection.pinned_victims(plane) > 0)
    }

    /// Moves the valid pages of a block away and has it erased, when the last read of it has ended.
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
        // Reads that waited for its pages have followed them by then.
        self.effects.push_back(Effect::ReleaseEmptied(victim));
        true
    }

    /// Erases a block that has been emptied at once, now or when the last read of it ends.
    pub(crate) fn release_emptied(&mut self, victim: BlockId) {
        if self.ftl.is_pinned(victim) {
            self.collection.pin_victim(self.layout.plane_of_block(victim));
        } else {
            self.release_at_once(victim);
        }
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
    pub(crate) fn victim_unpinned(&mut self, block: BlockId) {
        let plane = self.layout.plane_of_block(block);
        if self.collection.is_emptied_later(plane, block) {
            return;
        }
        self.collection.unpin_victim(plane);
        self.release_at_once(block);
        self.start_luns();
    }

    fn release_at_once(&mut self, block: BlockId) {
        let plane = self.layout.plane_of_block(block);
        if self.nand.is_bad(block) {
            self.ftl.retire(block);
        } else {
            self.erase_victim(plane, block);
        }
        let (lun, _) = self.layout.lun_of_plane(plane);
        self.effects.push_back(Effect::WakeIfWaiting(lun));
    }
}
