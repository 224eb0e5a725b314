//! The way of a read: from the command to memory requests, and from the chips back to the host; reads ahead
//! of the host; and trims, which bring no data either.
//!
//! A read that continues where two reads before it ended is part of a stream (`frontend/streams`); the
//! pages that follow are scheduled to be read into the cache (`frontend/cache`). Each waits in a separate
//! queue of its chip with the lowest priority: a chip reads ahead only when it could start nothing else. A
//! page that the host requests before its chip has begun is read like any other page, and the read-ahead is
//! dropped; it is also dropped when the page has been written, trimmed or moved, and in a quiet period. A
//! read-ahead that has begun is awaited: the remaining time counts as the host read's own.

use super::Ssd;
use crate::flash::{LogicalPage, LunId, PhysicalPage};
use crate::frontend::Waiter;
use crate::frontend::buffer::EntryState;
use crate::frontend::cache::CacheLookup;
use crate::frontend::tags::PageRead;
use crate::mapping::ftl::Location;
use crate::mutation::{Invariant, holds};
use crate::probe::Probe;
use crate::request::{EntryId, Lane, MemoryRequest, RequestId, Role, SlotId, Tag};
use crate::sets::SetId;
use tailcut_base::cast::to_u8;
use tailcut_base::ids::Id;
use tailcut_base::{Cause, Nanos, Status, Time};

impl<P: Probe> Ssd<P> {
    /// The content of a logical page if the power went now: what flash has, and with a capacitor what is in
    /// the buffer. The mapping counts as known after a power cut; how a drive finds it again is not modelled.
    pub fn content_after_power_cut(&self, logical: LogicalPage) -> u32 {
        match self.mapping.map().lookup(logical) {
            Location::Buffer(entry) if !self.frontend.has_capacitor() => {
                match self.frontend.entry(entry).old {
                    PhysicalPage::NONE => 0,
                    old => self.mapping.content_of(old),
                }
            }
            _ => self.peek(logical),
        }
    }

    /// The content of a logical page as a read submitted now would return it.
    pub fn peek(&self, logical: LogicalPage) -> u32 {
        match self.mapping.map().lookup(logical) {
            Location::Unmapped => 0,
            Location::Flash(physical) => self.mapping.content_of(physical),
            Location::Buffer(entry) => self.frontend.entry(entry).content(),
        }
    }

    /// Takes a read: pages in the buffer and pages that were never written are answered at once,
    /// the others become memory requests.
    #[inline]
    pub(crate) fn read(&mut self, now: Time, tag: Tag) {
        let pages = self.frontend.tags[tag].pages;
        let rank = self.frontend.rank_of(tag);
        if self.frontend.tags[tag].command.fail_fast && self.fails_fast(now, tag, rank) {
            return;
        }
        for page in 0..pages {
            let logical = self.frontend.tags[tag].page(page);
            let content = match self.mapping.map().lookup(logical) {
                Location::Flash(physical) => {
                    if self.frontend.cache.is_on() && self.read_cached(now, tag, page, logical) {
                        continue;
                    }
                    let (lun, place) = self.mapping.begin_read(now, physical, rank);
                    let request = MemoryRequest {
                        order: self.backend.next_order(),
                        tag,
                        page,
                        logical,
                        physical,
                        ..MemoryRequest::internal(now, Lane::of_rank(rank), Role::HostRead, lun, place)
                    };
                    let id = self.backend.hold(now, request);
                    self.arrive(id);
                    continue;
                }
                Location::Unmapped => {
                    self.mapping.counters.unmapped_reads += 1;
                    self.frontend.link.fill_in(now);
                    0
                }
                Location::Buffer(entry) if self.must_follow(tag, entry) => {
                    self.follow(now, tag, page, entry, rank);
                    continue;
                }
                Location::Buffer(entry) if holds(Invariant::ReadAfterWrite) => {
                    self.frontend.read_buffered(entry)
                }
                Location::Buffer(entry) => self.frontend.entry(entry).base,
            };
            self.frontend.tags[tag].page_read(PageRead { page, content });
        }
        self.commit(now);
        if self.frontend.streams.are_followed() {
            self.read_ahead(now, tag);
        }
        if self.frontend.tracker.is_on() {
            self.frontend.track_arrival(now, tag);
        }
        self.wake(now);
        self.return_data(now, tag);
    }

    /// Hands a host memory request to the scheduler.
    #[inline(always)]
    pub(crate) fn arrive(&mut self, request: RequestId) {
        let tag = &self.frontend.tags[self.backend.request(request).tag];
        self.backend.arrive(request, tag.pages == 1, tag.command.fua);
    }

