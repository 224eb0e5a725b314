//! What becomes of a page of the buffer: its data arrives, it is programmed, trimmed, or never will be
//! programmed.

use super::Frontend;
use crate::flash::{LogicalPage, PhysicalPage};
use crate::frontend::buffer::{Entry, EntryState};
use crate::mapping::ftl::{Ftl, Location};
use crate::mutation::{Invariant, holds};
use crate::request::{EntryId, RequestId, Tag, WaiterId};
use crate::sets::SetId;
use std::ops::Range;
use tailcut_base::{Cause, Status, Time};

/// What follows from the arrival of a write's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Arrived {
    /// More has to come, or the write has been refused meanwhile.
    InPart,
    /// The write is complete.
    Complete,
    /// The write has to be durable first.
    ToBeForced,
}

impl Frontend {
    /// Takes a write into the buffer's book, if it has room at once, or else into the line of its set. False
    /// when some of it has to wait.
    #[inline]
    pub(crate) fn admit_or_queue(&mut self, now: Time, tag: Tag, map: &Ftl) -> bool {
        let set = self.set_of_tag(tag);
        if self.buffer.line(set).is_empty() && self.admit(now, tag, map) {
            return true;
        }
        self.buffer.line(set).push_back(tag);
        self.tags[tag].wait_for_room(*self.buffer.room_clock(set));
        false
    }

    /// The data of a page of a write is in the buffer. Returns its entry if a write before this one must be
    /// durable, and found its page taken over.
    #[inline]
    pub(crate) fn page_filled(&mut self, tag: Tag, page: u32, map: &Ftl) -> Option<EntryId> {
        let Location::Buffer(entry) = map.lookup(self.tags[tag].page(page)) else { return None };
        if self.buffer[entry].state != EntryState::Filling {
            return None;
        }
        self.buffer.make_dirty(entry);
        (self.buffer[entry].waiters != WaiterId::NONE).then_some(entry)
    }

    /// The data of some pages of a write has come over the link.
    #[inline]
    pub(crate) fn pages_arrived(&mut self, now: Time, tag: Tag, pages: Range<u32>) -> Arrived {
        let t = &mut self.tags[tag];
        t.in_transit -= 1;
        if t.status == Status::WriteProtected {
            if t.in_transit == 0 {
                self.refuse(now, tag);
            }
            return Arrived::InPart;
        }
        match pages.end == t.pages {
            false => Arrived::InPart,
            true if t.command.fua && !self.buffer.capacitor => Arrived::ToBeForced,
            true => Arrived::Complete,
        }
    }

    /// A write must be durable: each of its pages waits for the program of its entry. Returns these entries;
    /// none when the write is complete. It fails where the drive has become read-only while the data was on
    /// the link.
    pub(crate) fn force(
        &mut self,
        now: Time,
        tag: Tag,
        map: &Ftl,
        takes_writes: impl Fn(SetId) -> bool,
    ) -> Vec<EntryId> {
        let mut forced = Vec::new();
        for page in 0..self.tags[tag].pages {
            let Location::Buffer(entry) = map.lookup(self.tags[tag].page(page)) else {
                self.tags[tag].page_done(page);
                continue;
            };
            let never_programmed = match self.buffer[entry].state {
                EntryState::Stranded => true,
                EntryState::Filling => !takes_writes(self.buffer.set_of(entry)),
                _ => false,
            };
            if never_programmed {
                self.tags[tag].status = Status::WriteProtected;
                self.tags[tag].page_done(page);
                continue;
            }
            self.attach_waiter(now, tag, page, entry);
            forced.push(entry);
        }
        forced
    }

    /// Answers a write or a flush that cannot be carried out: of a set that takes no writes, or of a reclaim
    /// group that is full.
    pub(crate) fn answer_refused(&mut self, now: Time, tag: Tag, status: Status) {
        self.tags[tag].status = status;
        self.complete_over_link(now, tag);
    }

    /// Takes a flush. Returns its set if something of that has to be written back first.
    pub(crate) fn flush(
        &mut self,
        now: Time,
        tag: Tag,
        takes_writes: impl Fn(SetId) -> bool,
    ) -> Option<SetId> {
        let set = if holds(Invariant::FlushOfSet) { self.set_of_tag(tag) } else { SetId::FIRST };
        let is_durable = self.buffer.is_write_through() || self.buffer.capacitor;
        if !is_durable && !takes_writes(set) && !self.buffer.is_durable(set) {
            self.answer_refused(now, tag, Status::WriteProtected);
        } else if is_durable || self.buffer.flush(set, tag) {
            self.complete_over_link(now, tag);
        } else {
            return Some(set);
        }
        None
    }

