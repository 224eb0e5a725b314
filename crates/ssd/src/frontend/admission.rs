//! Writes that find room in the buffer, or wait for it.

use super::Frontend;
use crate::flash::{LogicalPage, PhysicalPage};
use crate::frontend::buffer::EntryState;
use crate::frontend::link::Arrival;
use crate::mapping::ftl::{Ftl, Location};
use crate::mutation::{Invariant, holds};
use crate::request::{EntryId, RequestId, Tag, WaiterId};
use crate::room::ProgramTime;
use crate::sets::SetId;
use crate::timers::Direction;
use tailcut_base::device::content::Change;
use tailcut_base::{Cause, Status, Time};

impl Frontend {
    /// Finds room in the buffer for the pages of a write, and sends for their data. False when
    /// some must wait.
    pub(crate) fn admit(&mut self, now: Time, tag: Tag, map: &Ftl) -> bool {
        let from = self.tags[tag].admitted;
        let pages = self.tags[tag].pages;
        if self.pacing.is_on()
            && let Some(at) = self.pacing.opens(now)
        {
            (self.buffer_due, self.has_due) = (Some(at), true);
            return false;
        }
        let mut page = from;
        while page < pages && self.has_room(tag, page, map) {
            page += 1;
        }
        if page == from {
            return false;
        }
        if self.pacing.is_on() {
            self.pacing.admit(now, page - from);
        }
        if self.tags[tag].mark < now {
            self.account_wait_for_room(now, tag);
        }
        let bytes = self.tags.bytes_of(tag, from..page);
        let t = &mut self.tags[tag];
        t.admitted = page;
        t.in_transit += 1;
        let transfer = self.link.reserve(Direction::ToDevice, now, t.mark, bytes, from == 0);
        let stored = self.dram.store(transfer.end, bytes);
        if page == pages {
            t.spans.add(Cause::LinkWait, transfer.start.since(t.mark));
            t.spans.add(Cause::Link, transfer.end.since(transfer.start));
            t.spans.add(Cause::Controller, stored.since(transfer.end));
            t.mark = stored;
            if self.tracker.is_on() {
                self.track_room(now, tag);
            }
        }
        self.announce(Direction::ToDevice, stored, Arrival::Data { tag, first: from, pages: page - from });
        page == pages
    }

    /// A write has waited for room up to now.
    pub(crate) fn account_wait_for_room(&mut self, now: Time, tag: Tag) {
        let set = self.set_of_tag(tag);
        self.tags[tag].account_wait_for_room(now, *self.buffer.room_clock(set));
    }

    /// The program of an entry has ended after `time`.
    #[inline]
    pub(crate) fn track_room_made(&mut self, entry: EntryId, time: impl FnOnce() -> ProgramTime) {
        let set = self.buffer.set_of(entry);
        if self.buffer.has_waiting(set) {
            self.buffer.room_clock(set).program_ended(time());
        }
    }

    /// True when a page of a write has room in the buffer, or needs none because it was trimmed.
    #[inline]
    fn has_room(&mut self, tag: Tag, page: u32, map: &Ftl) -> bool {
        match map.lookup(self.tags[tag].page(page)) {
            Location::Buffer(entry) => self.buffer.make_room(entry),
            _ => true,
        }
    }

    /// Frees an entry and lets writes that wait for room come in.
    pub(crate) fn release_entry(&mut self, now: Time, entry: EntryId, map: &Ftl) {
        let set = self.buffer.set_of(entry);
        self.buffer.release(entry);
        if self.buffer.has_waiting(set) {
            self.admit_to(now, set, map);
        }
    }

    /// The pace of writes lets another in.
    #[cold]
    pub(crate) fn admit_waiting(&mut self, now: Time, map: &Ftl) {
        for set in self.sets.ids() {
            self.admit_to(now, set, map);
        }
    }

    /// Lets writes come in that wait for room, as far as there is some.
    fn admit_to(&mut self, now: Time, set: SetId, map: &Ftl) {
        while let Some(&tag) = self.buffer.line(set).front() {
            if !self.admit(now, tag, map) {
                break;
            }
            self.buffer.line(set).pop_front();
        }
    }

    /// An entry that was trimmed before it was programmed is about to leave the buffer: completes the writes
    /// and flushes that wait for its program. True when reads wait for it, too.
    pub(crate) fn give_up_program(&mut self, now: Time, entry: EntryId) -> bool {
        let e = &mut self.buffer[entry];
        let waiters = std::mem::replace(&mut e.waiters, WaiterId::NONE);
        let has_readers = e.readers != RequestId::NONE;
        // A program that failed and was to be repeated has an epoch and waiters of its own.
        let failed = std::mem::replace(&mut e.programmed_waiters, WaiterId::NONE);
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
        has_readers
    }

    /// Takes an entry for a page of a write. `old` is its version on flash, if there is one, and `base` the
    /// content of that, which matters only to a write of a part of the page.
    pub(crate) fn new_entry(&mut self, tag: Tag, page: u32, old: PhysicalPage, base: u32) -> EntryId {
        let logical = self.tags[tag].page(page);
        let entry = self.buffer.create(self.sets.of_logical(logical), logical, old, base);
        self.merge(tag, page, entry);
        entry
    }

    /// True when a page of a write is written from its first sector to its last.
    #[inline]
    pub(crate) fn is_whole(&self, tag: Tag, page: u32) -> bool {
        self.tags.is_whole(tag, page)
    }

    /// A page of a write changes its entry.
    #[inline]
    pub(crate) fn merge(&mut self, tag: Tag, page: u32, entry: EntryId) {
        let whole = self.is_whole(tag, page);
        let t = &self.tags[tag];
        let logical = t.page(page);
        let sectors = self.tags.sectors_of(tag, page);
        let change = Change::write(logical.get(), t.command.content, sectors, whole);
        self.buffer.write(entry, change, sectors, whole, t.command.stream);
        if self.cache.is_on() {
            self.forget_page(logical);
        }
    }

    /// A page is written or trimmed: the cache has it no more.
    #[cold]
    pub(crate) fn forget_page(&mut self, logical: LogicalPage) {
        if holds(Invariant::WriteInvalidates) {
            self.cache.forget(logical);
        }
    }
}
