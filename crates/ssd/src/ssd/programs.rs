//! The way of a page from the DRAM buffer to flash.

use super::Ssd;
use super::reads::chip_spans;
use crate::flash::PhysicalPage;
use crate::mapping::ftl::Location;
use crate::probe::Probe;
use crate::request::{EntryId, Lane, MemoryRequest, RequestId, Role, Tag, WaiterId};
use crate::sets::SetId;
use crate::timers::Timer;
use tailcut_base::{Cause, Nanos, Status, Time};

impl<P: Probe> Ssd<P> {
    /// Sends dirty pages of a set to flash, as far as the threshold wants it.
    #[inline]
    pub(crate) fn write_back(&mut self, now: Time, set: SetId) {
        if self.mapping.superblocks.is_some() {
            return self.stage_dirty(now);
        }
        while let Some(entry) = self.frontend.buffer.to_flush(set)
            && self.takes_writes(set)
            && !self.holds_programs(now, set)
        {
            self.issue(now, entry);
        }
        self.wake(now);
    }

    /// True when what is dirty of a set should stay in the buffer, because reads are about to come, or
    /// because every chip has a program already. It is looked at again when reads may have stopped, and at
    /// the end of each program.
    #[inline]
    pub(crate) fn holds_programs(&mut self, now: Time, set: SetId) -> bool {
        self.mapping.steering.rests_programs(set)
            || self.config.preempt.time_programs
                && self.frontend.buffer.can_wait(set)
                && self.waits_for_silence(now, set)
    }

    #[cold]
    fn waits_for_silence(&mut self, now: Time, set: SetId) -> bool {
        let chips = self.mapping.sets.luns_each();
        if self.frontend.buffer.pages(set) - self.frontend.buffer.dirty(set) >= chips as usize {
            return true;
        }
        let length = self.backend.phases().program_cell_most();
        let waits = self.mapping.forecast.holds_programs(now, set, chips, length);
        if waits {
            let first = self.mapping.forecast.first_due().expect("one has just been set");
            self.backend.set_timer(Timer::Buffer, first);
        }
        waits
    }

    /// Reads may have ended: what waits for that is looked at again, in all sets.
    pub(crate) fn look_for_silence(&mut self, now: Time) {
        self.mapping.forecast.look_at_all();
        for set in self.mapping.sets.ids() {
            self.write_back(now, set);
        }
    }

    /// Sends a dirty entry on its way to flash.
    pub(crate) fn issue(&mut self, now: Time, entry: EntryId) {
        self.frontend.buffer.leave_line(entry);
        if self.frontend.buffer[entry].whole {
            self.issue_program(now, entry, 0);
        } else {
            self.read_rest(now, entry, RequestId::NONE);
        }
    }

    /// Sends a dirty entry to flash; `resets` counts how often its program has been reset.
    pub(crate) fn issue_program(&mut self, now: Time, entry: EntryId, resets: u8) {
        if self.mapping.superblocks.is_some() {
            return self.stage(now, entry);
        }
        let mut request = self.program_request(now, entry);
        request.resets = resets;
        let _lun = request.lun;
        let id = self.backend.hold(now, request);
        self.commit_program(now, id);
    }

    pub(crate) fn program_request(&mut self, now: Time, entry: EntryId) -> MemoryRequest {
        let logical = self.frontend.buffer[entry].logical;
        let frontier = self.mapping.ftl.stream_frontier(self.frontend.buffer[entry].stream);
        let plane = if self.mapping.block_mapped.is_some() {
            self.mapping.plane_of_stripe(logical)
        } else if self.mapping.places_by_silence() {
            self.mapping.plane_with_silence(now, logical, frontier)
        } else {
            self.mapping.ftl.plane_for(logical, frontier)
        };
        let (lun, place) = self.layout.lun_of_plane(plane);
        let mut request = MemoryRequest::internal(now, Lane::USER_WRITE, Role::Program(entry), lun, place);
        request.logical = logical;
        request.frontier = frontier;
        request
    }

    /// Reads the rest of a page that is written in part; `program` is the write that waits for
    /// it, or [`RequestId::NONE`] when one is still to be made.
    pub(crate) fn read_rest(&mut self, now: Time, entry: EntryId, program: RequestId) {
        let physical = self.frontend.buffer[entry].old;
        assert!(physical != PhysicalPage::NONE, "a page without an old version is whole");
        let set = self.frontend.buffer.set_of(entry);
        self.mapping.steering.merge_begins(set);
        self.mapping.ftl.pin(physical);
        let (lun, place) = self.layout.lun_of_page(physical);
        let mut request = MemoryRequest::internal(now, Lane::READ, Role::Merge(entry), lun, place);
        request.logical = self.frontend.buffer[entry].logical;
        request.physical = physical;
        request.set_waiting_program(program);
        self.backend.issue(now, request);
    }

    /// The rest of a page that is written in part is in the buffer.
    pub(crate) fn merge_read_done(&mut self, now: Time, id: RequestId) {
        let request = *self.backend.request(id);
        let (entry, physical) = (request.entry(), request.physical);
        let program = request.waiting_program();
        let set = self.frontend.buffer.set_of(entry);
        self.mapping.steering.merge_ends(set);
        self.mapping.nand.read(physical);
        self.backend.remove(id);
        self.unpin(now, physical);
        self.frontend.buffer[entry].whole = true;
        if program != RequestId::NONE {
            self.commit_program(now, program);
        } else if self.frontend.buffer[entry].trimmed {
            self.forget(now, entry);
        } else {
            self.issue_program(now, entry, 0);
        }
        self.wake(now);
    }

