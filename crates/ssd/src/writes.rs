//! The way of a write, a trim and a flush: from the command into the buffer, and on to flash.

use crate::controller::buffer::EntryState;
use crate::controller::commit::CommitScheduler;
use crate::controller::ftl::Mapping;
use crate::controller::link::{Arrival, Direction};
use crate::probe::Probe;
use crate::reads::chip_spans;
use crate::request::{Kind, MemoryRequest, NONE, RequestId, Role};
use crate::ssd::Ssd;
use tailcut_base::device::content::Change;
use tailcut_base::{Cause, Nanos, Status, Time};

impl<P: Probe> Ssd<P> {
    /// Takes a write.
    #[inline]
    pub(crate) fn write(&mut self, now: Time, tag: u32) {
        if self.read_only.is_some() {
            self.tags[tag].status = Status::WriteProtected;
            return self.complete_over_link(now, tag);
        }
        if self.buffer.is_write_through() {
            for page in 0..self.tags[tag].pages {
                self.write_page_through(now, tag, page);
            }
            return self.wake(now);
        }
        let firmware = self.config.queue.firmware;
        let t = &mut self.tags[tag];
        t.spans.add(Cause::Controller, firmware);
        t.mark += firmware;
        for page in 0..self.tags[tag].pages {
            self.enter_buffer(tag, page);
        }
        if !self.buffer.line.is_empty() || !self.admit(now, tag) {
            self.buffer.line.push_back(tag);
            self.write_back(now);
        }
    }

    /// Enters a page of a write into the buffer's book: from now on later commands find its
    /// content, although its data is with the host until it has room.
    #[inline]
    fn enter_buffer(&mut self, tag: u32, page: u32) {
        let logical = self.tags[tag].first_page + page;
        match self.ftl.lookup(logical) {
            Mapping::Buffer(entry) => {
                self.buffer.write_hits += 1;
                self.merge(tag, page, entry);
            }
            mapping => {
                self.new_entry(tag, page, mapping);
            }
        }
    }

    /// Finds room in the buffer for the pages of a write, and sends for their data. False when
    /// some must wait.
    fn admit(&mut self, now: Time, tag: u32) -> bool {
        let from = self.tags[tag].admitted;
        let pages = self.tags[tag].pages;
        let mut page = from;
        while page < pages && self.has_room(tag, page) {
            page += 1;
        }
        if page == from {
            return false;
        }
        let t = &mut self.tags[tag];
        if t.mark < now {
            t.spans.add(Cause::BufferFull, now.since(t.mark));
            t.mark = now;
        }
        let bytes = t.bytes_of(from, page, self.page_sectors);
        t.admitted = page;
        t.in_transit += 1;
        let transfer = self.link.reserve(Direction::ToDevice, t.mark, bytes, from == 0);
        if page == pages {
            t.spans.add(Cause::LinkWait, transfer.start.since(t.mark));
            t.spans.add(Cause::Link, transfer.end.since(transfer.start));
            t.mark = transfer.end;
        }
        self.announce(
            Direction::ToDevice,
            transfer.end,
            Arrival::Data { tag, first: from, pages: page - from },
        );
        page == pages
    }

    /// True when a page of a write has room in the buffer, or needs none because it was trimmed.
    #[inline]
    fn has_room(&mut self, tag: u32, page: u32) -> bool {
        match self.ftl.lookup(self.tags[tag].first_page + page) {
            Mapping::Buffer(entry) => self.buffer.make_room(entry),
            _ => true,
        }
    }

    fn new_entry(&mut self, tag: u32, page: u32, mapping: Mapping) -> u32 {
        let t = &self.tags[tag];
        let logical = t.first_page + page;
        let whole = t.sectors_of(page, self.page_sectors) == u64::MAX >> (64 - self.page_sectors);
        let (old, base) = match mapping {
            // The old content matters only to a write of a part of the page.
            Mapping::Flash(physical) => (physical, if whole { 0 } else { self.medium.content(physical) }),
            _ => (NONE, 0),
        };
        let entry = self.buffer.create(logical, old, base);
        self.ftl.set(logical, Mapping::Buffer(entry));
        self.merge(tag, page, entry);
        entry
    }

    #[inline]
    fn merge(&mut self, tag: u32, page: u32, entry: u32) {
        let t = &self.tags[tag];
        let sectors = t.sectors_of(page, self.page_sectors);
        let whole = sectors == u64::MAX >> (64 - self.page_sectors);
        let change = Change::write(t.command.content, t.first_page + page, sectors, whole);
        self.buffer.write(entry, change, sectors, whole, t.command.stream);
    }