    /// A page of a host read is in the controller.
    #[inline(always)]
    pub(crate) fn host_read_done(&mut self, now: Time, id: RequestId) {
        let request = *self.backend.request(id);
        let content = self.mapping.read_page(request.physical);
        if self.config.gc.merge {
            self.spare_copy_read(now, request.physical);
        }
        if self.mapping.end_read(now, request.physical) {
            self.carry_out(now);
        }
        if self.frontend.cache.is_on() {
            self.keep_page(request.logical, request.physical, content);
        }
        let t = &mut self.frontend.tags[request.tag];
        t.page_read(PageRead { page: request.page, content });
        if t.remaining == 0 {
            // The last page to arrive is the one that the command waited for.
            if request.since != t.mark {
                t.spans.add(Cause::Hazard, request.since.since(t.mark));
            }
            self.backend.add_spans(t.spans_and_served(), id, Nanos::ZERO, now);
            t.mark = now;
        } else {
            t.page_served(self.backend.served_page(id, now));
        }
        self.backend.remove(id);
        self.return_data(now, request.tag);
    }

    /// Sends to the host what can be sent in order.
    #[inline(always)]
    fn return_data(&mut self, now: Time, tag: Tag) {
        if P::WATCHES {
            let pages = self.frontend.tags[tag].returnable();
            if !pages.is_empty() {
                self.probe.returned(self.frontend.tags[tag].command.id, pages);
            }
        }
        self.frontend.return_data(now, tag);
    }

    /// Ends a read as a whole when a page of it is contended (see [`crate::backend`]): before anything of it
    /// is issued. False when it goes its way.
    #[cold]
    fn fails_fast(&mut self, now: Time, tag: Tag, rank: u8) -> bool {
        let lane = Lane::READS[usize::from(rank)];
        let pages = (0..self.frontend.tags[tag].pages).map(|page| self.frontend.tags[tag].page(page));
        let longest = pages.filter_map(|logical| self.contention(now, logical, lane)).max();
        let Some(longest) = longest else { return false };
        self.mapping.counters.contended_reads += 1;
        let t = &mut self.frontend.tags[tag];
        t.status = Status::Contended;
        t.busy_until = now + longest;
        self.frontend.complete_over_link(now, tag);
        true
    }

    /// How long a read of a page in `lane` would wait; `None` when it is not contended.
    fn contention(&self, now: Time, logical: LogicalPage, lane: Lane) -> Option<Nanos> {
        let Location::Flash(physical) = self.mapping.map().lookup(logical) else { return None };
        if self.frontend.cache.is_on() && self.frontend.cache.serves(logical) {
            return None;
        }
        let (lun, _) = self.layout.lun_of_page(physical);
        self.backend.contention(now, lun, lane, &self.layers())
    }

    /// True when a read must wait for the program of a page in the buffer: there is no hit manager, and
    /// nothing newer is in the buffer. Where it would have to stand behind a request with force unit access
    /// it is answered from the queue after all, which keeps its order.
    #[inline]
    fn must_follow(&mut self, tag: Tag, entry: EntryId) -> bool {
        !self.config.schedule.hit_manager
            && !self.mapping.steering.is_quiet(self.frontend.set_of_entry(entry))
            && self.follows(tag, entry)
    }

    #[cold]
    fn follows(&mut self, tag: Tag, entry: EntryId) -> bool {
        let e = self.frontend.entry(entry);
        e.state == EntryState::Programming
            && !e.dirty_again
            && self.backend.lets_promote(tag, self.frontend.tags[tag].command.fua)
    }

    /// A page of a read waits until the page is on flash.
    #[cold]
    fn follow(&mut self, now: Time, tag: Tag, page: u32, entry: EntryId, rank: u8) {
        let mut request = MemoryRequest::internal(now, Lane::of_rank(rank), Role::HostRead, LunId::NONE, 0);
        (request.tag, request.page) = (tag, page);
        request.logical = self.frontend.entry(entry).logical;
        request.order = self.backend.next_order();
        let id = self.backend.park(request);
        self.mapping.steering.follower_begins(self.frontend.set_of_entry(entry));
        self.backend.request_mut(id).next = self.frontend.replace_readers(entry, id);
    }

    /// The program that reads have waited for is over: they read its page.
    #[cold]
    pub(crate) fn read_programmed(&mut self, now: Time, mut list: RequestId, physical: PhysicalPage) {
        while list != RequestId::NONE {
            let id = list;
            list = self.backend.request(id).next;
            let (lun, place) = self.mapping.follower_found(physical);
            let r = self.backend.request_mut(id);
            (r.lun, r.place, r.physical, r.since) = (lun, to_u8(place), physical, now);
            self.backend.commit_follower(now, id);
        }
    }

    /// The program that reads have waited for will not be: they are answered from the buffer.
    pub(crate) fn read_given_up(&mut self, now: Time, entry: EntryId) {
        let mut list = self.frontend.replace_readers(entry, RequestId::NONE);
        let content = self.frontend.entry(entry).base;
        while list != RequestId::NONE {
            let MemoryRequest { next, tag, page, .. } = *self.backend.request(list);
            self.backend.remove(list);
            list = next;
            self.backend.promoted_left();
            self.mapping.steering.follower_ends(self.frontend.set_of_entry(entry));
            let t = &mut self.frontend.tags[tag];
            t.page_read(PageRead { page, content });
            if t.remaining == 0 {
                t.account(now, Cause::Hazard);
            }
            self.return_data(now, tag);
        }
    }

