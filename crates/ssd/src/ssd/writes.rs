//! The way of a write: from the host into the DRAM buffer, and from there to flash; flushes.

use super::{Completions, Ssd};
use crate::backend::UpperLayers;
use crate::flash::PhysicalPage;
use crate::frontend::Arrived;
use crate::frontend::buffer::EntryState;
use crate::frontend::link::Arrival;
use crate::mapping::QueuedProgram;
use crate::mapping::ftl::Location;
use crate::probe::Probe;
use crate::request::{EntryId, MemoryRequest, RequestId, Role, Tag, WaiterId};
use crate::sets::SetId;
use crate::ssd::layers::Layers;
use crate::timers::{Direction, Timer};
use std::ops::Range;
use tailcut_base::cast::to_u32;
use tailcut_base::{Cause, Nanos, Status, Time};

impl<P: Probe> Ssd<P> {
    /// Takes a write.
    #[inline]
    pub(crate) fn write(&mut self, now: Time, tag: Tag) {
        let set = self.frontend.set_of_tag(tag);
        if !self.mapping.takes_writes(set) {
            return self.frontend.answer_refused(now, tag, Status::WriteProtected);
        }
        if self.mapping.has_groups() && !self.has_room_in_group(tag) {
            return self.frontend.answer_refused(now, tag, Status::NoSpace);
        }
        if self.frontend.is_write_through() {
            for page in 0..self.frontend.tags[tag].pages {
                self.write_page_through(now, tag, page);
            }
            self.commit(now);
            return self.wake(now);
        }
        self.frontend.account_firmware(tag);
        for page in 0..self.frontend.tags[tag].pages {
            self.enter_buffer(tag, page);
        }
        if !self.frontend.admit_or_queue(now, tag, self.mapping.map()) {
            self.write_back(now, set);
            if self.frontend.tracker.is_on() {
                self.frontend.track_wait(now, tag);
            }
        }
    }

    /// Enters a page of a write into the buffer's book: from now on later commands find its
    /// content, although its data is with the host until it has room.
    #[inline]
    fn enter_buffer(&mut self, tag: Tag, page: u32) {
        let logical = self.frontend.tags[tag].page(page);
        match self.mapping.map().lookup(logical) {
            Location::Buffer(entry) => {
                self.frontend.rewrite(tag, page, entry);
            }
            location => {
                self.new_entry(tag, page, location);
            }
        }
    }

    /// Takes an entry of the buffer for a page of a write, which is at `location` now.
    fn new_entry(&mut self, tag: Tag, page: u32, location: Location) -> EntryId {
        let is_whole = || self.frontend.is_whole(tag, page);
        let (old, base) = self.mapping.version_to_change(location, is_whole);
        let entry = self.frontend.new_entry(tag, page, old, base);
        self.mapping.set_location(self.frontend.tags[tag].page(page), Location::Buffer(entry));
        entry
    }

    /// The data of some pages of a write is in the buffer.
    pub(crate) fn data_arrived(&mut self, now: Time, tag: Tag, pages: Range<u32>, done: &mut Completions) {
        for page in pages.clone() {
            if let Some(entry) = self.frontend.page_filled(tag, page, self.mapping.map()) {
                self.issue(now, entry);
            }
        }
        let set = self.frontend.set_of_tag(tag);
        match self.frontend.pages_arrived(now, tag, pages) {
            Arrived::InPart => {}
            Arrived::Complete => self.complete(now, tag, done),
            Arrived::ToBeForced => self.force(now, tag, done),
        }
        self.write_back(now, set);
    }

    /// A write that must be durable waits for the programs of its pages, which start at once.
    fn force(&mut self, now: Time, tag: Tag, done: &mut Completions) {
        let forced = self.frontend.force(now, tag, self.mapping.map(), |set| self.mapping.takes_writes(set));
        if forced.is_empty() {
            self.complete(now, tag, done);
        }
        // On a read-only drive `issue` fails the entry at once, and the command with it: register the waiters
        // of all pages before issuing the first.
        for entry in forced {
            if self.frontend.entry(entry).state == EntryState::Dirty {
                self.issue(now, entry);
            }
        }
        self.wake(now);
    }