    /// The data of some pages of a write is in the buffer.
    pub(crate) fn data_arrived(&mut self, now: Time, tag: u32, first: u32, pages: u32) {
        for page in first..first + pages {
            let logical = self.tags[tag].first_page + page;
            if let Mapping::Buffer(entry) = self.ftl.lookup(logical)
                && self.buffer[entry].state == EntryState::Filling
            {
                self.buffer.make_dirty(entry);
                if self.buffer[entry].waiters != NONE {
                    // A write before this one must be durable, and found its page taken over.
                    self.issue(now, entry);
                }
            }
        }
        let t = &mut self.tags[tag];
        t.in_transit -= 1;
        if t.status == Status::WriteProtected {
            if t.in_transit == 0 {
                self.refuse(now, tag);
            }
        } else if first + pages == t.pages {
            if t.command.fua && !self.buffer.capacitor {
                self.force(now, tag);
            } else {
                self.complete(now, tag);
            }
        }
        self.write_back(now);
    }

    /// A write that must be durable waits for the programs of its pages, which start at once.
    fn force(&mut self, now: Time, tag: u32) {
        let mut forced = Vec::new();
        for page in 0..self.tags[tag].pages {
            let logical = self.tags[tag].first_page + page;
            let Mapping::Buffer(entry) = self.ftl.lookup(logical) else {
                self.tags[tag].page_done(page);
                continue;
            };
            let never_programmed = match self.buffer[entry].state {
                EntryState::Stranded => true,
                EntryState::Filling => self.read_only.is_some(),
                _ => false,
            };
            if never_programmed {
                // The drive has become read-only while the data was on the link.
                self.tags[tag].status = Status::WriteProtected;
                self.tags[tag].page_done(page);
                continue;
            }
            self.attach_waiter(now, tag, page, entry);
            forced.push(entry);
        }
        if forced.is_empty() {
            self.complete(now, tag);
        }
        // A drive that cannot write any more gives up the entry at once, and with it the command:
        // all pages must wait before the first is sent off.
        for entry in forced {
            if self.buffer[entry].state == EntryState::Dirty {
                self.issue(now, entry);
            }
        }
        self.wake(now);
    }

    /// Lets a page of a write wait for the program of an entry. What is being programmed already
    /// has the page's data, unless it was written again.
    fn attach_waiter(&mut self, now: Time, tag: u32, page: u32, entry: u32) {
        let mut waiter = self.internal(now, Kind::UserWrite, Role::Waiter, tag, 0, 0);
        (waiter.tag, waiter.page) = (tag, page);
        let id = self.requests.add(waiter);
        let e = &mut self.buffer[entry];
        let list = if e.state == EntryState::Programming && !e.dirty_again {
            &mut e.programmed_waiters
        } else {
            &mut e.waiters
        };
        self.requests[id].next = std::mem::replace(list, id);
    }

    /// A page of a write in write-through mode: it is complete when it is on flash.
    fn write_page_through(&mut self, now: Time, tag: u32, page: u32) {
        let logical = self.tags[tag].first_page + page;
        let mapping = self.ftl.lookup(logical);
        if let Mapping::Buffer(entry) = mapping {
            self.buffer.write_hits += 1;
            self.merge(tag, page, entry);
            let bytes = self.tags[tag].bytes_of(page, page + 1, self.page_sectors);
            self.link.reserve(Direction::ToDevice, now, bytes, page == 0);
            return self.attach_waiter(now, tag, page, entry);
        }
        let entry = self.new_entry(tag, page, mapping);
        let mut request = self.program_request(now, entry);
        (request.tag, request.page) = (tag, page);
        let unit = request.unit;
        let id = self.requests.add(request);
        self.requests.snapshot(id, self.units[unit].account(now));
        self.arrive(now, id);
    }

    /// Moves the data of a committed write from the host.
    #[inline]
    pub(crate) fn fetch_page(&mut self, now: Time, id: RequestId) {
        let MemoryRequest { tag, page, .. } = self.requests[id];
        let bytes = self.tags[tag].bytes_of(page, page + 1, self.page_sectors);
        let transfer = self.link.reserve(Direction::ToDevice, now, bytes, page == 0);
        self.requests[id].link = transfer.end.since(now).0.min(u64::from(u32::MAX)) as u32;
        self.announce(Direction::ToDevice, transfer.end, Arrival::Page(id));
    }

