//! The way of a read: from the command to memory requests, and from the chips back to the host.

use crate::config::Classes;
use crate::controller::buffer::EntryState;
use crate::controller::commit::Chips;
use crate::controller::ftl::Mapping;
use crate::controller::link::{Arrival, Direction};
use crate::flash::lun::{Account, Holder, Transaction};
use crate::flash::{LogicalPage, LunId, PhysicalPage};
use crate::mutation::{Invariant, holds};
use crate::probe::Probe;
use crate::request::Tag;
use crate::request::{EntryId, Lane, MemoryRequest, REGULAR, RequestId, Role};
use crate::ssd::Ssd;
use tailcut_base::device::content;
use tailcut_base::{Cause, Nanos, Spans, Time};

impl<P: Probe> Ssd<P> {
    /// Takes a read: pages in the buffer and pages that were never written are answered at once,
    /// the others become memory requests.
    #[inline]
    pub(crate) fn read(&mut self, now: Time, tag: Tag) {
        let pages = self.tags[tag].pages;
        let rank = self.rank_of(tag);
        if self.tags[tag].command.fail_fast && self.fails_fast(now, tag, rank) {
            return;
        }
        for page in 0..pages {
            let logical = self.tags[tag].page(page);
            let content = match self.ftl.lookup(logical) {
                Mapping::Flash(physical) => {
                    if self.cache.is_on() && self.read_cached(now, tag, page, logical) {
                        continue;
                    }
                    let request = self.host_read(now, tag, page, logical, physical, rank);
                    self.arrive(request);
                    continue;
                }
                Mapping::Unmapped => 0,
                Mapping::Buffer(entry) if self.must_follow(tag, entry) => {
                    self.follow(now, tag, page, entry, rank);
                    continue;
                }
                Mapping::Buffer(entry) if holds(Invariant::ReadAfterWrite) => {
                    self.buffer.read_hits += 1;
                    self.buffer[entry].content()
                }
                Mapping::Buffer(entry) => self.buffer[entry].base,
            };
            let t = &mut self.tags[tag];
            t.content = content::fold(t.content, page, content);
            t.page_done(page);
        }
        self.commit(now);
        if self.streams.are_followed() {
            self.read_ahead(now, tag);
        }
        if self.tracker.is_on() {
            self.track_arrival(now, tag);
        }
        self.wake(now);
        self.return_data(now, tag);
    }

    /// The rank of the memory requests of a read: see [`Lane::of_rank`].
    #[inline(always)]
    fn rank_of(&mut self, tag: Tag) -> u8 {
        match self.config.schedule.classes {
            Classes::Told => (self.tags[tag].command.class.number() - 1).min(REGULAR),
            Classes::Equal => REGULAR,
            Classes::Inferred => self.infer_rank(tag),
        }
    }