    /// A page of the buffer has been programmed.
    pub(crate) fn program_done(&mut self, now: Time, id: RequestId) {
        let request = *self.backend.request(id);
        let plane = self.layout.plane_at(request.lun, u32::from(request.place));
        if !self.mapping.nand.program(request.physical, request.logical, request.content) {
            self.program_failed(now, id);
            self.mapping.block_program_ended(now, plane, request.physical, false);
            return self.carry_out(now);
        }
        self.mapping.counters.programmed_user += 1;
        if request.tag != Tag::NONE {
            self.written_through(now, id);
        }
        self.backend.remove(id);
        self.entry_programmed(now, request.entry(), request.physical);
        // Closed only now, so that its last page counts as valid when victims are ranked.
        self.mapping.settle_block(now, request.physical);
        self.mapping.left_stripe(request.logical);
        self.mapping.block_program_ended(now, plane, request.physical, true);
        self.carry_out(now);
        self.collect_if_short(now, plane);
    }

    /// A page of a host write in write-through mode is on flash.
    pub(crate) fn written_through(&mut self, now: Time, id: RequestId) {
        let request = *self.backend.request(id);
        let t = &mut self.frontend.tags[request.tag];
        t.page_done(request.page);
        if t.remaining == 0 {
            let link = Nanos(u64::from(request.link));
            let transaction = &self.backend.lun(request.lun).transaction;
            let waited = self.backend.waited(id);
            // Time before this attempt is either waiting or failed attempts.
            let before = Nanos(waited.iter().sum()) - transaction.started.since(request.since);
            t.spans.add(Cause::Retry, request.since.since(t.mark) - before);
            chip_spans(&mut t.spans, waited, link, transaction, self.backend.phases().transfer, now);
            t.mark = now;
            self.frontend.complete_over_link(now, request.tag);
        }
    }

    /// An entry's data is on flash in `physical`: it is mapped, and the entry is free unless it
    /// was written again meanwhile.
    pub(crate) fn entry_programmed(&mut self, now: Time, entry: EntryId, physical: PhysicalPage) {
        let e = self.frontend.buffer[entry];
        let set = self.frontend.buffer.set_of(entry);
        self.frontend.settle(now, set, self.frontend.buffer.programmed_epoch(entry));
        self.frontend.release_waiters(now, e.programmed_waiters, Status::Success);
        self.frontend.buffer[entry].programmed_waiters = WaiterId::NONE;
        if e.readers != RequestId::NONE {
            self.frontend.buffer[entry].readers = RequestId::NONE;
            self.read_programmed(now, e.readers, physical);
        }
        if e.trimmed {
            self.frontend.release_entry(now, entry, &self.mapping.ftl);
            return;
        }
        if e.old != PhysicalPage::NONE {
            self.mapping.ftl.invalidate(e.old, now);
        }
        self.mapping.ftl.validate(physical);
        if e.dirty_again {
            self.frontend.buffer[entry].old = physical;
            self.frontend.buffer[entry].dirty_again = false;
            self.frontend.buffer.make_dirty(entry);
            if self.frontend.buffer.is_write_through()
                || self.frontend.buffer[entry].waiters != WaiterId::NONE
            {
                self.issue(now, entry);
            }
        } else {
            self.mapping.ftl.set(e.logical, Location::Flash(physical));
            self.frontend.release_entry(now, entry, &self.mapping.ftl);
        }
        self.write_back(now, set);
    }

    /// An entry that was trimmed before it was programmed leaves the buffer.
    pub(crate) fn forget(&mut self, now: Time, entry: EntryId) {
        if self.frontend.give_up_program(now, entry) {
            self.read_given_up(now, entry);
        }
        self.frontend.release_entry(now, entry, &self.mapping.ftl);
    }

    /// A program or a read ahead that has become pointless leaves the list of its chip.
    pub(crate) fn drop_program(&mut self, now: Time, id: RequestId) {
        let request = *self.backend.request(id);
        match request.role {
            Role::Copy(plane) => {
                self.backend.remove(id);
                self.mapping.copy_ended(now, plane);
                return self.carry_out(now);
            }
            Role::Ahead(slot) => return self.drop_plan(id, slot),
            _ => {}
        }
        self.backend.remove(id);
        self.mapping.left_stripe(request.logical);
        if request.tag != Tag::NONE {
            self.frontend.page_ended(now, request.tag, request.page, Status::Success, Cause::Hazard);
        }
        self.forget(now, request.entry());
        if request.physical != PhysicalPage::NONE {
            let plane = self.layout.plane_at(request.lun, u32::from(request.place));
            self.mapping.block_program_dropped(now, plane);
            self.carry_out(now);
        }
    }

    /// A program has failed: its block is bad, its data is still in the buffer and goes elsewhere.
    pub(crate) fn program_failed(&mut self, now: Time, id: RequestId) {
        let request = *self.backend.request(id);
        self.mapping.counters.program_failures += 1;
        if self.mapping.block_mapped.is_none() {
            self.mapping.lose_block(now, self.layout.block_of(request.physical));
            self.carry_out(now);
        }
        if request.tag != Tag::NONE {
            self.backend.return_to_committed(request.lun, request.tag);
        }
        let r = self.backend.request_mut(id);
        r.physical = PhysicalPage::NONE;
        r.since = now;
        r.link = 0;
        self.backend.wait_anew(now, id);
        match self.mapping.block_mapped {
            None => self.backend.commit_own(id),
            Some(_) => {
                let (plane, program) = self.queued_program(id);
                self.mapping.requeue_program(plane, program);
            }
        }
    }
}