    /// The data of a committed write is here: it can go to its chip, once the rest of its page is
    /// known.
    pub(crate) fn page_arrived(&mut self, now: Time, id: RequestId) {
        let entry = self.requests[id].owner;
        self.buffer[entry].state = EntryState::Issued;
        if self.buffer[entry].whole || self.buffer[entry].trimmed {
            self.commit_program(now, id);
        } else {
            self.read_rest(now, entry, id);
        }
        self.wake(now);
    }

    /// Commits a request of the controller itself, or a write whose data is here.
    #[inline]
    pub(crate) fn commit_own(&mut self, id: RequestId) {
        let unit = self.requests[id].unit;
        self.requests[id].order = self.requests.next_order();
        self.units.commit(&mut self.requests, id);
        self.woken.push(unit);
    }

    /// Sends dirty pages to flash, as far as the threshold wants it.
    #[inline]
    pub(crate) fn write_back(&mut self, now: Time) {
        while self.buffer.should_flush() && self.read_only.is_none() {
            let entry = self.buffer.oldest_dirty().expect("the buffer said that there are dirty entries");
            self.issue(now, entry);
        }
        self.wake(now);
    }

    /// Sends a dirty entry on its way to flash.
    fn issue(&mut self, now: Time, entry: u32) {
        self.buffer.leave_line(entry);
        if self.buffer[entry].whole {
            self.issue_program(now, entry);
        } else {
            self.read_rest(now, entry, NONE);
        }
    }

    fn issue_program(&mut self, now: Time, entry: u32) {
        let request = self.program_request(now, entry);
        let unit = request.unit;
        let id = self.requests.add(request);
        self.requests.snapshot(id, self.units[unit].account(now));
        self.commit_program(now, id);
    }

    fn program_request(&mut self, now: Time, entry: u32) -> MemoryRequest {
        let logical = self.buffer[entry].logical;
        let frontier = self.ftl.stream_frontier(self.buffer[entry].stream);
        let plane = self.ftl.plane_for(logical, frontier);
        let (unit, place) = self.layout.unit_of_plane(plane);
        let mut request = self.internal(now, Kind::UserWrite, Role::Program, entry, unit, place);
        request.logical = logical;
        request.frontier = frontier;
        request
    }

    /// A request of the controller itself, with the fields that most of them leave alone.
    pub(crate) fn internal(
        &self,
        now: Time,
        kind: Kind,
        role: Role,
        owner: u32,
        unit: u32,
        place: u32,
    ) -> MemoryRequest {
        MemoryRequest {
            since: now,
            order: 0,
            next: NONE,
            owner,
            tag: NONE,
            page: 0,
            logical: 0,
            physical: NONE,
            source: NONE,
            content: 0,
            unit,
            link: 0,
            place: place as u8,
            frontier: 0,
            retries: 0,
            kind,
            role,
        }
    }

    /// Reads the rest of a page that is written in part; `program` is the write that waits for
    /// it, or [`NONE`] when one is still to be made.
    fn read_rest(&mut self, now: Time, entry: u32, program: RequestId) {
        let physical = self.buffer[entry].old;
        assert!(physical != NONE, "a page without an old version is whole");
        self.ftl.pin(physical);
        let (unit, place) = self.unit_of(physical);
        let mut request = self.internal(now, Kind::UserRead, Role::Merge, entry, unit, place);
        request.logical = self.buffer[entry].logical;
        request.physical = physical;
        request.source = program;
        let id = self.requests.add(request);
        self.requests.snapshot(id, self.units[unit].account(now));
        self.commit_own(id);
    }

    /// The rest of a page that is written in part is in the buffer.
    pub(crate) fn merge_read_done(&mut self, now: Time, id: RequestId) {
        let MemoryRequest { owner: entry, physical, source: program, .. } = self.requests[id];
        self.medium.read(physical);
        self.requests.remove(id);
        if self.ftl.unpin(physical) {
            self.resume_erase(now, self.layout.block_of(physical));
        }
        self.buffer[entry].whole = true;
        if program != NONE {
            self.commit_program(now, program);
        } else if self.buffer[entry].trimmed {
            self.forget(now, entry);
        } else {
            self.issue_program(now, entry);
        }
        self.wake(now);
    }

