//! The ends of commands: pages that are complete, data that goes to the host, completions.

use super::Frontend;
use super::waiters::Waiter;
use crate::config::{Classes, SECTORS_MAX};
use crate::flash::LogicalPage;
use crate::frontend::buffer::EntryState;
use crate::frontend::link::Arrival;
use crate::request::{EntryId, REGULAR, SlotId, Tag, WaiterId};
use crate::sets::SetId;
use crate::timers::Direction;
use std::ops::Range;
use tailcut_base::cast::to_usize;
use tailcut_base::ids::Id;
use tailcut_base::{Cause, Command, Completion, Nanos, Op, Status, Time};

impl Frontend {
    /// Announces an arrival over the link.
    #[inline]
    pub(crate) fn announce(&mut self, direction: Direction, end: Time, arrival: Arrival) {
        if let Some(at) = self.link.announce(direction, end, arrival) {
            (self.due[direction as usize], self.has_due) = (Some(at), true);
        }
    }

    /// True if a timer is to be set: see [`Frontend::take_due`] and [`Frontend::take_buffer_due`]. False when
    /// asked again.
    #[inline(always)]
    pub(crate) fn take_has_due(&mut self) -> bool {
        std::mem::take(&mut self.has_due)
    }

    /// When the next arrival over the link is to be served, if that has changed since it was last asked for.
    #[inline(always)]
    pub(crate) fn take_due(&mut self, direction: Direction) -> Option<Time> {
        self.due[direction as usize].take()
    }

    /// When writes that wait are to be looked at again, if that has changed since it was last asked for.
    #[inline(always)]
    pub(crate) fn take_buffer_due(&mut self) -> Option<Time> {
        self.buffer_due.take()
    }

    /// Sends the completion of a command that has no data for the host and whose work has ended.
    /// The cost of the command on the link was paid already if its data came over it.
    pub(crate) fn complete_over_link(&mut self, now: Time, tag: Tag) {
        let trim = if self.tags[tag].command.op == Op::Trim { self.trim_time } else { Nanos::ZERO };
        let firmware = self.firmware + trim;
        let ready = now + firmware;
        let has_no_data = self.tags[tag].command.op != Op::Write;
        let transfer = self.link.reserve(Direction::ToHost, now, ready, 0, has_no_data);
        let t = &mut self.tags[tag];
        assert_eq!(t.mark, now, "the account of a command stands where its work ended");
        t.spans.add(Cause::Controller, firmware);
        t.spans.add(Cause::LinkWait, transfer.start.since(ready));
        t.spans.add(Cause::Link, transfer.end.since(transfer.start));
        t.mark = transfer.end;
        self.announce(Direction::ToHost, transfer.end, Arrival::Completion(tag));
    }

    /// The status with which a command is refused that the drive does not take; `None` for all others.
    #[inline]
    pub(crate) fn refusal(&self, command: &Command) -> Option<Status> {
        if command.op == Op::Flush {
            let names_no_set = self.sets.are_many() && command.sector >= self.sectors;
            return names_no_set.then_some(Status::InvalidField);
        }
        let end = command.sector.checked_add(u64::from(command.sectors));
        let fits = command.sectors > 0 && end.is_some_and(|end| end <= self.sectors);
        let is_good = fits && command.sectors <= SECTORS_MAX && self.stays_in_set(command);
        (!is_good).then_some(Status::InvalidField)
    }

    /// Sets are namespaces: no command is for two of them.
    #[inline]
    fn stays_in_set(&self, command: &Command) -> bool {
        let last = command.sector + u64::from(command.sectors) - 1;
        self.set_of_sector(command.sector) == self.set_of_sector(last)
    }

    /// The next command that has waited for others to end, if it may begin.
    pub(crate) fn next_in_line(&mut self, now: Time) -> Option<(Tag, Op)> {
        let (tag, op) = self.non_queued.next(|tag| self.tags[tag].command.op)?;
        self.tags[tag].account(now, Cause::QueueDrain);
        Some((tag, op))
    }

    /// The next command that has waited in a submission queue, if the pool has room.
    pub(crate) fn fetch_command(&mut self, now: Time) -> Option<(Tag, Op)> {
        let tag = self.submission.fetch()?;
        self.tags[tag].account(now, Cause::Tag);
        Some((tag, self.tags[tag].command.op))
    }

    /// The host sees the end of a command now: all of its time must be accounted for.
    #[inline(always)]
    pub(crate) fn complete(&mut self, now: Time, tag: Tag) -> Completion {
        let t = &self.tags[tag];
        assert_eq!(t.mark, now, "a span of the command is missing or counted twice");
        debug_assert_eq!(t.spans.total(), now.since(t.arrived));
        if self.tracker.is_on() {
            self.track_end(now, tag);
        }
        let t = &self.tags[tag];
        Completion {
            id: t.command.id,
            status: t.status,
            at: now,
            content: t.content,
            busy_for: if t.status == Status::Contended { t.busy_for(now) } else { Nanos::ZERO },
            spans: t.spans,
        }
    }

