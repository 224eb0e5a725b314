//! The way of a page from the DRAM buffer to flash.

use crate::controller::buffer::EntryState;
use crate::controller::ftl::Mapping;
use crate::flash::{LogicalPage, LunId, PhysicalPage};
use crate::probe::Probe;
use crate::reads::chip_spans;
use crate::request::Tag;
use crate::request::{EntryId, Lane, MemoryRequest, RequestId, Role};
use crate::sets::SetId;
use crate::ssd::Ssd;
use tailcut_base::{Cause, Nanos, Status, Time};

impl<P: Probe> Ssd<P> {
    /// Sends dirty pages of a set to flash, as far as the threshold wants it.
    #[inline]
    pub(crate) fn write_back(&mut self, now: Time, set: SetId) {
        if self.superblocks.is_some() {
            return self.stage_dirty(now);
        }
        while let Some(entry) = self.buffer.to_flush(set)
            && self.takes_writes(set)
            && !self.holds_programs(now, set)
        {
            self.issue(now, entry);
        }
        self.wake(now);
    }

    /// Sends a dirty entry on its way to flash.
    pub(crate) fn issue(&mut self, now: Time, entry: EntryId) {
        self.buffer.leave_line(entry);
        if self.buffer[entry].whole {
            self.issue_program(now, entry, 0);
        } else {
            self.read_rest(now, entry, RequestId::NONE);
        }
    }

    /// Sends a dirty entry to flash; `resets` counts how often its program has been reset.
    pub(crate) fn issue_program(&mut self, now: Time, entry: EntryId, resets: u8) {
        if self.superblocks.is_some() {
            return self.stage(now, entry);
        }
        let mut request = self.program_request(now, entry);
        request.resets = resets;
        let lun = request.lun;
        let id = self.requests.add(request);
        self.requests.snapshot(id, self.luns[lun].account(now));
        self.commit_program(now, id);
    }

    pub(crate) fn program_request(&mut self, now: Time, entry: EntryId) -> MemoryRequest {
        let logical = self.buffer[entry].logical;
        let frontier = self.ftl.stream_frontier(self.buffer[entry].stream);
        let plane = if self.block_mapped.is_some() {
            self.plane_of_stripe(logical)
        } else if self.places_by_silence() {
            self.plane_with_silence(now, logical, frontier)
        } else {
            self.ftl.plane_for(logical, frontier)
        };
        let (lun, place) = self.layout.lun_of_plane(plane);
        let mut request = self.internal(now, Lane::USER_WRITE, Role::Program(entry), lun, place);
        request.logical = logical;
        request.frontier = frontier;
        request
    }

    /// A request of the controller itself, with the fields that most of them leave alone.
    pub(crate) fn internal(
        &self,
        now: Time,
        lane: Lane,
        role: Role,
        lun: LunId,
        place: u32,
    ) -> MemoryRequest {
        MemoryRequest {
            since: now,
            order: 0,
            next: RequestId::NONE,
            tag: Tag::NONE,
            page: 0,
            logical: LogicalPage::new(0),
            physical: PhysicalPage::NONE,
            source: PhysicalPage::NONE,
            content: 0,
            lun,
            link: 0,
            place: place as u8,
            frontier: 0,
            resets: 0,
            lane,
            role,
        }
    }

    /// Reads the rest of a page that is written in part; `program` is the write that waits for
    /// it, or [`RequestId::NONE`] when one is still to be made.
    pub(crate) fn read_rest(&mut self, now: Time, entry: EntryId, program: RequestId) {
        let physical = self.buffer[entry].old;
        assert!(physical != PhysicalPage::NONE, "a page without an old version is whole");
        let set = self.buffer.set_of(entry);
        self.steering.merge_begins(set);
        self.ftl.pin(physical);
        let (lun, place) = self.lun_of(physical);
        let mut request = self.internal(now, Lane::READ, Role::Merge(entry), lun, place);
        request.logical = self.buffer[entry].logical;
        request.physical = physical;
        request.set_waiting_program(program);
        let id = self.requests.add(request);
        self.requests.snapshot(id, self.luns[lun].account(now));
        self.commit_own(id);
    }