    /// A page of the buffer has been programmed.
    pub(crate) fn program_done(&mut self, now: Time, id: RequestId) {
        let request = self.requests[id];
        let plane = self.layout.plane_at(request.unit, u32::from(request.place));
        if !self.medium.program(request.physical, request.logical, request.content) {
            self.program_failed(now, id);
            return self.block_program_ended(now, plane, request.physical, false);
        }
        self.counters.programmed_user += 1;
        if request.tag != NONE {
            self.written_through(now, id);
        }
        self.requests.remove(id);
        self.entry_programmed(now, request.owner, request.physical);
        // Closed only now, so that its last page counts as valid when victims are ranked.
        self.settle_block(now, request.physical);
        self.block_program_ended(now, plane, request.physical, true);
        self.collect_if_short(now, plane);
    }

    /// Closes the block of a page that has just been programmed, if it was the last.
    #[inline]
    pub(crate) fn settle_block(&mut self, now: Time, physical: u32) {
        if self.layout.offset_of(physical) + 1 == self.geometry.pages && self.block_mapped.is_none() {
            self.ftl.close(self.layout.block_of(physical), now);
        }
    }

    /// A page of a host write in write-through mode is on flash.
    fn written_through(&mut self, now: Time, id: RequestId) {
        let request = self.requests[id];
        let t = &mut self.tags[request.tag];
        t.page_done(request.page);
        if t.remaining == 0 {
            t.spans.add(Cause::Retry, request.since.since(t.mark));
            let link = Nanos(u64::from(request.link));
            let transaction = &self.units[request.unit].transaction;
            chip_spans(&mut t.spans, self.requests.waited(id), link, transaction, self.phases.transfer, now);
            t.mark = now;
            self.complete_over_link(now, request.tag);
        }
    }

    /// An entry's data is on flash in `physical`: it is mapped, and the entry is free unless it
    /// was written again meanwhile.
    fn entry_programmed(&mut self, now: Time, entry: u32, physical: u32) {
        let e = self.buffer[entry];
        self.settle(now, self.buffer.programmed_epoch(entry));
        self.release_waiters(now, e.programmed_waiters, Status::Success);
        self.buffer[entry].programmed_waiters = NONE;
        if e.trimmed {
            self.release_entry(now, entry);
            return;
        }
        if e.old != NONE {
            self.ftl.invalidate(e.old, now);
        }
        self.ftl.validate(physical);
        if e.dirty_again {
            self.buffer[entry].old = physical;
            self.buffer[entry].dirty_again = false;
            self.buffer.make_dirty(entry);
            if self.buffer.is_write_through() || self.buffer[entry].waiters != NONE {
                self.issue(now, entry);
            }
        } else {
            self.ftl.set(e.logical, Mapping::Flash(physical));
            self.release_entry(now, entry);
        }
        self.write_back(now);
    }

    /// Settles a flush epoch and completes the flushes that waited for it.
    fn settle(&mut self, now: Time, epoch: u64) {
        self.buffer.settle(epoch, &mut self.flushed);
        while let Some(tag) = self.flushed.pop() {
            let t = &mut self.tags[tag];
            t.spans.add(Cause::Flush, now.since(t.mark));
            t.mark = now;
            self.complete_over_link(now, tag);
        }
    }

    /// Completes the pages of writes that waited for a program.
    fn release_waiters(&mut self, now: Time, mut list: RequestId, status: Status) {
        let cause = if self.buffer.is_write_through() { Cause::Hazard } else { Cause::Flush };
        while list != NONE {
            let MemoryRequest { next, tag, page, .. } = self.requests[list];
            self.requests.remove(list);
            list = next;
            self.page_ended(now, tag, page, status, cause);
        }
    }

