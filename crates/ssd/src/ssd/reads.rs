//! The way of a read: from the command to memory requests, and from the chips back to the host.

use crate::backend::holder::{Account, Holder};

use super::Ssd;
use crate::backend::transaction::Transaction;
use crate::config::Classes;
use crate::flash::{LogicalPage, LunId, PhysicalPage};
use crate::frontend::buffer::EntryState;
use crate::mapping::ftl::Location;
use crate::mutation::{Invariant, holds};
use crate::probe::Probe;
use crate::request::{EntryId, Lane, MemoryRequest, REGULAR, RequestId, Role, Tag};
use tailcut_base::device::content;
use tailcut_base::{Cause, Nanos, Spans, Status, Time};

impl<P: Probe> Ssd<P> {
    /// Takes a read: pages in the buffer and pages that were never written are answered at once,
    /// the others become memory requests.
    #[inline]
    pub(crate) fn read(&mut self, now: Time, tag: Tag) {
        let pages = self.frontend.tags[tag].pages;
        let rank = self.rank_of(tag);
        if self.frontend.tags[tag].command.fail_fast && self.fails_fast(now, tag, rank) {
            return;
        }
        for page in 0..pages {
            let logical = self.frontend.tags[tag].page(page);
            let content = match self.mapping.ftl.lookup(logical) {
                Location::Flash(physical) => {
                    if self.frontend.cache.is_on() && self.read_cached(now, tag, page, logical) {
                        continue;
                    }
                    let request = self.host_read(now, tag, page, logical, physical, rank);
                    self.arrive(request);
                    continue;
                }
                Location::Unmapped => {
                    self.mapping.counters.unmapped_reads += 1;
                    0
                }
                Location::Buffer(entry) if self.must_follow(tag, entry) => {
                    self.follow(now, tag, page, entry, rank);
                    continue;
                }
                Location::Buffer(entry) if holds(Invariant::ReadAfterWrite) => {
                    self.frontend.buffer.read_hits += 1;
                    self.frontend.buffer[entry].content()
                }
                Location::Buffer(entry) => self.frontend.buffer[entry].base,
            };
            let t = &mut self.frontend.tags[tag];
            t.content = content::fold(t.content, page, content);
            t.page_done(page);
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
        let Location::Flash(physical) = self.mapping.ftl.lookup(logical) else { return None };
        if self.frontend.cache.is_on() && self.frontend.cache.serves(logical) {
            return None;
        }
        let (lun, _) = self.layout.lun_of_page(physical);
        self.backend.contention(now, lun, lane, &self.layers())
    }

    /// The rank of the memory requests of a read: see [`Lane::of_rank`].
    #[inline(always)]
    fn rank_of(&mut self, tag: Tag) -> u8 {
        match self.config.schedule.classes {
            Classes::Told => (self.frontend.tags[tag].command.class.number() - 1).min(REGULAR),
            Classes::Equal => REGULAR,
            Classes::Inferred => self.infer_rank(tag),
        }
    }

    #[cold]
    fn infer_rank(&mut self, tag: Tag) -> u8 {
        let t = &self.frontend.tags[tag];
        self.frontend.inference.rank(t.command.sector, t.command.sectors, t.pages)
    }

    #[inline]
    fn host_read(
        &mut self,
        now: Time,
        tag: Tag,
        page: u32,
        logical: LogicalPage,
        physical: PhysicalPage,
        rank: u8,
    ) -> RequestId {
        if holds(Invariant::WriteAfterRead) {
            self.mapping.ftl.pin(physical);
        }
        let (lun, place) = self.layout.lun_of_page(physical);
        self.mapping.note_read(now, lun, rank);
        let order = self.backend.next_order();
        let request = MemoryRequest {
            since: now,
            order,
            next: RequestId::NONE,
            tag,
            page,
            logical,
            physical,
            source: PhysicalPage::NONE,
            content: 0,
            lun,
            link: 0,
            place: place as u8,
            frontier: 0,
            resets: 0,
            lane: Lane::of_rank(rank),
            role: Role::HostRead,
        };
        self.backend.hold(now, request)
    }

    /// True when a read must wait for the program of a page in the buffer: there is no hit manager, and
    /// nothing newer is in the buffer. Where it would have to stand behind a request with force unit access
    /// it is answered from the queue after all, which keeps its order.
    #[inline]
    fn must_follow(&mut self, tag: Tag, entry: EntryId) -> bool {
        !self.config.schedule.hit_manager
            && !self.mapping.steering.is_quiet(self.frontend.buffer.set_of(entry))
            && self.follows(tag, entry)
    }

    #[cold]
    fn follows(&mut self, tag: Tag, entry: EntryId) -> bool {
        let e = &self.frontend.buffer[entry];
        e.state == EntryState::Programming
            && !e.dirty_again
            && self.backend.lets_promote(tag, self.frontend.tags[tag].command.fua)
    }

    /// A page of a read waits until the page is on flash.
    #[cold]
    fn follow(&mut self, now: Time, tag: Tag, page: u32, entry: EntryId, rank: u8) {
        let mut request = MemoryRequest::internal(now, Lane::of_rank(rank), Role::HostRead, LunId::NONE, 0);
        (request.tag, request.page) = (tag, page);
        request.logical = self.frontend.buffer[entry].logical;
        request.order = self.backend.next_order();
        let id = self.backend.park(request);
        let set = self.frontend.buffer.set_of(entry);
        self.mapping.steering.follower_begins(set);
        self.backend.request_mut(id).next = std::mem::replace(&mut self.frontend.buffer[entry].readers, id);
    }

    /// The program that reads have waited for is over: they read its page.
    #[cold]
    pub(crate) fn read_programmed(&mut self, now: Time, mut list: RequestId, physical: PhysicalPage) {
        let (lun, place) = self.layout.lun_of_page(physical);
        while list != RequestId::NONE {
            let id = list;
            list = self.backend.request(id).next;
            self.mapping.steering.follower_ends(self.mapping.sets.of_lun(lun));
            self.mapping.ftl.pin(physical);
            let r = self.backend.request_mut(id);
            (r.lun, r.place, r.physical, r.since) = (lun, place as u8, physical, now);
            self.backend.commit_follower(now, id);
        }
    }

    /// The program that reads have waited for will not be: they are answered from the buffer.
    pub(crate) fn read_given_up(&mut self, now: Time, entry: EntryId) {
        let mut list = std::mem::replace(&mut self.frontend.buffer[entry].readers, RequestId::NONE);
        let content = self.frontend.buffer[entry].base;
        while list != RequestId::NONE {
            let MemoryRequest { next, tag, page, .. } = *self.backend.request(list);
            self.backend.remove(list);
            list = next;
            self.backend.promoted_left();
            self.mapping.steering.follower_ends(self.frontend.buffer.set_of(entry));
            let t = &mut self.frontend.tags[tag];
            t.content = content::fold(t.content, page, content);
            t.page_done(page);
            if t.remaining == 0 {
                t.spans.add(Cause::Hazard, now.since(t.mark));
                t.mark = now;
            }
            self.return_data(now, tag);
        }
    }

    /// Sends to the host what can be sent in order.
    #[inline(always)]
    pub(crate) fn return_data(&mut self, now: Time, tag: Tag) {
        if P::WATCHES {
            let pages = self.frontend.tags[tag].returnable();
            if !pages.is_empty() {
                self.probe.returned(self.frontend.tags[tag].command.id, pages);
            }
        }
        self.frontend.return_data(now, tag);
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
        let content = self.mapping.nand.read(request.physical);
        if self.config.gc.merge {
            self.spare_copy_read(now, request.physical);
        }
        if holds(Invariant::WriteAfterRead) {
            self.unpin(now, request.physical);
        }
        if self.frontend.cache.is_on() {
            self.keep_page(request.logical, request.physical, content);
        }
        let t = &mut self.frontend.tags[request.tag];
        t.content = content::fold(t.content, request.page, content);
        t.page_done(request.page);
        if t.remaining == 0 {
            // The last page to arrive is the one that the command waited for.
            if request.since != t.mark {
                t.spans.add(Cause::Hazard, request.since.since(t.mark));
            }
            let transaction = &self.backend.lun(request.lun).transaction;
            chip_spans(
                &mut t.spans,
                self.backend.waited(id),
                Nanos::ZERO,
                transaction,
                self.backend.phases().transfer,
                now,
            );
            t.mark = now;
        }
        self.backend.remove(id);
        self.return_data(now, request.tag);
    }
}

/// Adds the spans of a memory request from the moment it could have begun to the end of its
/// transaction. `link` is the part of its wait during which its own data was on the link;
/// `transfer` the time of one page on the bus.
#[inline]
pub(crate) fn chip_spans(
    spans: &mut Spans,
    waited: &Account,
    link: Nanos,
    t: &Transaction,
    transfer: Nanos,
    end: Time,
) {
    let wait = |holder: Holder| Nanos(waited[holder as usize]);
    let idle = wait(Holder::Idle);
    let link = Nanos(link.0.min(idle.0));
    spans.add(Cause::Link, link);
    spans.add(Cause::CommitWait, idle - link);
    spans.add(Cause::ChipUserRead, wait(Holder::UserRead));
    spans.add(Cause::ChipUserWrite, wait(Holder::UserWrite));
    spans.add(Cause::ChipGcRead, wait(Holder::GcRead));
    spans.add(Cause::ChipGcProgram, wait(Holder::GcWrite));
    spans.add(Cause::ChipErase, wait(Holder::Erase));
    spans.add(Cause::ChipSuspend, wait(Holder::Suspend));
    spans.add(Cause::ChipReset, wait(Holder::Reset));
    spans.add(Cause::ChipReadAhead, wait(Holder::ReadAhead));
    spans.add(Cause::Space, wait(Holder::Space));
    spans.add(Cause::BusWait, wait(Holder::BusWait));
    let cell = t.cell_end.since(t.started + t.command);
    if t.kind.is_read() {
        spans.add(Cause::BusCommand, t.command);
        spans.add(Cause::Cell, cell);
        spans.add(Cause::BusWait, t.out_start.since(t.cell_end) + t.gap);
        spans.add(Cause::BusTransfer, end.since(t.out_start) - t.gap);
    } else {
        let on_bus = t.command - t.gap;
        let data = Nanos((transfer * u64::from(t.pages())).0.min(on_bus.0));
        spans.add(Cause::BusTransfer, data);
        spans.add(Cause::BusCommand, on_bus - data);
        spans.add(Cause::BusWait, t.gap);
        spans.add(Cause::Cell, cell - t.suspended);
        spans.add(Cause::Suspended, t.suspended);
    }
}
