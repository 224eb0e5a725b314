//! Reads that the cache serves, and reads ahead of the host.
//!
//! A read that continues where two reads before it ended is part of a stream (`controller/streams`); the
//! pages that follow are scheduled to be read into the cache (`controller/cache`). Each waits in a separate
//! queue of its chip with the lowest priority: a chip reads ahead only when it could start nothing else. A
//! page that the host requests before its chip has begun is read like any other page, and the read-ahead is
//! dropped; it is also dropped when the page has been written, trimmed or moved, and in a quiet period. A
//! read-ahead that has begun is awaited: the remaining time counts as the host read's own.

use crate::controller::cache::CacheLookup;
use crate::controller::ftl::Mapping;
use crate::flash::lun::Transaction;
use crate::flash::{LogicalPage, LunId, PhysicalPage};
use crate::mutation::{Invariant, holds};
use crate::probe::Probe;
use crate::request::Tag;
use crate::request::{Lane, MemoryRequest, RequestId, Role, SlotId};
use crate::sets::SetId;
use crate::ssd::Ssd;
use tailcut_base::device::content;
use tailcut_base::{Cause, Nanos, Spans, Time};

impl<P: Probe> Ssd<P> {
    /// Answers a page of a read from the cache, or lets it wait for a read ahead that has begun. False when
    /// it has to be read from flash. A read with force unit access always has.
    #[cold]
    pub(crate) fn read_cached(&mut self, now: Time, tag: Tag, page: u32, logical: LogicalPage) -> bool {
        if self.tags[tag].command.fua {
            return false;
        }
        match self.cache.look_up(logical) {
            CacheLookup::Kept(content) => {
                let t = &mut self.tags[tag];
                t.content = content::fold(t.content, page, content);
                t.page_done(page);
                true
            }
            CacheLookup::UnderWay(slot) => {
                let mut reader = self.internal(now, Lane::READ, Role::HostRead, LunId::NONE, 0);
                (reader.tag, reader.page) = (tag, page);
                let id = self.requests.add(reader);
                self.requests[id].next = self.cache.wait(slot, id);
                if self.tracker.is_on() {
                    let ahead = self.requests[self.cache.request_of(slot)];
                    self.track_meeting(now, tag, &ahead);
                }
                true
            }
            CacheLookup::No(planned) => {
                self.void(planned);
                false
            }
        }
    }

    /// A planned read ahead has become pointless: its chip drops it when its turn comes.
    fn void(&mut self, planned: Option<RequestId>) {
        if let Some(id) = planned {
            self.requests[id].role = Role::Ahead(SlotId::NONE);
        }
    }

    /// A page that has been read for the host stays, unless something newer has come meanwhile.
    #[cold]
    pub(crate) fn keep_page(&mut self, logical: LogicalPage, physical: PhysicalPage, content: u32) {
        if self.ftl.lookup(logical) == Mapping::Flash(physical) {
            let planned = self.cache.keep(self.sets.of_logical(logical), logical, content);
            self.void(planned);
        }
    }

    /// A page is written or trimmed.
    #[cold]
    pub(crate) fn forget_page(&mut self, logical: LogicalPage) {
        if holds(Invariant::WriteInvalidates) {
            let planned = self.cache.forget(logical);
            self.void(planned);
        }
    }

    /// Plans what should be read ahead of a stream that this read belongs to.
    #[cold]
    pub(crate) fn read_ahead(&mut self, now: Time, tag: Tag) {
        let command = self.tags[tag].command;
        let set = self.set_of_tag(tag);
        let wanted = self.streams.read(command.sector, command.sectors);
        if self.steering.is_quiet(set) {
            return;
        }
        for logical in wanted.map(LogicalPage::new) {
            let is_there = logical.get() < self.ftl.logical_pages() && self.sets.of_logical(logical) == set;
            if !is_there {
                return;
            }
            if !self.plan_ahead(now, set, logical) {
                return self.streams.stopped(command.sector + u64::from(command.sectors), logical.get());
            }
        }
    }

    /// Plans a page; false when there is no room for it now.
    fn plan_ahead(&mut self, now: Time, set: SetId, logical: LogicalPage) -> bool {
        let Mapping::Flash(physical) = self.ftl.lookup(logical) else { return true };
        if self.cache.knows(logical) {
            return true;
        }
        let Some(slot) = self.cache.plan(set, logical) else { return false };
        let (lun, place) = self.lun_of(physical);
        let mut request = self.internal(now, Lane::AHEAD, Role::Ahead(slot), lun, place);
        (request.logical, request.physical) = (logical, physical);
        let id = self.requests.add(request);
        self.cache.set_request(slot, id);
        self.commit_own(id);
        true
    }

    /// True when a planned read ahead is void. Nothing pins its page until it begins.
    pub(crate) fn is_plan_void(&self, request: &MemoryRequest, slot: SlotId) -> bool {
        slot == SlotId::NONE
            || self.ftl.lookup(request.logical) != Mapping::Flash(request.physical)
            || self.steering.is_quiet(self.sets.of_lun(request.lun))
    }

    /// A read ahead that was void leaves the line of its chip.
    pub(crate) fn drop_plan(&mut self, id: RequestId, slot: SlotId) {
        if slot != SlotId::NONE {
            self.cache.abandon(slot);
        }
        self.requests.remove(id);
    }

    /// A chip begins to read ahead.
    #[cold]
    pub(crate) fn ahead_begins(&mut self, lun: LunId) {
        for index in 0..self.luns[lun].transaction.members().len() {
            let MemoryRequest { role, physical, .. } =
                self.requests[self.luns[lun].transaction.member(index)];
            let Role::Ahead(slot) = role else { unreachable!("all of them are read ahead") };
            self.ftl.pin(physical);
            self.cache.begin(slot);
        }
    }

    /// Pages that were or are being read ahead and were never requested; walks the cache.
    pub fn unasked(&self) -> u64 {
        self.cache.unasked()
    }

    /// A page that was read ahead is in the controller.
    #[cold]
    pub(crate) fn ahead_done(&mut self, now: Time, id: RequestId, slot: SlotId) {
        let MemoryRequest { physical, lun, .. } = self.requests[id];
        let content = self.nand.read(physical);
        self.requests.remove(id);
        if self.ftl.unpin(physical) {
            self.resume_erase(now, self.layout.block_of(physical));
        }
        let mut readers = self.cache.arrived(slot, content);
        while readers != RequestId::NONE {
            let MemoryRequest { next, tag, page, since, .. } = self.requests[readers];
            self.requests.remove(readers);
            readers = next;
            let t = &mut self.tags[tag];
            t.content = content::fold(t.content, page, content);
            t.page_done(page);
            if t.remaining == 0 {
                assert_eq!(t.mark, since, "a read waits from its beginning");
                rest_of_read(&mut t.spans, &self.luns[lun].transaction, since, now);
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