    fn page_ended(&mut self, now: Time, tag: u32, page: u32, status: Status, cause: Cause) {
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
    fn release_entry(&mut self, now: Time, entry: u32) {
        self.buffer.release(entry);
        while let Some(&tag) = self.buffer.line.front() {
            if !self.admit(now, tag) {
                break;
            }
            self.buffer.line.pop_front();
        }
    }

    /// An entry that was trimmed before it was programmed leaves the buffer.
    fn forget(&mut self, now: Time, entry: u32) {
        let e = &mut self.buffer[entry];
        let waiters = std::mem::replace(&mut e.waiters, NONE);
        // A program that failed and was to be repeated has an epoch and waiters of its own.
        let failed = std::mem::replace(&mut e.programmed_waiters, NONE);
        let epoch = if e.state == EntryState::Programming {
            self.buffer.programmed_epoch(entry)
        } else {
            self.buffer.epoch(entry)
        };
        self.settle(now, epoch);
        self.release_waiters(now, waiters, Status::Success);
        self.release_waiters(now, failed, Status::Success);
        self.release_entry(now, entry);
    }

    /// A program that has become pointless leaves the list of its chip.
    pub(crate) fn drop_program(&mut self, now: Time, id: RequestId) {
        let request = self.requests[id];
        if request.role == Role::Copy {
            return self.copy_dropped(now, id);
        }
        self.requests.remove(id);
        if request.tag != NONE {
            self.page_ended(now, request.tag, request.page, Status::Success, Cause::Hazard);
        }
        self.forget(now, request.owner);
        if request.physical != NONE {
            self.block_program_dropped(now, self.layout.plane_at(request.unit, u32::from(request.place)));
        }
    }

    /// A program has failed: its block is bad, its data is still in the buffer and goes elsewhere.
    fn program_failed(&mut self, now: Time, id: RequestId) {
        let request = self.requests[id];
        self.counters.program_failures += 1;
        if self.block_mapped.is_none() {
            self.lose_block(now, self.layout.block_of(request.physical));
        }
        if request.tag != NONE {
            // Committed again, as a host request.
            self.units[request.unit].committed_tag = request.tag;
            self.units[request.unit].committed_count += 1;
        }
        let r = &mut self.requests[id];
        r.retries = r.retries.saturating_add(1);
        r.physical = NONE;
        r.since = now;
        r.link = 0;
        self.requests.snapshot(id, self.units[request.unit].account(now));
        match &mut self.block_mapped {
            None => self.commit_own(id),
            Some(_) => self.requeue_program(id),
        }
    }

    /// Takes a trim: whole pages are forgotten.
    pub(crate) fn trim(&mut self, now: Time, tag: u32) {
        let command = self.tags[tag].command;
        let sectors = u64::from(self.page_sectors);
        let first = command.sector.div_ceil(sectors);
        let end = (command.sector + u64::from(command.sectors)) / sectors;
        for logical in first..end {
            self.trim_page(now, logical as u32);
        }
        self.release_trimmed(now, first as u32, end as u32);
        self.complete_over_link(now, tag);
        self.wake(now);
    }

    fn trim_page(&mut self, now: Time, logical: u32) {
        match self.ftl.lookup(logical) {
            Mapping::Unmapped => {}
            Mapping::Flash(physical) => {
                self.ftl.invalidate(physical, now);
                self.ftl.set(logical, Mapping::Unmapped);
            }
            Mapping::Buffer(entry) => {
                self.ftl.set(logical, Mapping::Unmapped);
                self.trim_entry(now, entry);
            }
        }
    }

    fn trim_entry(&mut self, now: Time, entry: u32) {
        let e = self.buffer[entry];
        if e.old != NONE {
            self.ftl.invalidate(e.old, now);
            self.buffer[entry].old = NONE;
        }
        let has_request = match e.state {
            EntryState::Dirty => {
                self.buffer.leave_line(entry);
                false
            }
            EntryState::Filling => self.buffer.is_write_through(),
            EntryState::Stranded => false,
            _ => true,
        };
        if !has_request {
            return self.forget(now, entry);
        }
        self.buffer[entry].trimmed = true;
        if e.dirty_again {
            self.buffer[entry].dirty_again = false;
            self.buffer[entry].waiters = NONE;
            self.settle(now, self.buffer.epoch(entry));
            self.release_waiters(now, e.waiters, Status::Success);
        }
    }

    /// Takes a flush.
    pub(crate) fn flush(&mut self, now: Time, tag: u32) {
        if self.buffer.is_write_through() || self.buffer.capacitor {
            return self.complete_over_link(now, tag);
        }
        if self.read_only.is_some() && !self.buffer.is_durable() {
            self.tags[tag].status = Status::WriteProtected;
            return self.complete_over_link(now, tag);
        }
        if self.buffer.flush(tag) {
            return self.complete_over_link(now, tag);
        }
        self.write_back(now);
    }

    /// Writes that wait for an erased page on a chip that cannot make any: they move to another
    /// plane, or the drive becomes read-only.
    pub(crate) fn relieve(&mut self, now: Time, unit: u32) {
        for place in 0..self.places {
            let blocked = self.units.first(unit, Kind::UserWrite, place) != NONE;
            if !blocked || self.can_recover(now, unit, place) {
                continue;
            }
            self.relocate_writes(now, unit, place);
        }
    }

    fn can_recover(&mut self, now: Time, unit: u32, place: u32) -> bool {
        let plane = self.layout.plane_at(unit, place);
        let copy = self.units.first(unit, Kind::GcWrite, place);
        if copy != NONE {
            return self.ftl.can_allocate(plane, self.requests[copy].frontier);
        }
        self.collection.is_busy(plane) || self.start_collection(now, plane, false)
    }

    fn relocate_writes(&mut self, now: Time, unit: u32, place: u32) {
        while self.units.first(unit, Kind::UserWrite, place) != NONE {
            let id = self.units.first(unit, Kind::UserWrite, place);
            if self.can_start(id, unit, place) {
                // It stood behind a write of another stream, whose block is full.
                return self.woken.push(unit);
            }
            let MemoryRequest { logical, frontier, tag, .. } = self.requests[id];
            let plane = self.ftl.plane_for(logical, frontier);
            if tag != NONE || !self.ftl.can_allocate(plane, frontier) {
                return self.become_read_only(now, self.layout.plane_at(unit, place));
            }
            self.units.take(&self.requests, unit, Kind::UserWrite, place);
            let (unit, place) = self.layout.unit_of_plane(plane);
            let r = &mut self.requests[id];
            (r.unit, r.place) = (unit, place as u8);
            let account = self.units[self.requests[id].unit].account(now);
            self.requests.snapshot(id, account);
            self.commit_own(id);
        }
    }

    /// The drive has no room for another write and cannot make any. What is in the buffer stays
    /// readable there; writes that wait are answered.
    pub(crate) fn become_read_only(&mut self, now: Time, plane: u32) {
        if self.read_only.is_none() {
            self.read_only = Some(format!(
                "at {now} plane {plane} had {} free blocks, {} blocks of the drive had gone bad, and collection had no victim \
                 that would free a block; more spare space (ftl.spare) would have kept it writable",
                self.ftl.free_blocks(plane),
                self.counters.bad_blocks
            ));
        }
        while let Some(tag) = self.buffer.line.pop_front() {
            self.tags[tag].status = Status::WriteProtected;
            if self.tags[tag].in_transit == 0 {
                self.refuse(now, tag);
            }
        }
        for entry in self.buffer.filling() {
            // The write whose data it waits for has just been refused.
            let waiters = std::mem::replace(&mut self.buffer[entry].waiters, NONE);
            self.release_waiters(now, waiters, Status::WriteProtected);
        }
        let mut flushes = Vec::new();
        self.buffer.give_up_flushes(&mut flushes);
        for tag in flushes {
            let t = &mut self.tags[tag];
            t.status = Status::WriteProtected;
            t.spans.add(Cause::Flush, now.since(t.mark));
            t.mark = now;
            self.complete_over_link(now, tag);
        }
        if self.block_mapped.is_some() {
            // A program that has come to its chip has its page.
            return;
        }
        for unit in 0..self.units.len() as u32 {
            for place in 0..self.places {
                self.strand_writes(now, unit, place);
            }
        }
    }

    /// Answers a write for which there will never be room.
    fn refuse(&mut self, now: Time, tag: u32) {
        let t = &mut self.tags[tag];
        // The controller's own work for a write that has just come may not be over yet.
        let end = now.max(t.mark);
        t.spans.add(Cause::BufferFull, end.since(t.mark));
        t.mark = end;
        self.complete_over_link(end, tag);
    }

    fn strand_writes(&mut self, now: Time, unit: u32, place: u32) {
        while self.units.first(unit, Kind::UserWrite, place) != NONE {
            let id = self.units.take(&self.requests, unit, Kind::UserWrite, place);
            self.strand(now, id);
        }
        self.scheduler.released(unit);
        self.commit(now);
    }

    /// Gives up a program: its data stays in the buffer, and whoever waits for it is told.
    pub(crate) fn strand(&mut self, now: Time, id: RequestId) {
        let request = self.requests[id];
        self.left_committed(request.unit, id);
        if self.is_void(id) {
            return self.drop_program(now, id);
        }
        self.requests.remove(id);
        if request.tag != NONE {
            self.page_ended(now, request.tag, request.page, Status::WriteProtected, Cause::Space);
        }
        let e = &mut self.buffer[request.owner];
        e.state = EntryState::Stranded;
        let lists =
            [std::mem::replace(&mut e.waiters, NONE), std::mem::replace(&mut e.programmed_waiters, NONE)];
        for list in lists {
            self.release_waiters(now, list, Status::WriteProtected);
        }
    }
}