    /// The rest of a page that is written in part is in the buffer.
    pub(crate) fn merge_read_done(&mut self, now: Time, id: RequestId) {
        let request = self.requests[id];
        let (entry, physical) = (request.entry(), request.physical);
        let program = request.waiting_program();
        let set = self.buffer.set_of(entry);
        self.steering.merge_ends(set);
        self.nand.read(physical);
        self.requests.remove(id);
        if self.ftl.unpin(physical) {
            self.resume_erase(now, self.layout.block_of(physical));
        }
        self.buffer[entry].whole = true;
        if program != RequestId::NONE {
            self.commit_program(now, program);
        } else if self.buffer[entry].trimmed {
            self.forget(now, entry);
        } else {
            self.issue_program(now, entry, 0);
        }
        self.wake(now);
    }

    /// A page of the buffer has been programmed.
    pub(crate) fn program_done(&mut self, now: Time, id: RequestId) {
        let request = self.requests[id];
        let plane = self.layout.plane_at(request.lun, u32::from(request.place));
        if !self.nand.program(request.physical, request.logical, request.content) {
            self.program_failed(now, id);
            return self.block_program_ended(now, plane, request.physical, false);
        }
        self.counters.programmed_user += 1;
        if request.tag != Tag::NONE {
            self.written_through(now, id);
        }
        self.requests.remove(id);
        self.entry_programmed(now, request.entry(), request.physical);
        // Closed only now, so that its last page counts as valid when victims are ranked.
        self.settle_block(now, request.physical);
        self.left_stripe(request.logical);
        self.block_program_ended(now, plane, request.physical, true);
        self.collect_if_short(now, plane);
    }

    /// Closes the block of a page that has just been programmed, if it was the last.
    #[inline]
    pub(crate) fn settle_block(&mut self, now: Time, physical: PhysicalPage) {
        if self.layout.offset_of(physical) + 1 == self.geometry.pages && self.block_mapped.is_none() {
            self.ftl.close(self.layout.block_of(physical), now);
        }
    }

    /// A page of a host write in write-through mode is on flash.
    pub(crate) fn written_through(&mut self, now: Time, id: RequestId) {
        let request = self.requests[id];
        let t = &mut self.tags[request.tag];
        t.page_done(request.page);
        if t.remaining == 0 {
            let link = Nanos(u64::from(request.link));
            let transaction = &self.luns[request.lun].transaction;
            let waited = self.requests.waited(id);
            // Of the time before this try, what was not spent on waiting went into tries that were in vain.
            let before = Nanos(waited.iter().sum()) - transaction.started.since(request.since);
            t.spans.add(Cause::Retry, request.since.since(t.mark) - before);
            chip_spans(&mut t.spans, waited, link, transaction, self.phases.transfer, now);
            t.mark = now;
            self.complete_over_link(now, request.tag);
        }
    }

    /// An entry's data is on flash in `physical`: it is mapped, and the entry is free unless it
    /// was written again meanwhile.
    pub(crate) fn entry_programmed(&mut self, now: Time, entry: EntryId, physical: PhysicalPage) {
        let e = self.buffer[entry];
        let set = self.buffer.set_of(entry);
        self.settle(now, set, self.buffer.programmed_epoch(entry));
        self.release_waiters(now, e.programmed_waiters, Status::Success);
        self.buffer[entry].programmed_waiters = RequestId::NONE;
        if e.readers != RequestId::NONE {
            self.buffer[entry].readers = RequestId::NONE;
            self.read_programmed(now, e.readers, physical);
        }
        if e.trimmed {
            self.release_entry(now, entry);
            return;
        }
        if e.old != PhysicalPage::NONE {
            self.ftl.invalidate(e.old, now);
        }
        self.ftl.validate(physical);
        if e.dirty_again {
            self.buffer[entry].old = physical;
            self.buffer[entry].dirty_again = false;
            self.buffer.make_dirty(entry);
            if self.buffer.is_write_through() || self.buffer[entry].waiters != RequestId::NONE {
                self.issue(now, entry);
            }
        } else {
            self.ftl.set(e.logical, Mapping::Flash(physical));
            self.release_entry(now, entry);
        }
        self.write_back(now, set);
    }

    /// Settles a flush epoch of a set and completes the flushes that waited for it.
    pub(crate) fn settle(&mut self, now: Time, set: SetId, epoch: u64) {
        self.buffer.settle(set, epoch, &mut self.flushed);
        while let Some(tag) = self.flushed.pop() {
            let t = &mut self.tags[tag];
            t.spans.add(Cause::Flush, now.since(t.mark));
            t.mark = now;
            self.complete_over_link(now, tag);
        }
    }

    /// Completes the pages of writes that waited for a program.
    pub(crate) fn release_waiters(&mut self, now: Time, mut list: RequestId, status: Status) {
        let cause = if self.buffer.is_write_through() { Cause::Hazard } else { Cause::Flush };
        while list != RequestId::NONE {
            let MemoryRequest { next, tag, page, .. } = self.requests[list];
            self.requests.remove(list);
            list = next;
            self.page_ended(now, tag, page, status, cause);
        }
    }

