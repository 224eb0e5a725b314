//! Trim and flush.

use super::Ssd;
use crate::flash::{LogicalPage, PhysicalPage};
use crate::frontend::buffer::EntryState;
use crate::mapping::ftl::Location;
use crate::mutation::{Invariant, holds};
use crate::probe::Probe;
use crate::request::{EntryId, Tag, WaiterId};
use crate::sets::SetId;
use tailcut_base::ids::Id;
use tailcut_base::{Status, Time};

impl<P: Probe> Ssd<P> {
    /// Takes a trim: whole pages are forgotten.
    pub(crate) fn trim(&mut self, now: Time, tag: Tag) {
        let command = self.frontend.tags[tag].command;
        let sectors = u64::from(self.frontend.page_sectors);
        let page = |number: u64| LogicalPage::at(number as usize);
        let end = (command.sector + u64::from(command.sectors)) / sectors;
        let pages = page(command.sector.div_ceil(sectors))..page(end);
        for logical in pages.start.up_to(pages.end) {
            self.trim_page(now, logical);
        }
        self.mapping.release_trimmed(now, pages);
        self.carry_out(now);
        self.frontend.complete_over_link(now, tag);
        self.wake(now);
    }

    pub(crate) fn trim_page(&mut self, now: Time, logical: LogicalPage) {
        if self.frontend.cache.is_on() {
            self.frontend.forget_page(logical);
        }
        match self.mapping.ftl.lookup(logical) {
            Location::Unmapped => {}
            Location::Flash(physical) => {
                self.mapping.ftl.invalidate(physical, now);
                self.mapping.ftl.set(logical, Location::Unmapped);
            }
            Location::Buffer(entry) => {
                self.mapping.ftl.set(logical, Location::Unmapped);
                self.trim_entry(now, entry);
            }
        }
    }

    pub(crate) fn trim_entry(&mut self, now: Time, entry: EntryId) {
        let e = self.frontend.buffer[entry];
        if e.old != PhysicalPage::NONE {
            self.mapping.ftl.invalidate(e.old, now);
            self.frontend.buffer[entry].old = PhysicalPage::NONE;
        }
        let has_request = match e.state {
            EntryState::Dirty => {
                self.frontend.buffer.leave_line(entry);
                false
            }
            EntryState::Filling => self.frontend.buffer.is_write_through(),
            EntryState::Stranded => false,
            _ => true,
        };
        if !has_request {
            return self.forget(now, entry);
        }
        self.frontend.buffer[entry].trimmed = true;
        if e.dirty_again {
            self.frontend.buffer[entry].dirty_again = false;
            self.frontend.buffer[entry].waiters = WaiterId::NONE;
            self.frontend.settle(now, self.frontend.buffer.set_of(entry), self.frontend.buffer.epoch(entry));
            self.frontend.release_waiters(now, e.waiters, Status::Success);
        }
    }

    /// Takes a flush of a set.
    pub(crate) fn flush(&mut self, now: Time, tag: Tag) {
        if self.frontend.buffer.is_write_through() || self.frontend.buffer.capacitor {
            return self.frontend.complete_over_link(now, tag);
        }
        let set = if holds(Invariant::FlushOfSet) { self.frontend.set_of_tag(tag) } else { SetId::FIRST };
        if !self.takes_writes(set) && !self.frontend.buffer.is_durable(set) {
            self.frontend.tags[tag].status = Status::WriteProtected;
            return self.frontend.complete_over_link(now, tag);
        }
        if self.frontend.buffer.flush(set, tag) {
            return self.frontend.complete_over_link(now, tag);
        }
        self.write_back(now, set);
    }
}
