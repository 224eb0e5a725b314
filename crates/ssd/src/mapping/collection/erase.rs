//! The end of a victim: it is erased when it has no valid page and no pending read.

use super::job::{CollectionPurpose, Job};
use crate::flash::{BlockId, PlaneId};
use crate::mapping::{Effect, Mapping};
use crate::request::{Lane, MemoryRequest, Role};
use tailcut_base::Time;

impl Mapping {
    /// Erases the victim when its last page has been moved and no read of it is pending.
    pub(crate) fn finish_if_empty(&mut self, now: Time, plane: PlaneId) {
        let Job { victim, purpose, next, moving, erasing, .. } = *self.job(plane);
        if moving > 0 || erasing || next < self.geometry.pages && self.ftl.next_valid(victim, next).is_some()
        {
            return;
        }
        if self.ftl.is_pinned(victim) {
            return;
        }
        assert_eq!(self.ftl.valid_pages(victim), 0, "a victim is empty before it is erased");
        if purpose == CollectionPurpose::Evacuate {
            self.ftl.retire(victim);
            return self.job_ended(now, plane);
        }
        if self.must_wait(now, plane) {
            self.job(plane).paused = true;
            return;
        }
        if self.defers_erase(now, plane) {
            self.job(plane).deferred = true;
            return self.wake(self.layout.lun_of_plane(plane).0);
        }
        self.commit_erase(now, plane, victim);
    }

    /// True when the erase of a plane's victim waits for its chip to be quiet.
    pub(crate) fn is_erase_deferred(&self, plane: PlaneId) -> bool {
        self.collection.jobs[plane].is_some_and(|job| job.deferred)
    }

    /// The chip is quiet, or its blocks are needed: the erase of a plane's victim waits no longer.
    pub(crate) fn commit_deferred_erase(&mut self, now: Time, plane: PlaneId) {
        let victim = self.job(plane).victim;
        self.commit_erase(now, plane, victim);
    }

    fn commit_erase(&mut self, now: Time, plane: PlaneId, victim: BlockId) {
        let job = self.job(plane);
        (job.erasing, job.deferred) = (true, false);
        let (lun, place) = self.layout.lun_of_plane(plane);
        let mut request = MemoryRequest::internal(now, Lane::ERASE, Role::Erase(plane), lun, place);
        request.physical = self.layout.page_at(victim, 0);
        self.issue(request);
    }

    /// The last read of a block that is being emptied has ended.
    pub(crate) fn resume_erase(&mut self, now: Time, block: BlockId) {
        if self.block_mapped.is_some() {
            return self.erase_block(now, block);
        }
        if self.superblocks.is_some() {
            return self.superblock_unpinned(now, block);
        }
        if self.config.gc.ideal {
            return self.victim_unpinned(block);
        }
        let plane = self.layout.plane_of_block(block);
        if self.collection.jobs[plane].is_some_and(|job| job.victim == block) {
            self.finish_if_empty(now, plane);
            self.start_luns();
        }
    }

    /// A block has been erased: it is free, or bad if the erase failed.
    pub(crate) fn victim_erased(&mut self, now: Time, plane: PlaneId) {
        let victim = self.job(plane).victim;
        self.erase_victim(plane, victim);
        self.job_ended(now, plane);
    }

    /// Erases an emptied block of a plane.
    pub(crate) fn erase_victim(&mut self, plane: PlaneId, victim: BlockId) {
        self.count_erase(victim);
        self.collection.erases_since_check[plane] += 1;
    }

    /// Erases an empty block: it is free, or retired if the erase fails.
    pub(crate) fn count_erase(&mut self, block: BlockId) {
        self.counters.erases += 1;
        self.effects.push_back(Effect::EraseCompleted);
        if self.nand.erase(block) {
            self.ftl.free(block);
        } else {
            self.counters.erase_failures += 1;
            self.counters.bad_blocks += 1;
            self.ftl.retire(block);
        }
    }
}