    /// The program of an entry has ended: its waits are those of the writes whose last page it was. A write
    /// that met a program under way, or one that was repeated, waited for a flush.
    #[inline]
    pub(super) fn account_forced(&mut self, now: Time, id: RequestId, entry: EntryId) {
        self.frontend.track_room_made(entry, || self.backend.program_time(now, id));
        let list = self.frontend.entry(entry).programmed_waiters;
        if list == WaiterId::NONE || self.frontend.is_write_through() {
            return;
        }
        for tag in self.frontend.waiters.tags(list) {
            let t = &mut self.frontend.tags[tag];
            if t.remaining > 1 {
                t.page_served(self.backend.served_page(id, now));
            } else if let Some(before) = self.backend.wait_before(id, t.mark) {
                t.spans.add(Cause::Flush, before);
                self.backend.add_spans(t.spans_and_served(), id, Nanos::ZERO, now);
                t.mark = now;
            }
        }
    }

    /// A page of a write in write-through mode: it is complete when it is on flash.
    fn write_page_through(&mut self, now: Time, tag: Tag, page: u32) {
        let location = self.mapping.map().lookup(self.frontend.tags[tag].page(page));
        if let Location::Buffer(entry) = location {
            self.frontend.rewrite(tag, page, entry);
            self.frontend.transfer_page(now, tag, page);
            return self.frontend.attach_waiter(now, tag, page, entry);
        }
        let entry = self.new_entry(tag, page, location);
        let mut request = self.program_request(now, entry);
        (request.tag, request.page) = (tag, page);
        let id = self.backend.hold(now, request);
        self.arrive(id);
    }

    /// Moves the data of a committed write from the host.
    #[inline]
    pub(crate) fn fetch_page(&mut self, now: Time, id: RequestId) {
        let MemoryRequest { tag, page, .. } = *self.backend.request(id);
        self.backend.await_data(id);
        let end = self.frontend.transfer_page(now, tag, page);
        self.backend.request_mut(id).link = to_u32(end.since(now).0.min(u64::from(u32::MAX)));
        self.frontend.announce(Direction::ToDevice, end, Arrival::Page(id));
    }

    /// The data of a committed write is here: it can go to its chip, once the rest of its page is
    /// known.
    pub(crate) fn page_arrived(&mut self, now: Time, id: RequestId) {
        let MemoryRequest { lun, .. } = *self.backend.request(id);
        let entry = self.backend.request(id).entry();
        self.backend.data_arrived(id);
        self.backend.wake(lun);
        if self.frontend.entry_arrived(entry) {
            self.commit_program(now, id);
        } else {
            self.read_rest(now, entry, id);
        }
        self.wake(now);
    }