    /// The page of an entry is trimmed. True when the entry has no request under way, and is to be forgotten.
    pub(crate) fn trim_entry(&mut self, now: Time, entry: EntryId) -> bool {
        let e = self.buffer[entry];
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
            return true;
        }
        self.buffer[entry].trimmed = true;
        if e.dirty_again {
            self.buffer[entry].dirty_again = false;
            self.buffer[entry].waiters = WaiterId::NONE;
            self.settle(now, self.buffer.set_of(entry), self.buffer.epoch(entry));
            self.release_waiters(now, e.waiters, Status::Success);
        }
        false
    }

    /// An entry's data is on flash: completes all commands that waited for that. Returns the entry as it was;
    /// reads that have waited are not in its list any more.
    pub(crate) fn program_ended(&mut self, now: Time, entry: EntryId) -> Entry {
        let e = self.buffer[entry];
        self.settle(now, self.buffer.set_of(entry), self.buffer.programmed_epoch(entry));
        self.release_waiters(now, e.programmed_waiters, Status::Success);
        let e_now = &mut self.buffer[entry];
        (e_now.programmed_waiters, e_now.readers) = (WaiterId::NONE, RequestId::NONE);
        e
    }

    /// An entry was written again while it was programmed into `physical`: it is dirty. True when it has to
    /// be issued at once.
    pub(crate) fn dirty_again(&mut self, entry: EntryId, physical: PhysicalPage) -> bool {
        self.buffer[entry].old = physical;
        self.buffer[entry].dirty_again = false;
        self.buffer.make_dirty(entry);
        self.buffer.is_write_through() || self.buffer[entry].waiters != WaiterId::NONE
    }

    /// The program of an entry will never be, for want of an erased page: fails what waits for it.
    pub(crate) fn strand_entry(&mut self, now: Time, entry: EntryId) {
        let e = &mut self.buffer[entry];
        e.state = EntryState::Stranded;
        let lists = [
            std::mem::replace(&mut e.waiters, WaiterId::NONE),
            std::mem::replace(&mut e.programmed_waiters, WaiterId::NONE),
        ];
        for list in lists {
            self.release_waiters(now, list, Status::WriteProtected);
        }
    }

    /// A set takes no writes from now on: those that wait for room fail, those whose data is on the link, and
    /// flushes that wait.
    pub(crate) fn refuse_writes(&mut self, now: Time, set: SetId) {
        while let Some(tag) = self.buffer.line(set).pop_front() {
            self.tags[tag].status = Status::WriteProtected;
            if self.tags[tag].in_transit == 0 {
                self.refuse(now, tag);
            }
        }
        for entry in self.buffer.filling(set) {
            // The write whose data it waits for has just been refused.
            let waiters = std::mem::replace(&mut self.buffer[entry].waiters, WaiterId::NONE);
            self.release_waiters(now, waiters, Status::WriteProtected);
        }
        let mut flushes = Vec::new();
        self.buffer.give_up_flushes(set, &mut flushes);
        for tag in flushes {
            let t = &mut self.tags[tag];
            t.status = Status::WriteProtected;
            t.spans.add(Cause::Flush, now.since(t.mark));
            t.mark = now;
            self.complete_over_link(now, tag);
        }
    }

    /// The page of a word line that was spoiled is in the buffer, or a newer version of it: its version on
    /// flash is gone, and what a newer one lacks is in the controller's copy.
    pub(crate) fn lose_old_version(&mut self, entry: EntryId) {
        self.buffer[entry].old = PhysicalPage::NONE;
        self.buffer[entry].whole = true;
    }

    /// Takes a page of `content` back into the buffer that was lost on flash. It is issued already.
    pub(crate) fn restore_entry(&mut self, logical: LogicalPage, content: u32) -> EntryId {
        let entry = self.buffer.create(self.sets.of_logical(logical), logical, PhysicalPage::NONE, content);
        self.buffer.make_dirty(entry);
        self.buffer.leave_line(entry);
        entry
    }

    /// True when a command waits for one of these entries of the first set, or for a flush of it, to be
    /// durable.
    pub(crate) fn awaits(&self, mut entries: impl Iterator<Item = EntryId>) -> bool {
        self.may_await()
            && (self.buffer.awaits_flush(SetId::FIRST)
                || entries.any(|entry| self.buffer[entry].waiters != WaiterId::NONE))
    }

    /// False when no command waits for any entry of the first set, or for a flush of it, to be durable.
    pub(crate) fn may_await(&self) -> bool {
        !self.buffer.capacitor && (self.buffer.awaits_flush(SetId::FIRST) || !self.waiters.is_empty())
    }
}