    #[cold]
    fn infer_rank(&mut self, tag: Tag) -> u8 {
        let t = &self.tags[tag];
        self.inference.rank(t.command.sector, t.command.sectors, t.pages)
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
            self.ftl.pin(physical);
        }
        let (lun, place) = self.lun_of(physical);
        self.note_read(now, lun, rank);
        let order = self.requests.next_order();
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
        let id = self.requests.add(request);
        self.requests.snapshot(id, self.luns[lun].account(now));
        id
    }

    /// True when a read must wait for the program of a page in the buffer: there is no hit manager, and
    /// nothing newer is in the buffer. Where it would have to stand behind a request with force unit access
    /// it is answered from the queue after all, which keeps its order.
    #[inline]
    fn must_follow(&mut self, tag: Tag, entry: EntryId) -> bool {
        !self.config.schedule.hit_manager
            && !self.steering.is_quiet(self.buffer.set_of(entry))
            && self.follows(tag, entry)
    }

    #[cold]
    fn follows(&mut self, tag: Tag, entry: EntryId) -> bool {
        let e = &self.buffer[entry];
        e.state == EntryState::Programming
            && !e.dirty_again
            && self.scheduler.lets_promote(tag, self.tags[tag].command.fua)
    }

    /// A page of a read waits until the page is on flash.
    #[cold]
    fn follow(&mut self, now: Time, tag: Tag, page: u32, entry: EntryId, rank: u8) {
        let mut request = self.internal(now, Lane::of_rank(rank), Role::HostRead, LunId::NONE, 0);
        (request.tag, request.page) = (tag, page);
        request.logical = self.buffer[entry].logical;
        request.order = self.requests.next_order();
        let id = self.requests.add(request);
        let set = self.buffer.set_of(entry);
        self.steering.follower_begins(set);
        self.requests[id].next = std::mem::replace(&mut self.buffer[entry].readers, id);
    }

    /// The program that reads have waited for is over: they read its page.
    #[cold]
    pub(crate) fn read_programmed(&mut self, now: Time, mut list: RequestId, physical: PhysicalPage) {
        let (lun, place) = self.lun_of(physical);
        while list != RequestId::NONE {
            let id = list;
            list = self.requests[id].next;
            self.steering.follower_ends(self.sets.of_lun(lun));
            self.ftl.pin(physical);
            let r = &mut self.requests[id];
            (r.lun, r.place, r.physical, r.since) = (lun, place as u8, physical, now);
            if !r.is_ranked() {
                self.luns[lun].committed_tag = r.tag;
                self.luns[lun].committed_count += 1;
            }
            self.requests.snapshot(id, self.luns[lun].account(now));
            self.luns.commit(&mut self.requests, id);
            self.woken.push(lun);
        }
    }

    /// The program that reads have waited for will not be: they are answered from the buffer.
    pub(crate) fn read_given_up(&mut self, now: Time, entry: EntryId) {
        let mut list = std::mem::replace(&mut self.buffer[entry].readers, RequestId::NONE);
        let content = self.buffer[entry].base;
        while list != RequestId::NONE {
            let MemoryRequest { next, tag, page, .. } = self.requests[list];
            self.requests.remove(list);
            list = next;
            self.scheduler.promoted_left();
            self.steering.follower_ends(self.buffer.set_of(entry));
            let t = &mut self.tags[tag];
            t.content = content::fold(t.content, page, content);
            t.page_done(page);
            if t.remaining == 0 {
                t.spans.add(Cause::Hazard, now.since(t.mark));
                t.mark = now;
            }
            self.return_data(now, tag);
        }
    }

    /// The LUN and place of a physical page.
    #[inline]
    pub(crate) fn lun_of(&self, physical: PhysicalPage) -> (LunId, u32) {
        let plane = self.layout.plane_of_block(self.layout.block_of(physical));
        self.layout.lun_of_plane(plane)
    }

    /// Hands a host memory request to the scheduler.
    #[inline(always)]
    pub(crate) fn arrive(&mut self, request: RequestId) {
        if self.requests[request].is_ranked() && self.promote(request) {
            return;
        }
        let chips = Chips { requests: &self.requests, luns: &self.luns, layout: &self.layout };
        let tag = &self.tags[chips.requests[request].tag];
        self.scheduler.arrived(chips, request, tag.pages == 1, tag.command.fua);
    }

    /// Commits a read of class 1 or 2 as it arrives: which of a chip's requests goes first is for their
    /// classes to say, whatever the order in which the scheduler would commit them. Behind a request
    /// with force unit access a read has no class: false, and it goes the way of all others.
    #[cold]
    fn promote(&mut self, id: RequestId) -> bool {
        let tag = self.requests[id].tag;
        if !self.scheduler.lets_promote(tag, self.tags[tag].command.fua) {
            self.requests[id].lane = Lane::READ;
            return false;
        }
        self.luns.commit(&mut self.requests, id);
        self.woken.push(self.requests[id].lun);
        true
    }

    /// Commits what the scheduler wants committed. The chips are woken by [`Ssd::wake`], so that
    /// all requests committed at one moment can share a transaction.
    #[inline(always)]
    pub(crate) fn commit(&mut self, now: Time) {
        loop {
            let chips = Chips { requests: &self.requests, luns: &self.luns, layout: &self.layout };
            let Some(id) = self.scheduler.next(chips) else { return };
            let request = &self.requests[id];
            let (lun, role) = (request.lun, request.role);
            let u = &mut self.luns[lun];
            u.committed_tag = request.tag;
            u.committed_count += 1;
            if matches!(role, Role::Program(_)) {
                self.fetch_page(now, id);
            } else {
                self.luns.commit(&mut self.requests, id);
                self.woken.push(lun);
            }
        }
    }

    /// Starts the chips that have been given work, in the order in which they were given it.
    #[inline]
    pub(crate) fn wake(&mut self, now: Time) {
        if self.composing {
            return;
        }
        while let Some(lun) = self.woken.pop() {
            self.kick(now, lun);
        }
    }

    /// A page of a host read is in the controller.
    #[inline(always)]
    pub(crate) fn host_read_done(&mut self, now: Time, id: RequestId) {
        let request = self.requests[id];
        let content = self.nand.read(request.physical);
        if self.config.gc.merge {
            self.spare_copy_read(now, request.physical);
        }
        let emptied = holds(Invariant::WriteAfterRead) && self.ftl.unpin(request.physical);
        if emptied {
            self.resume_erase(now, self.layout.block_of(request.physical));
        }
        if self.cache.is_on() {
            self.keep_page(request.logical, request.physical, content);
        }
        let t = &mut self.tags[request.tag];
        t.content = content::fold(t.content, request.page, content);
        t.page_done(request.page);
        if t.remaining == 0 {
            // The last page to arrive is the one that the command waited for.
            if request.since != t.mark {
                t.spans.add(Cause::Hazard, request.since.since(t.mark));
            }
            let transaction = &self.luns[request.lun].transaction;
            chip_spans(
                &mut t.spans,
                self.requests.waited(id),
                Nanos::ZERO,
                transaction,
                self.phases.transfer,
                now,
            );
            t.mark = now;
        }
        self.requests.remove(id);
        self.return_data(now, request.tag);
    }

    /// Sends to the host what can be sent in order.
    #[inline(always)]
    pub(crate) fn return_data(&mut self, now: Time, tag: Tag) {
        let pages = self.tags[tag].returnable();
        if pages.is_empty() {
            return;
        }
        let firmware = self.config.queue.firmware;
        if P::WATCHES {
            self.probe.returned(self.tags[tag].command.id, pages.clone());
        }
        let t = &mut self.tags[tag];
        let bytes = t.bytes_of(pages.start, pages.end, self.page_sectors);
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