    /// Sends dirty pages of a set to flash, as far as the threshold wants it.
    #[inline]
    pub(crate) fn write_back(&mut self, now: Time, set: SetId) {
        if self.mapping.maps_by_superblock() {
            return self.stage_dirty(now);
        }
        while let Some(entry) = self.frontend.to_flush(set)
            && self.mapping.takes_writes(set)
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
    fn holds_programs(&mut self, now: Time, set: SetId) -> bool {
        self.mapping.steering.rests_programs(set)
            || self.config.preempt.time_programs
                && self.frontend.can_wait(set)
                && self.waits_for_silence(now, set)
    }

    #[cold]
    fn waits_for_silence(&mut self, now: Time, set: SetId) -> bool {
        let chips = self.mapping.sets().luns_each();
        if self.frontend.entries_under_way(set) >= chips as usize {
            return true;
        }
        let waits = self.mapping.forecast.holds_programs(now, set, chips, self.backend.longest_program());
        if waits {
            let first = self.mapping.forecast.first_due().expect("one has just been set");
            self.backend.set_timer(Timer::Buffer, first);
        }
        waits
    }

    /// Reads may have ended: what waits for that is looked at again, in all sets.
    pub(crate) fn look_for_silence(&mut self, now: Time) {
        self.mapping.forecast.look_at_all();
        for set in self.mapping.sets().ids() {
            self.write_back(now, set);
        }
    }

    /// Sends a dirty entry on its way to flash.
    fn issue(&mut self, now: Time, entry: EntryId) {
        self.frontend.issue_entry(entry);
        if self.frontend.entry(entry).whole {
            self.issue_program(now, entry, 0);
        } else {
            self.read_rest(now, entry, RequestId::NONE);
        }
    }

    /// Sends an entry to flash that has left the line; `resets` counts how often its program has been reset.
    pub(crate) fn issue_program(&mut self, now: Time, entry: EntryId, resets: u8) {
        if self.mapping.maps_by_superblock() {
            self.mapping.stage(now, entry, self.frontend.entry(entry).stream);
            return self.program_staged(now);
        }
        let request = MemoryRequest { resets, ..self.program_request(now, entry) };
        let id = self.backend.hold(now, request);
        self.commit_program(now, id);
    }

    fn program_request(&mut self, now: Time, entry: EntryId) -> MemoryRequest {
        let e = self.frontend.entry(entry);
        self.mapping.program_request(now, entry, e.logical, e.stream)
    }

    /// Reads the rest of a page that is written in part; `program` is the write that waits for
    /// it, or [`RequestId::NONE`] when one is still to be made.
    pub(super) fn read_rest(&mut self, now: Time, entry: EntryId, program: RequestId) {
        let e = self.frontend.entry(entry);
        let request = self.mapping.merge_request(now, entry, (e.logical, e.old), program);
        self.backend.issue(now, request);
    }

    /// The rest of a page that is written in part is in the buffer.
    pub(crate) fn merge_read_done(&mut self, now: Time, id: RequestId) {
        let request = *self.backend.request(id);
        let (entry, program) = (request.entry(), request.waiting_program());
        self.backend.remove(id);
        if self.mapping.merge_read(now, &request) {
            self.carry_out(now);
        }
        self.frontend.complete_entry(entry);
        if program != RequestId::NONE {
            self.commit_program(now, program);
        } else if self.frontend.entry(entry).trimmed {
            self.forget(now, entry);
        } else {
            self.issue_program(now, entry, 0);
        }
        self.wake(now);
    }

    /// Commits the program of a page of the buffer: at once, or when its turn comes under block-level
    /// mapping.
    #[inline]
    fn commit_program(&mut self, now: Time, id: RequestId) {
        if !self.config.schedule.hit_manager {
            // Queued data stays as it is; a later write to the page has a program of its own.
            let content = self.frontend.begin_program(self.backend.request(id).entry());
            self.backend.request_mut(id).content = content;
        }
        if !self.mapping.gives_pages_at_chips() {
            let request = self.backend.request(id);
            let plane = self.layout.plane_at(request.lun, u32::from(request.place));
            self.mapping.queue_program(now, plane, QueuedProgram::new(id, request));
            return self.carry_out(now);
        }
        let layers = Layers::new(&mut self.mapping, &mut self.frontend);
        if self.backend.levels_queues() && self.backend.divert(now, id, &layers) {
            self.commit(now);
        }
        self.backend.commit_own(id);
    }

    /// A page of the buffer has been programmed.
    pub(crate) fn program_done(&mut self, now: Time, id: RequestId) {
        let request = *self.backend.request(id);
        let plane = self.layout.plane_at(request.lun, u32::from(request.place));
        if !self.mapping.page_programmed(&request) {
            self.program_failed(now, id);
            self.mapping.block_program_ended(now, plane, request.physical, false);
            return self.carry_out(now);
        }
        if request.tag != Tag::NONE {
            self.written_through(now, id);
        }
        self.account_forced(now, id, request.entry());
        self.backend.remove(id);
        self.entry_programmed(now, request.entry(), request.physical);
        self.mapping.end_program(now, plane, &request);
        self.carry_out(now);
        self.collect_if_short(now, plane);
    }

    /// A page of a host write in write-through mode is on flash.
    fn written_through(&mut self, now: Time, id: RequestId) {
        let request = *self.backend.request(id);
        let t = &mut self.frontend.tags[request.tag];
        t.page_done(request.page);
        if t.remaining == 0 {
            t.spans.add(Cause::Retry, self.backend.earlier_attempts(id, t.mark));
            self.backend.add_spans(t.spans_and_served(), id, Nanos(u64::from(request.link)), now);
            t.mark = now;
            self.frontend.complete_over_link(now, request.tag);
        } else {
            t.page_served(self.backend.served_page(id, now));
        }
    }

    /// An entry's data is on flash in `physical`: it is mapped, and the entry is free unless it
    /// was written again meanwhile.
    pub(super) fn entry_programmed(&mut self, now: Time, entry: EntryId, physical: PhysicalPage) {
        let set = self.frontend.set_of_entry(entry);
        let e = self.frontend.program_ended(now, entry);
        if e.readers != RequestId::NONE {
            self.read_programmed(now, e.readers, physical);
        }
        if e.trimmed {
            return self.frontend.release_entry(now, entry, self.mapping.map());
        }
        self.mapping.map_programmed(now, e.old, physical);
        if !e.dirty_again {
            self.mapping.set_location(e.logical, Location::Flash(physical));
            self.frontend.release_entry(now, entry, self.mapping.map());
        } else if self.frontend.dirty_again(entry, physical) {
            self.issue(now, entry);
        }
        self.write_back(now, set);
    }

    /// A program has failed: its block is bad, its data is still in the buffer and goes elsewhere.
    fn program_failed(&mut self, now: Time, id: RequestId) {
        let request = *self.backend.request(id);
        self.mapping.counters.program_failures += 1;
        if self.mapping.gives_pages_at_chips() {
            self.mapping.lose_block(now, self.layout.block_of(request.physical));
            self.carry_out(now);
        }
        self.backend.begin_anew(now, id);
        if self.mapping.gives_pages_at_chips() {
            return self.backend.commit_own(id);
        }
        let plane = self.layout.plane_at(request.lun, u32::from(request.place));
        self.mapping.requeue_program(plane, QueuedProgram::new(id, &request));
    }

    /// An entry that was trimmed before it was programmed leaves the buffer.
    pub(crate) fn forget(&mut self, now: Time, entry: EntryId) {
        if self.frontend.give_up_program(now, entry) {
            self.read_given_up(now, entry);
        }
        self.frontend.release_entry(now, entry, self.mapping.map());
    }

    /// A program, copy or read ahead that has become pointless leaves the list of its chip.
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

    /// Cancels a program for want of erased space: its data stays in the buffer, and commands that wait for
    /// it complete with [`Status::WriteProtected`].
    pub(crate) fn strand(&mut self, now: Time, id: RequestId) {
        let request = *self.backend.request(id);
        self.backend.left_committed(request.lun, id);
        if self.layers().is_void(id, self.backend.request(id)) {
            return self.drop_program(now, id);
        }
        self.backend.remove(id);
        self.mapping.left_stripe(request.logical);
        if request.tag != Tag::NONE {
            self.frontend.page_ended(now, request.tag, request.page, Status::WriteProtected, Cause::Space);
        }
        self.read_given_up(now, request.entry());
        self.frontend.strand_entry(now, request.entry());
    }

    /// Takes a flush of a set.
    pub(crate) fn flush(&mut self, now: Time, tag: Tag) {
        if let Some(set) = self.frontend.flush(now, tag, |set| self.mapping.takes_writes(set)) {
            self.write_back(now, set);
        }
    }
}