    /// A command that was completed leaves the drive.
    #[inline(always)]
    pub(crate) fn leave(&mut self, tag: Tag) {
        self.tags.release(tag);
        self.non_queued.leave();
        self.submission.leave();
    }

    /// The controller has worked on a write before it knows where its data goes.
    #[inline]
    pub(crate) fn account_firmware(&mut self, tag: Tag) {
        let firmware = self.firmware;
        let t = &mut self.tags[tag];
        t.spans.add(Cause::Controller, firmware);
        t.mark += firmware;
    }

    /// Moves the data of page `page` of a write from the host. Returns when it is here.
    #[inline]
    pub(crate) fn transfer_page(&mut self, now: Time, tag: Tag, page: u32) -> Time {
        let bytes = self.tags.bytes_of(tag, page..page + 1);
        self.link.reserve(Direction::ToDevice, now, now, bytes, page == 0).end
    }

    /// The whole pages that a trim covers.
    pub(crate) fn whole_pages(&self, tag: Tag) -> Range<LogicalPage> {
        let command = &self.tags[tag].command;
        let sectors = u64::from(self.page_sectors);
        let page = |number: u64| LogicalPage::at(to_usize(number));
        let end = (command.sector + u64::from(command.sectors)) / sectors;
        page(command.sector.div_ceil(sectors))..page(end)
    }

    /// The rank of the memory requests of a read: see [`Lane::of_rank`](crate::request::Lane::of_rank).
    #[inline(always)]
    pub(crate) fn rank_of(&mut self, tag: Tag) -> u8 {
        match self.classes {
            Classes::Told => (self.tags[tag].command.class.number() - 1).min(REGULAR),
            Classes::Equal => REGULAR,
            Classes::Inferred => self.infer_rank(tag),
        }
    }

    #[cold]
    fn infer_rank(&mut self, tag: Tag) -> u8 {
        let t = &self.tags[tag];
        self.inference.rank(&t.command, t.pages)
    }

    /// Sends to the host what can be sent in order.
    #[inline(always)]
    pub(crate) fn return_data(&mut self, now: Time, tag: Tag) {
        let pages = self.tags[tag].returnable();
        if pages.is_empty() {
            return;
        }
        let firmware = self.firmware;
        let bytes = self.tags.bytes_of(tag, pages.clone());
        let t = &mut self.tags[tag];
        t.returned = pages.end;
        let last = pages.end == t.pages;
        let ready = if last { now + firmware } else { now };
        let transfer = self.link.reserve(Direction::ToHost, now, ready, bytes, last);
        if last {
            let t = &mut self.tags[tag];
            assert_eq!(t.mark, now, "the last page to arrive completes the account");
            t.spans.add(Cause::Controller, firmware);
            t.spans.add(Cause::LinkWait, transfer.start.since(ready));
            t.spans.add(Cause::Link, transfer.end.since(transfer.start));
            t.mark = transfer.end;
            self.announce(Direction::ToHost, transfer.end, Arrival::Completion(tag));
        }
    }

    /// A page of a command is complete; what was left of its time went into `cause`.
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

    /// Answers a write for which there will never be room.
    pub(crate) fn refuse(&mut self, now: Time, tag: Tag) {
        // The controller's own work for a write that has just come may not be over yet.
        let end = now.max(self.tags[tag].mark);
        self.account_wait_for_room(end, tag);
        self.complete_over_link(end, tag);
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
    pub(crate) fn release_waiters(&mut self, now: Time, mut list: WaiterId, status: Status) {
        let cause = if self.buffer.is_write_through() { Cause::Hazard } else { Cause::Flush };
        while let Some(Waiter { tag, page, .. }) = self.waiters.pop(&mut list) {
            self.page_ended(now, tag, page, status, cause);
        }
    }

    /// Lets a page of a write wait for the program of an entry. What is being programmed already
    /// has the page's data, unless it was written again.
    pub(crate) fn attach_waiter(&mut self, now: Time, tag: Tag, page: u32, entry: EntryId) {
        let e = &mut self.buffer[entry];
        let list = if e.state == EntryState::Programming && !e.dirty_again {
            &mut e.programmed_waiters
        } else {
            &mut e.waiters
        };
        *list = self.waiters.push(Waiter { tag, page, since: now }, *list);
    }

    /// Lets a page of a read wait for a read ahead that has begun.
    pub(crate) fn wait_for_page(&mut self, now: Time, tag: Tag, page: u32, slot: SlotId) {
        let list = self.cache.readers_mut(slot);
        *list = self.waiters.push(Waiter { tag, page, since: now }, *list);
    }

    /// The set that a command in the drive is for.
    #[inline]
    pub(crate) fn set_of_tag(&self, tag: Tag) -> SetId {
        self.set_of_sector(self.tags[tag].command.sector)
    }

    /// The set that a command with this first sector is for.
    #[inline]
    pub(crate) fn set_of_sector(&self, sector: u64) -> SetId {
        if self.sets.are_many() { SetId::at(to_usize(sector / self.sectors_of_set())) } else { SetId::FIRST }
    }

    pub(crate) fn sectors_of_set(&self) -> u64 {
        self.sets.logical_pages() * u64::from(self.page_sectors)
    }
}
