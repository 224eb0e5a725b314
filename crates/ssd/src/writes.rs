//! The way of a write from the host into the DRAM buffer.

use crate::controller::buffer::EntryState;
use crate::controller::ftl::Mapping;
use crate::controller::link::{Arrival, Direction};
use crate::flash::{LunId, PhysicalPage};
use crate::probe::Probe;
use crate::request::Tag;
use crate::request::{EntryId, Lane, MemoryRequest, RequestId, Role};
use crate::ssd::Ssd;
use tailcut_base::device::content::Change;
use tailcut_base::{Cause, Status, Time};

impl<P: Probe> Ssd<P> {
    /// Takes a write.
    #[inline]
    pub(crate) fn write(&mut self, now: Time, tag: Tag) {
        let set = self.set_of_tag(tag);
        if !self.takes_writes(set) {
            self.tags[tag].status = Status::WriteProtected;
            return self.complete_over_link(now, tag);
        }
        if self.buffer.is_write_through() {
            for page in 0..self.tags[tag].pages {
                self.write_page_through(now, tag, page);
            }
            self.commit(now);
            return self.wake(now);
        }
        let firmware = self.config.queue.firmware;
        let t = &mut self.tags[tag];
        t.spans.add(Cause::Controller, firmware);
        t.mark += firmware;
        for page in 0..self.tags[tag].pages {
            self.enter_buffer(tag, page);
        }
        if !self.buffer.line(set).is_empty() || !self.admit(now, tag) {
            self.buffer.line(set).push_back(tag);
            self.write_back(now, set);
            if self.tracker.is_on() {
                self.track_wait(now, tag);
            }
        }
    }

