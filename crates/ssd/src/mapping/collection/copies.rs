//! Valid pages of a victim: read, programmed elsewhere, and found there from then on.

use super::job::Job;
use crate::flash::{LogicalPage, PhysicalPage, PlaneId};
use crate::mapping::ftl::{BlockState, Location};
use crate::mapping::{Effect, Mapping};
use crate::request::{Lane, MemoryRequest, Role};
use tailcut_base::Time;

impl Mapping {
    /// Begins to move the next valid page of the victim, if there is one.
    pub(super) fn next_copy(&mut self, now: Time, plane: PlaneId) {
        if self.must_wait(now, plane) {
            self.job(plane).paused = true;
            return;
        }
        let Job { victim, next, .. } = *self.job(plane);
        let Some(physical) = self.ftl.next_valid(victim, next) else {
            self.job(plane).next = self.geometry.pages;
            return;
        };
        let offset = self.layout.offset_of(physical);
        let job = self.job(plane);
        job.next = offset + 1;
        job.moving += 1;
        let (lun, place) = self.layout.lun_of_plane(plane);
        let mut request = MemoryRequest::internal(now, Lane::GC_READ, Role::Copy(plane), lun, place);
        request.physical = physical;
        request.source = physical;
        request.logical = self.nand.logical(physical);
        request.frontier = self.ftl.gc_frontier();
        self.issue(request);
    }

    /// A page of a victim has been read: it is programmed elsewhere, unless it died meanwhile.
    pub(crate) fn copy_read(&mut self, now: Time, mut request: MemoryRequest) {
        let content = self.nand.read(request.source);
        if !self.ftl.is_valid(request.source) {
            return self.copy_ended(now, request.plane());
        }
        request.lane = Lane::GC_WRITE;
        request.physical = PhysicalPage::NONE;
        request.content = content;
        request.since = now;
        self.issue(request);
    }

    /// True for a page of a block that is being emptied.
    pub(crate) fn is_of_victim(&self, physical: PhysicalPage) -> bool {
        self.ftl.state(self.layout.block_of(physical)) == BlockState::Victim
    }

    /// A page of a victim has been programmed elsewhere.
    pub(crate) fn copy_programmed(&mut self, now: Time, request: MemoryRequest) {
        if !self.nand.program(request.physical, request.logical, request.content) {
            return self.copy_failed(now, request);
        }
        self.counters.programmed_gc += 1;
        if self.ftl.is_valid(request.source) {
            self.move_page(now, request.logical, request.source, request.physical);
        }
        self.settle_block(now, request.physical);
        self.copy_ended(now, request.plane());
    }

    /// The newest version on flash of a logical page is now in another place.
    pub(crate) fn move_page(
        &mut self,
        now: Time,
        logical: LogicalPage,
        from: PhysicalPage,
        to: PhysicalPage,
    ) {
        self.ftl.invalidate(from, now);
        self.ftl.validate(to);
        match self.ftl.lookup(logical) {
            Location::Buffer(entry) => self.effects.push_back(Effect::OldVersionMoved(entry, to)),
            location => {
                assert_eq!(location, Location::Flash(from), "a valid page is mapped");
                self.ftl.set(logical, Location::Flash(to));
            }
        }
        // Every read that waits has pinned its block; most blocks that move have none.
        if self.config.schedule.readdressing && self.ftl.is_pinned(self.layout.block_of(from)) {
            self.effects.push_back(Effect::PageMoved { from, to });
        }
    }

    fn copy_failed(&mut self, now: Time, mut request: MemoryRequest) {
        self.counters.program_failures += 1;
        self.lose_block(now, self.layout.block_of(request.physical));
        request.physical = PhysicalPage::NONE;
        self.issue(request);
    }

    /// A page of a victim of a plane is elsewhere, or has died while it was moved.
    pub(crate) fn copy_ended(&mut self, now: Time, plane: PlaneId) {
        self.job(plane).moving -= 1;
        self.next_copy(now, plane);
        self.finish_if_empty(now, plane);
        self.start_luns();
    }

    /// Closes the block of a page that has just been programmed, if it was the last.
    #[inline]
    pub(crate) fn settle_block(&mut self, now: Time, physical: PhysicalPage) {
        if self.layout.offset_of(physical) + 1 == self.geometry.pages && self.block_mapped.is_none() {
            self.ftl.close(self.layout.block_of(physical), now);
        }
    }
}
