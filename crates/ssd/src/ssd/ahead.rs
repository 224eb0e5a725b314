//! Reads that the cache serves, and reads ahead of the host.
//!
//! A read that continues where two reads before it ended is part of a stream (`controller/streams`); the
//! pages that follow are scheduled to be read into the cache (`controller/cache`). Each waits in a separate
//! queue of its chip with the lowest priority: a chip reads ahead only when it could start nothing else. A
//! page that the host requests before its chip has begun is read like any other page, and the read-ahead is
//! dropped; it is also dropped when the page has been written, trimmed or moved, and in a quiet period. A
//! read-ahead that has begun is awaited: the remaining time counts as the host read's own.

use super::Ssd;
use crate::backend::transaction::Transaction;
use crate::flash::{LogicalPage, LunId, PhysicalPage};
use crate::frontend::Waiter;
use crate::frontend::cache::CacheLookup;
use crate::mapping::ftl::Location;
use crate::probe::Probe;
use crate::request::{Lane, MemoryRequest, RequestId, Role, SlotId, Tag};
use crate::sets::SetId;
use tailcut_base::device::content;
use tailcut_base::{Cause, Nanos, Spans, Time};

impl<P: Probe> Ssd<P> {
    /// Answers a page of a read from the cache, or lets it wait for a read ahead that has begun. False when
    /// it has to be read from flash. A read with force unit access always has.
    #[cold]
    pub(crate) fn read_cached(&mut self, now: Time, tag: Tag, page: u32, logical: LogicalPage) -> bool {
        if self.frontend.tags[tag].command.fua {
            return false;
        }
        match self.frontend.cache.look_up(logical) {
            CacheLookup::Kept(content) => {
                let t = &mut self.frontend.tags[tag];
                t.content = content::fold(t.content, page, content);
                t.page_done(page);
                true
            }
            CacheLookup::UnderWay(slot) => {
                self.frontend.wait_for_page(now, tag, page, slot);
                if self.frontend.tracker.is_on() {
                    let ahead = self.backend.request(self.frontend.cache.request_of(slot));
                    let began = self.backend.lun(ahead.lun).transaction.started;
                    self.frontend.track_meeting(now, tag, began);
                }
                true
            }
            CacheLookup::No => false,
        }
    }

    /// A page that has been read for the host stays, unless something newer has come meanwhile.
    #[cold]
    pub(crate) fn keep_page(&mut self, logical: LogicalPage, physical: PhysicalPage, content: u32) {
        if self.mapping.ftl.lookup(logical) == Location::Flash(physical) {
            self.frontend.cache.keep(self.mapping.sets.of_logical(logical), logical, content);
        }
    }

    /// Plans what should be read ahead of a stream that this read belongs to.
    #[cold]
    pub(crate) fn read_ahead(&mut self, now: Time, tag: Tag) {
        let command = self.frontend.tags[tag].command;
        let set = self.frontend.set_of_tag(tag);
        let wanted = self.frontend.streams.read(command.sector, command.sectors);
        if self.mapping.steering.is_quiet(set) {
            return;
        }
        for logical in wanted.map(LogicalPage::new) {
            let is_there = logical.get() < self.mapping.ftl.logical_pages()
                && self.mapping.sets.of_logical(logical) == set;
            if !is_there {
                return;
            }
            if !self.plan_ahead(now, set, logical) {
                return self
                    .frontend
                    .streams
                    .stopped(command.sector + u64::from(command.sectors), logical.get());
            }
        }
    }

    /// Plans a page; false when there is no room for it now.
    fn plan_ahead(&mut self, now: Time, set: SetId, logical: LogicalPage) -> bool {
        let Location::Flash(physical) = self.mapping.ftl.lookup(logical) else { return true };
        if self.frontend.cache.knows(logical) {
            return true;
        }
        let Some(slot) = self.frontend.cache.plan(set, logical) else { return false };
        let (lun, place) = self.layout.lun_of_page(physical);
        let mut request = MemoryRequest::internal(now, Lane::AHEAD, Role::Ahead(slot), lun, place);
        (request.logical, request.physical) = (logical, physical);
        let id = self.backend.park(request);
        self.frontend.cache.set_request(slot, id);
        self.backend.commit_own(id);
        true
    }

    /// A read ahead that was void leaves the line of its chip.
    pub(crate) fn drop_plan(&mut self, id: RequestId, slot: SlotId) {
        if self.frontend.cache.is_planned(slot, id) {
            self.frontend.cache.abandon(slot);
        }
        self.backend.remove(id);
    }

    /// A chip begins to read ahead.
    #[cold]
    pub(crate) fn ahead_begins(&mut self, lun: LunId) {
        for index in 0..self.backend.lun(lun).transaction.members().len() {
            let MemoryRequest { role, physical, .. } =
                *self.backend.request(self.backend.lun(lun).transaction.member(index));
            let Role::Ahead(slot) = role else { unreachable!("all of them are read ahead") };
            self.mapping.ftl.pin(physical);
            self.frontend.cache.begin(slot);
        }
    }

    /// Pages that were or are being read ahead and were never requested; walks the cache.
    pub fn unasked(&self) -> u64 {
        self.frontend.cache.unasked()
    }

    /// A page that was read ahead is in the controller.
    #[cold]
    pub(crate) fn ahead_done(&mut self, now: Time, id: RequestId, slot: SlotId) {
        let MemoryRequest { physical, lun, .. } = *self.backend.request(id);
        let content = self.mapping.nand.read(physical);
        self.backend.remove(id);
        self.unpin(now, physical);
        let mut readers = self.frontend.cache.arrived(slot, content);
        while let Some(Waiter { tag, page, since }) = self.frontend.waiters.pop(&mut readers) {
            let t = &mut self.frontend.tags[tag];
            t.content = content::fold(t.content, page, content);
            t.page_done(page);
            if t.remaining == 0 {
                assert_eq!(t.mark, since, "a read waits from its beginning");
                rest_of_read(&mut t.spans, &self.backend.lun(lun).transaction, since, now);
                t.mark = now;
            }
            self.return_data(now, tag);
        }
    }
}

/// Adds the spans of a read from `since` to its `end`, which is that of a transaction that had begun before.
fn rest_of_read(spans: &mut Spans, t: &Transaction, since: Time, end: Time) {
    let phases = [
        (t.started + t.command, Cause::BusCommand),
        (t.cell_end, Cause::Cell),
        (t.out_start, Cause::BusWait),
        (end, Cause::BusTransfer),
    ];
    let mut from = since;
    for (until, cause) in phases {
        let until = until.max(from);
        let gap = if cause == Cause::BusTransfer { t.gap.min(until.since(from)) } else { Nanos::ZERO };
        spans.add(Cause::BusWait, gap);
        spans.add(cause, until.since(from) - gap);
        from = until;
    }
}