    /// Enters a page of a write into the buffer's book: from now on later commands find its
    /// content, although its data is with the host until it has room.
    #[inline]
    pub(crate) fn enter_buffer(&mut self, tag: Tag, page: u32) {
        let logical = self.tags[tag].page(page);
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
    pub(crate) fn admit(&mut self, now: Time, tag: Tag) -> bool {
        let from = self.tags[tag].admitted;
        let pages = self.tags[tag].pages;
        if self.pacing.is_on()
            && let Some(at) = self.pacing.opens(now)
        {
            self.set_silence_timer(at);
            return false;
        }
        let mut page = from;
        while page < pages && self.has_room(tag, page) {
            page += 1;
        }
        if page == from {
            return false;
        }
        if self.pacing.is_on() {
            self.pacing.admit(now, page - from);
        }
        let t = &mut self.tags[tag];
        if t.mark < now {
            t.spans.add(Cause::BufferFull, now.since(t.mark));
            t.mark = now;
        }
        let bytes = t.bytes_of(from, page, self.page_sectors);
        t.admitted = page;
        t.in_transit += 1;
        let transfer = self.link.reserve(Direction::ToDevice, now, t.mark, bytes, from == 0);
        if page == pages {
            t.spans.add(Cause::LinkWait, transfer.start.since(t.mark));
            t.spans.add(Cause::Link, transfer.end.since(transfer.start));
            t.mark = transfer.end;
            if self.tracker.is_on() {
                self.track_room(now, tag);
            }
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
    pub(crate) fn has_room(&mut self, tag: Tag, page: u32) -> bool {
        match self.ftl.lookup(self.tags[tag].page(page)) {
            Mapping::Buffer(entry) => self.buffer.make_room(entry),
            _ => true,
        }
    }

    pub(crate) fn new_entry(&mut self, tag: Tag, page: u32, mapping: Mapping) -> EntryId {
        let t = &self.tags[tag];
        let logical = t.page(page);
        let whole = t.sectors_of(page, self.page_sectors) == u64::MAX >> (64 - self.page_sectors);
        let (old, base) = match mapping {
            // The old content matters only to a write of a part of the page.
            Mapping::Flash(physical) => (physical, if whole { 0 } else { self.nand.content(physical) }),
            _ => (PhysicalPage::NONE, 0),
        };
        let entry = self.buffer.create(self.sets.of_logical(logical), logical, old, base);
        self.ftl.set(logical, Mapping::Buffer(entry));
        self.merge(tag, page, entry);
        entry
    }

    #[inline]
    pub(crate) fn merge(&mut self, tag: Tag, page: u32, entry: EntryId) {
        let t = &self.tags[tag];
        let logical = t.page(page);
        let sectors = t.sectors_of(page, self.page_sectors);
        let whole = sectors == u64::MAX >> (64 - self.page_sectors);
        let change = Change::write(t.command.content, logical.get(), sectors, whole);
        self.buffer.write(entry, change, sectors, whole, t.command.stream);
        if self.cache.is_on() {
            self.forget_page(logical);
        }
    }

    /// The data of some pages of a write is in the buffer.
    pub(crate) fn data_arrived(&mut self, now: Time, tag: Tag, first: u32, pages: u32) {
        for page in first..first + pages {
            let logical = self.tags[tag].page(page);
            if let Mapping::Buffer(entry) = self.ftl.lookup(logical)
                && self.buffer[entry].state == EntryState::Filling
            {
                self.buffer.make_dirty(entry);
                if self.buffer[entry].waiters != RequestId::NONE {
                    // A write before this one must be durable, and found its page taken over.
                    self.issue(now, entry);
                }
            }
        }
        let set = self.set_of_tag(tag);
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
        self.write_back(now, set);
    }

    /// A write that must be durable waits for the programs of its pages, which start at once.
    pub(crate) fn force(&mut self, now: Time, tag: Tag) {
        let mut forced = Vec::new();
        for page in 0..self.tags[tag].pages {
            let logical = self.tags[tag].page(page);
            let Mapping::Buffer(entry) = self.ftl.lookup(logical) else {
                self.tags[tag].page_done(page);
                continue;
            };
            let never_programmed = match self.buffer[entry].state {
                EntryState::Stranded => true,
                EntryState::Filling => !self.takes_writes(self.buffer.set_of(entry)),
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
    pub(crate) fn attach_waiter(&mut self, now: Time, tag: Tag, page: u32, entry: EntryId) {
        let mut waiter = self.internal(now, Lane::USER_WRITE, Role::Waiter, LunId::NONE, 0);
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
    pub(crate) fn write_page_through(&mut self, now: Time, tag: Tag, page: u32) {
        let logical = self.tags[tag].page(page);
        let mapping = self.ftl.lookup(logical);
        if let Mapping::Buffer(entry) = mapping {
            self.buffer.write_hits += 1;
            self.merge(tag, page, entry);
            let bytes = self.tags[tag].bytes_of(page, page + 1, self.page_sectors);
            self.link.reserve(Direction::ToDevice, now, now, bytes, page == 0);
            return self.attach_waiter(now, tag, page, entry);
        }
        let entry = self.new_entry(tag, page, mapping);
        let mut request = self.program_request(now, entry);
        (request.tag, request.page) = (tag, page);
        let lun = request.lun;
        let id = self.requests.add(request);
        self.requests.snapshot(id, self.luns[lun].account(now));
        self.arrive(id);
    }

    /// Moves the data of a committed write from the host.
    #[inline]
    pub(crate) fn fetch_page(&mut self, now: Time, id: RequestId) {
        let MemoryRequest { tag, page, lun, place, .. } = self.requests[id];
        self.luns.await_data(lun, u32::from(place));
        let bytes = self.tags[tag].bytes_of(page, page + 1, self.page_sectors);
        let transfer = self.link.reserve(Direction::ToDevice, now, now, bytes, page == 0);
        self.requests[id].link = transfer.end.since(now).0.min(u64::from(u32::MAX)) as u32;
        self.announce(Direction::ToDevice, transfer.end, Arrival::Page(id));
    }

    /// The data of a committed write is here: it can go to its chip, once the rest of its page is
    /// known.
    pub(crate) fn page_arrived(&mut self, now: Time, id: RequestId) {
        let MemoryRequest { lun, place, .. } = self.requests[id];
        let entry = self.requests[id].entry();
        self.luns.data_arrived(lun, u32::from(place));
        self.woken.push(lun);
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
        let lun = self.requests[id].lun;
        self.requests[id].order = self.requests.next_order();
        self.luns.commit(&mut self.requests, id);
        self.woken.push(lun);
    }
}
