//! The way of a write from the host into the DRAM buffer.

use super::Ssd;
use crate::flash::PhysicalPage;
use crate::frontend::buffer::EntryState;
use crate::frontend::link::Arrival;
use crate::mapping::ftl::Location;
use crate::probe::Probe;
use crate::request::{EntryId, MemoryRequest, RequestId, Tag, WaiterId};
use crate::timers::Direction;
use std::ops::Range;
use tailcut_base::{Cause, Status, Time};

impl<P: Probe> Ssd<P> {
    /// Takes a write.
    #[inline]
    pub(crate) fn write(&mut self, now: Time, tag: Tag) {
        let set = self.frontend.set_of_tag(tag);
        if !self.takes_writes(set) {
            self.frontend.tags[tag].status = Status::WriteProtected;
            return self.frontend.complete_over_link(now, tag);
        }
        if self.frontend.buffer.is_write_through() {
            for page in 0..self.frontend.tags[tag].pages {
                self.write_page_through(now, tag, page);
            }
            self.commit(now);
            return self.wake(now);
        }
        let firmware = self.config.queue.firmware;
        let t = &mut self.frontend.tags[tag];
        t.spans.add(Cause::Controller, firmware);
        t.mark += firmware;
        for page in 0..self.frontend.tags[tag].pages {
            self.enter_buffer(tag, page);
        }
        if !self.frontend.buffer.line(set).is_empty() || !self.frontend.admit(now, tag, &self.mapping.ftl) {
            self.frontend.buffer.line(set).push_back(tag);
            self.write_back(now, set);
            if self.frontend.tracker.is_on() {
                self.frontend.track_wait(now, tag);
            }
        }
    }

    /// Enters a page of a write into the buffer's book: from now on later commands find its
    /// content, although its data is with the host until it has room.
    #[inline]
    pub(crate) fn enter_buffer(&mut self, tag: Tag, page: u32) {
        let logical = self.frontend.tags[tag].page(page);
        match self.mapping.ftl.lookup(logical) {
            Location::Buffer(entry) => {
                self.frontend.buffer.write_hits += 1;
                self.frontend.merge(tag, page, entry);
            }
            mapping => {
                self.new_entry(tag, page, mapping);
            }
        }
    }

    /// Takes an entry of the buffer for a page of a write, which is at `location` now.
    fn new_entry(&mut self, tag: Tag, page: u32, location: Location) -> EntryId {
        let (old, base) = match location {
            Location::Flash(physical) if self.frontend.is_whole(tag, page) => (physical, 0),
            Location::Flash(physical) => (physical, self.mapping.nand.content(physical)),
            _ => (PhysicalPage::NONE, 0),
        };
        let entry = self.frontend.new_entry(tag, page, old, base);
        self.mapping.ftl.set(self.frontend.tags[tag].page(page), Location::Buffer(entry));
        entry
    }

    /// The data of some pages of a write is in the buffer.
    pub(crate) fn data_arrived(&mut self, now: Time, tag: Tag, pages: Range<u32>) {
        for page in pages.clone() {
            let logical = self.frontend.tags[tag].page(page);
            if let Location::Buffer(entry) = self.mapping.ftl.lookup(logical)
                && self.frontend.buffer[entry].state == EntryState::Filling
            {
                self.frontend.buffer.make_dirty(entry);
                if self.frontend.buffer[entry].waiters != WaiterId::NONE {
                    // A write before this one must be durable, and found its page taken over.
                    self.issue(now, entry);
                }
            }
        }
        let set = self.frontend.set_of_tag(tag);
        let t = &mut self.frontend.tags[tag];
        t.in_transit -= 1;
        if t.status == Status::WriteProtected {
            if t.in_transit == 0 {
                self.frontend.refuse(now, tag);
            }
        } else if pages.end == t.pages {
            if t.command.fua && !self.frontend.buffer.capacitor {
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
        for page in 0..self.frontend.tags[tag].pages {
            let logical = self.frontend.tags[tag].page(page);
            let Location::Buffer(entry) = self.mapping.ftl.lookup(logical) else {
                self.frontend.tags[tag].page_done(page);
                continue;
            };
            let never_programmed = match self.frontend.buffer[entry].state {
                EntryState::Stranded => true,
                EntryState::Filling => !self.takes_writes(self.frontend.buffer.set_of(entry)),
                _ => false,
            };
            if never_programmed {
                // The drive has become read-only while the data was on the link.
                self.frontend.tags[tag].status = Status::WriteProtected;
                self.frontend.tags[tag].page_done(page);
                continue;
            }
            self.frontend.attach_waiter(now, tag, page, entry);
            forced.push(entry);
        }
        if forced.is_empty() {
            self.complete(now, tag);
        }
        // On a read-only drive `issue` fails the entry at once, and the command with it: register the waiters of all
        // pages before issuing the first.
        for entry in forced {
            if self.frontend.buffer[entry].state == EntryState::Dirty {
                self.issue(now, entry);
            }
        }
        self.wake(now);
    }

    /// A page of a write in write-through mode: it is complete when it is on flash.
    pub(crate) fn write_page_through(&mut self, now: Time, tag: Tag, page: u32) {
        let logical = self.frontend.tags[tag].page(page);
        let mapping = self.mapping.ftl.lookup(logical);
        if let Location::Buffer(entry) = mapping {
            self.frontend.buffer.write_hits += 1;
            self.frontend.merge(tag, page, entry);
            let bytes = self.frontend.tags[tag].bytes_of(page, page + 1, self.frontend.page_sectors);
            self.frontend.link.reserve(Direction::ToDevice, now, now, bytes, page == 0);
            return self.frontend.attach_waiter(now, tag, page, entry);
        }
        let entry = self.new_entry(tag, page, mapping);
        let mut request = self.program_request(now, entry);
        (request.tag, request.page) = (tag, page);
        let _lun = request.lun;
        let id = self.backend.hold(now, request);
        self.arrive(id);
    }

    /// Moves the data of a committed write from the host.
    #[inline]
    pub(crate) fn fetch_page(&mut self, now: Time, id: RequestId) {
        let MemoryRequest { tag, page, .. } = *self.backend.request(id);
        self.backend.await_data(id);
        let bytes = self.frontend.tags[tag].bytes_of(page, page + 1, self.frontend.page_sectors);
        let transfer = self.frontend.link.reserve(Direction::ToDevice, now, now, bytes, page == 0);
        self.backend.request_mut(id).link = transfer.end.since(now).0.min(u64::from(u32::MAX)) as u32;
        self.frontend.announce(Direction::ToDevice, transfer.end, Arrival::Page(id));
    }

    /// The data of a committed write is here: it can go to its chip, once the rest of its page is
    /// known.
    pub(crate) fn page_arrived(&mut self, now: Time, id: RequestId) {
        let lun = self.backend.request(id).lun;
        let entry = self.backend.request(id).entry();
        self.backend.data_arrived(id);
        self.backend.wake(lun);
        self.frontend.buffer[entry].state = EntryState::Issued;
        if self.frontend.buffer[entry].whole || self.frontend.buffer[entry].trimmed {
            self.commit_program(now, id);
        } else {
            self.read_rest(now, entry, id);
        }
        self.wake(now);
    }
}