    /// Answers a page of a read from the cache, or lets it wait for a read ahead that has begun. False when
    /// it has to be read from flash. A read with force unit access always has.
    #[cold]
    fn read_cached(&mut self, now: Time, tag: Tag, page: u32, logical: LogicalPage) -> bool {
        if self.frontend.tags[tag].command.fua {
            return false;
        }
        match self.frontend.cache.look_up(logical) {
            CacheLookup::Kept(content) => self.frontend.tags[tag].page_read(PageRead { page, content }),
            CacheLookup::UnderWay(slot) => {
                self.frontend.wait_for_page(now, tag, page, slot);
                if self.frontend.tracker.is_on() {
                    let ahead = self.backend.request(self.frontend.cache.request_of(slot));
                    let began = self.backend.lun(ahead.lun).transaction.started;
                    self.frontend.track_meeting(now, tag, began);
                }
            }
            CacheLookup::No => return false,
        }
        true
    }

    /// A page that has been read for the host stays, unless something newer has come meanwhile.
    #[cold]
    fn keep_page(&mut self, logical: LogicalPage, physical: PhysicalPage, content: u32) {
        if self.mapping.map().lookup(logical) == Location::Flash(physical) {
            self.frontend.cache.keep(self.mapping.sets().of_logical(logical), logical, content);
        }
    }

    /// Plans what should be read ahead of a stream that this read belongs to.
    #[cold]
    fn read_ahead(&mut self, now: Time, tag: Tag) {
        let command = self.frontend.tags[tag].command;
        let set = self.frontend.set_of_tag(tag);
        let wanted = self.frontend.streams.read(command.sector, command.sectors);
        if self.mapping.steering.is_quiet(set) {
            return;
        }
        for logical in wanted.map(LogicalPage::new) {
            let is_there = logical.get() < self.mapping.map().logical_pages()
                && self.mapping.sets().of_logical(logical) == set;
            if !is_there {
                return;
            }
            if !self.plan_ahead(now, set, logical) {
                let end = command.sector + u64::from(command.sectors);
                return self.frontend.streams.stopped(end, logical);
            }
        }
    }

    /// Plans a page; false when there is no room for it now.
    fn plan_ahead(&mut self, now: Time, set: SetId, logical: LogicalPage) -> bool {
        let Location::Flash(physical) = self.mapping.map().lookup(logical) else { return true };
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
        for &id in self.backend.lun(lun).transaction.members() {
            let MemoryRequest { role, physical, .. } = *self.backend.request(id);
            let Role::Ahead(slot) = role else { unreachable!("all of them are read ahead") };
            self.mapping.pin(physical);
            self.frontend.cache.begin(slot);
        }
    }

    /// A page that was read ahead is in the controller.
    #[cold]
    pub(crate) fn ahead_done(&mut self, now: Time, id: RequestId, slot: SlotId) {
        let MemoryRequest { physical, lun, .. } = *self.backend.request(id);
        let content = self.mapping.read_page(physical);
        self.backend.remove(id);
        if self.mapping.unpin(now, physical) {
            self.carry_out(now);
        }
        let mut readers = self.frontend.cache.arrived(slot, content);
        while let Some(Waiter { tag, page, since }) = self.frontend.waiters.pop(&mut readers) {
            let t = &mut self.frontend.tags[tag];
            t.page_read(PageRead { page, content });
            if t.remaining == 0 {
                assert_eq!(t.mark, since, "a read waits from its beginning");
                self.backend.add_rest_of_read(&mut t.spans, lun, since, now);
                t.mark = now;
            }
            self.return_data(now, tag);
        }
    }

    /// Takes a trim: whole pages are forgotten.
    pub(crate) fn trim(&mut self, now: Time, tag: Tag) {
        let pages = self.frontend.whole_pages(tag);
        for logical in pages.start.up_to(pages.end) {
            self.trim_page(now, logical);
        }
        self.mapping.release_trimmed(now, pages);
        self.carry_out(now);
        self.frontend.complete_over_link(now, tag);
        self.wake(now);
    }

    fn trim_page(&mut self, now: Time, logical: LogicalPage) {
        if self.frontend.cache.is_on() {
            self.frontend.forget_page(logical);
        }
        let Some(entry) = self.mapping.trim_page(now, logical) else { return };
        if let Some(old) = self.frontend.take_old_version(entry) {
            self.mapping.invalidate(old, now);
        }
        if self.frontend.trim_entry(now, entry) {
            self.forget(now, entry);
        }
    }
}
