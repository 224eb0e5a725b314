//! Trim and flush.

use crate::controller::buffer::EntryState;
use crate::controller::ftl::Mapping;
use crate::flash::{LogicalPage, PhysicalPage};
use crate::mutation::{Invariant, holds};
use crate::probe::Probe;
use crate::request::Tag;
use crate::request::{EntryId, RequestId};
use crate::sets::SetId;
use crate::ssd::Ssd;
use tailcut_base::ids::Id;
use tailcut_base::{Status, Time};

impl<P: Probe> Ssd<P> {
    /// Takes a trim: whole pages are forgotten.
    pub(crate) fn trim(&mut self, now: Time, tag: Tag) {
        let command = self.tags[tag].command;
        let sectors = u64::from(self.page_sectors);
        let page = |number: u64| LogicalPage::at(number as usize);
        let end = (command.sector + u64::from(command.sectors)) / sectors;
        let pages = page(command.sector.div_ceil(sectors))..page(end);
        for logical in pages.start.up_to(pages.end) {
            self.trim_page(now, logical);
        }
        self.release_trimmed(now, pages);
        self.complete_over_link(now, tag);
        self.wake(now);
    }

    pub(crate) fn trim_page(&mut self, now: Time, logical: LogicalPage) {
        if self.cache.is_on() {
            self.forget_page(logical);
        }
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

    pub(crate) fn trim_entry(&mut self, now: Time, entry: EntryId) {
        let e = self.buffer[entry];
        if e.old != PhysicalPage::NONE {
            self.ftl.invalidate(e.old, now);
            self.buffer[entry].old = PhysicalPage::NONE;
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
            self.buffer[entry].waiters = RequestId::NONE;
            self.settle(now, self.buffer.set_of(entry), self.buffer.epoch(entry));
            self.release_waiters(now, e.waiters, Status::Success);
        }
    }

    /// Takes a flush of a set.
    pub(crate) fn flush(&mut self, now: Time, tag: Tag) {
        if self.buffer.is_write_through() || self.buffer.capacitor {
            return self.complete_over_link(now, tag);
        }
        let set = if holds(Invariant::FlushOfSet) { self.set_of_tag(tag) } else { SetId::FIRST };
        if !self.takes_writes(set) && !self.buffer.is_durable(set) {
            self.tags[tag].status = Status::WriteProtected;
            return self.complete_over_link(now, tag);
        }
        if self.buffer.flush(set, tag) {
            return self.complete_over_link(now, tag);
        }
        self.write_back(now, set);
    }
}
