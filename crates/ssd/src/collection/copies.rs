//! Valid pages of a victim: read, programmed elsewhere, and found there from then on.

use super::job::Job;
use crate::controller::commit::Chips;
use crate::controller::ftl::{BlockState, Mapping};
use crate::flash::{LogicalPage, PhysicalPage, PlaneId};
use crate::probe::Probe;
use crate::request::{Lane, MemoryRequest, RequestId, Role};
use crate::ssd::Ssd;
use tailcut_base::Time;

impl<P: Probe> Ssd<P> {
    /// Begins to move the next valid page of the victim, if there is one.
    pub(crate) fn next_copy(&mut self, now: Time, plane: PlaneId) {
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
        let mut request = self.internal(now, Lane::GC_READ, Role::Copy(plane), lun, place);
        request.physical = physical;
        request.source = physical;
        request.logical = self.nand.logical(physical);
        request.frontier = self.ftl.gc_frontier();
        let id = self.requests.add(request);
        self.requests.snapshot(id, self.luns[lun].account(now));
        self.commit_own(id);
    }

    /// A page of a victim has been read: it is programmed elsewhere, unless it died meanwhile.
    pub(crate) fn copy_read_done(&mut self, now: Time, id: RequestId) {
        let source = self.requests[id].source;
        let content = self.nand.read(source);
        if !self.ftl.is_valid(source) {
            return self.copy_dropped(now, id);
        }
        let r = &mut self.requests[id];
        r.lane = Lane::GC_WRITE;
        r.physical = PhysicalPage::NONE;
        r.content = content;
        r.since = now;
        let lun = r.lun;
        self.requests.snapshot(id, self.luns[lun].account(now));
        self.commit_own(id);
    }

    /// The host has just read a page: if a collection was about to read it too, it has been spared that
    /// (PAReset, section 2.1).
    #[cold]
    pub(crate) fn spare_copy_read(&mut self, now: Time, physical: PhysicalPage) {
        if self.ftl.state(self.layout.block_of(physical)) != BlockState::Victim {
            return;
        }
        let (lun, place) = self.lun_of(physical);
        let is_same = |request: &MemoryRequest| request.source == physical;
        let copy = self.luns.take_where(&mut self.requests, lun, Lane::GC_READ, place, is_same);
        if let Some(id) = copy {
            self.counters.merged_reads += 1;
            self.copy_read_done(now, id);
        }
    }

    /// A page of a victim has died while it was moved.
    pub(crate) fn copy_dropped(&mut self, now: Time, id: RequestId) {
        let plane = self.requests[id].plane();
        self.requests.remove(id);
        self.copy_ended(now, plane);
    }

    /// A page of a victim has been programmed elsewhere.
    pub(crate) fn copy_program_done(&mut self, now: Time, id: RequestId) {
        let request = self.requests[id];
        if !self.nand.program(request.physical, request.logical, request.content) {
            return self.copy_failed(now, id);
        }
        self.counters.programmed_gc += 1;
        if self.ftl.is_valid(request.source) {
            self.move_page(now, request.logical, request.source, request.physical);
        }
        self.settle_block(now, request.physical);
        self.requests.remove(id);
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
            Mapping::Buffer(entry) => self.buffer[entry].old = to,
            mapping => {
                assert_eq!(mapping, Mapping::Flash(from), "a valid page is mapped");
                self.ftl.set(logical, Mapping::Flash(to));
            }
        }
        if self.config.schedule.readdressing {
            self.readdress(from, to);
        }
    }

    /// The readdressing callback (Sprinkler, section 4.3): reads that wait in the scheduler's layout
    /// for a page that has moved, by garbage collection, wear levelling or out of a bad block, go to
    /// its new place. So the layout shows what can share a transaction now, and the erase of the old
    /// block does not wait for them. Reads that are committed already keep their address.
    fn readdress(&mut self, from: PhysicalPage, to: PhysicalPage) {
        // Every read that waits has pinned its block; most blocks that move have none.
        while self.ftl.is_pinned(self.layout.block_of(from)) {
            let chips = Chips { requests: &self.requests, luns: &self.luns, layout: &self.layout };
            let Some(id) = self.scheduler.reader_of(chips, from) else { return };
            assert_eq!(self.lun_of(from), self.lun_of(to), "pages move within their plane");
            self.scheduler.leave(chips, id);
            self.requests[id].physical = to;
            // The copy that moves the page checks the old block's pins when it ends.
            self.ftl.unpin(from);
            self.ftl.pin(to);
            let chips = Chips { requests: &self.requests, luns: &self.luns, layout: &self.layout };
            self.scheduler.enter(chips, id);
            self.counters.readdressed += 1;
        }
    }

    fn copy_failed(&mut self, now: Time, id: RequestId) {
        self.counters.program_failures += 1;
        let physical = self.requests[id].physical;
        self.lose_block(now, self.layout.block_of(physical));
        let r = &mut self.requests[id];
        r.physical = PhysicalPage::NONE;
        let lun = r.lun;
        self.requests.snapshot(id, self.luns[lun].account(now));
        self.commit_own(id);
    }

    fn copy_ended(&mut self, now: Time, plane: PlaneId) {
        self.job(plane).moving -= 1;
        self.next_copy(now, plane);
        self.finish_if_empty(now, plane);
        self.wake(now);
    }
}