    pub(crate) fn page_ended(&mut self, now: Time, tag: Tag, page: u32, status: Status, cause: Cause) {
        let t = &mut self.tags[tag];
        t.page_done(page);
        if status != Status::Success {
            t.status = status;
        }
        if t.remaining == 0 {
            t.spans.add(cause, now.since(t.mark));
            t.mark = now;
            self.complete_over_link(now, tag);
        }
    }

    /// Frees an entry and lets writes that wait for room come in.
    pub(crate) fn release_entry(&mut self, now: Time, entry: EntryId) {
        let set = self.buffer.set_of(entry);
        self.buffer.release(entry);
        if self.buffer.has_waiting(set) {
            self.admit_to(now, set);
        }
    }

    /// The pace of writes lets another in.
    #[cold]
    pub(crate) fn admit_waiting(&mut self, now: Time) {
        for set in self.sets.ids() {
            self.admit_to(now, set);
        }
    }

    /// Lets writes come in that wait for room, as far as there is some.
    fn admit_to(&mut self, now: Time, set: SetId) {
        while let Some(&tag) = self.buffer.line(set).front() {
            if !self.admit(now, tag) {
                break;
            }
            self.buffer.line(set).pop_front();
        }
    }

    /// An entry that was trimmed before it was programmed leaves the buffer.
    pub(crate) fn forget(&mut self, now: Time, entry: EntryId) {
        let e = &mut self.buffer[entry];
        let waiters = std::mem::replace(&mut e.waiters, RequestId::NONE);
        let has_readers = e.readers != RequestId::NONE;
        // A program that failed and was to be repeated has an epoch and waiters of its own.
        let failed = std::mem::replace(&mut e.programmed_waiters, RequestId::NONE);
        let was_stranded = e.state == EntryState::Stranded && std::mem::take(&mut e.dirty_again);
        let (newest, programmed) = (self.buffer.epoch(entry), self.buffer.programmed_epoch(entry));
        let is_programming = self.buffer[entry].state == EntryState::Programming;
        let set = self.buffer.set_of(entry);
        self.settle(now, set, if is_programming { programmed } else { newest });
        if was_stranded {
            // It was written again while it was being programmed: neither version will reach flash.
            self.settle(now, set, programmed);
        }
        self.release_waiters(now, waiters, Status::Success);
        self.release_waiters(now, failed, Status::Success);
        if has_readers {
            self.read_given_up(now, entry);
        }
        self.release_entry(now, entry);
    }

    /// A program or a read ahead that has become pointless leaves the list of its chip.
    pub(crate) fn drop_program(&mut self, now: Time, id: RequestId) {
        let request = self.requests[id];
        match request.role {
            Role::Copy(_) => return self.copy_dropped(now, id),
            Role::Ahead(slot) => return self.drop_plan(id, slot),
            _ => {}
        }
        self.requests.remove(id);
        self.left_stripe(request.logical);
        if request.tag != Tag::NONE {
            self.page_ended(now, request.tag, request.page, Status::Success, Cause::Hazard);
        }
        self.forget(now, request.entry());
        if request.physical != PhysicalPage::NONE {
            self.block_program_dropped(now, self.layout.plane_at(request.lun, u32::from(request.place)));
        }
    }

    /// A request of I/O request `tag` that had left is committed again.
    pub(crate) fn return_to_committed(&mut self, lun: LunId, tag: Tag) {
        self.luns[lun].committed_tag = tag;
        self.luns[lun].committed_count += 1;
        self.scheduler.returned();
    }

    /// A program has failed: its block is bad, its data is still in the buffer and goes elsewhere.
    pub(crate) fn program_failed(&mut self, now: Time, id: RequestId) {
        let request = self.requests[id];
        self.counters.program_failures += 1;
        if self.block_mapped.is_none() {
            self.lose_block(now, self.layout.block_of(request.physical));
        }
        if request.tag != Tag::NONE {
            self.return_to_committed(request.lun, request.tag);
        }
        let r = &mut self.requests[id];
        r.physical = PhysicalPage::NONE;
        r.since = now;
        r.link = 0;
        self.requests.snapshot(id, self.luns[request.lun].account(now));
        match &mut self.block_mapped {
            None => self.commit_own(id),
            Some(_) => self.requeue_program(id),
        }
    }
}
