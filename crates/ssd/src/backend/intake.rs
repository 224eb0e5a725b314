//! Memory requests: they come in, are committed to their LUNs, and leave.

use super::Backend;
use crate::backend::commit::Chips;
use crate::flash::{LunId, PhysicalPage, PlaneId};
use crate::holder::Account;
use crate::request::{Lane, MemoryRequest, RequestId, Role, Tag};
use tailcut_base::Time;
use tailcut_base::cast::to_u8;

/// A request that the scheduler has committed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Committed {
    /// A read is with its LUN.
    Read,
    /// A program waits for its data from the host.
    AwaitsData(RequestId),
}

impl Backend {
    /// A request that has come and not been [removed](Backend::remove).
    #[inline(always)]
    pub(crate) fn request(&self, id: RequestId) -> &MemoryRequest {
        &self.requests[id]
    }

    /// The same, to be changed: not its LUN, place or lane while it is committed.
    #[inline(always)]
    pub(crate) fn request_mut(&mut self, id: RequestId) -> &mut MemoryRequest {
        &mut self.requests[id]
    }

    /// Takes a request that waits for something else than a LUN.
    #[inline]
    pub(crate) fn park(&mut self, request: MemoryRequest) -> RequestId {
        self.requests.add(request)
    }

    /// Forgets a request that has been served or dropped.
    #[inline]
    pub(crate) fn remove(&mut self, id: RequestId) {
        self.requests.remove(id);
    }

    /// The next number of order.
    #[inline]
    pub(crate) fn next_order(&mut self) -> u64 {
        self.requests.next_order()
    }

    /// Requests that have come and not been removed.
    pub(crate) fn in_flight(&self) -> usize {
        self.requests.in_flight()
    }

    /// Takes a request that began to wait for its LUN at `now`, and does not commit it yet.
    #[inline]
    pub(crate) fn hold(&mut self, now: Time, request: MemoryRequest) -> RequestId {
        let lun = request.lun;
        let id = self.requests.add(request);
        self.requests.snapshot(id, self.luns[lun].account(now));
        self.begin_wait_for_handles(now, id);
        id
    }

    /// Takes a request of the controller and commits it to its LUN.
    #[inline]
    pub(crate) fn issue(&mut self, now: Time, request: MemoryRequest) -> RequestId {
        let id = self.hold(now, request);
        self.commit_own(id);
        id
    }

    /// Commits a request of the controller itself, or a write whose data is here.
    #[inline]
    pub(crate) fn commit_own(&mut self, id: RequestId) {
        self.requests[id].order = self.requests.next_order();
        self.commit_to_lun(id);
    }

    /// A request begins to wait for its LUN anew.
    pub(crate) fn wait_anew(&mut self, now: Time, id: RequestId) {
        let account = self.account_of(now, id);
        self.requests.snapshot(id, account);
        self.begin_wait_for_handles(now, id);
    }

    /// Commits a request again as if it had come at `now`.
    pub(crate) fn commit_anew(&mut self, now: Time, id: RequestId) {
        self.wait_anew(now, id);
        self.commit_own(id);
    }

    fn account_of(&self, now: Time, id: RequestId) -> Account {
        self.luns[self.requests[id].lun].account(now)
    }

    /// Commits a request to its LUN, to be started when it is [popped](Backend::pop_woken).
    #[inline(always)]
    fn commit_to_lun(&mut self, id: RequestId) {
        self.luns.commit(&mut self.requests, id);
        self.woken.push(self.requests[id].lun);
    }

    /// A LUN may have work that it can start.
    #[inline]
    pub(crate) fn wake(&mut self, lun: LunId) {
        self.woken.push(lun);
    }

    /// The next of the LUNs that have been given work, in the order in which they were given it. `None` when
    /// there is no more, or while starts are deferred.
    #[inline]
    pub(crate) fn pop_woken(&mut self) -> Option<LunId> {
        if self.defers_starts { None } else { self.woken.pop() }
    }

    /// Whether LUNs that are given work start it only later.
    pub(crate) fn defer_starts(&mut self, defers: bool) {
        self.defers_starts = defers;
    }

    /// The next of the void requests that were met while a transaction was composed; they have left their
    /// LUNs.
    #[inline]
    pub(crate) fn pop_void(&mut self) -> Option<RequestId> {
        self.void.pop_front()
    }

    /// Hands a host memory request to the scheduler. `alone` is true when its command has no other, `fua`
    /// when it must not be reordered.
    #[inline(always)]
    pub(crate) fn arrive(&mut self, id: RequestId, alone: bool, fua: bool) {
        if self.requests[id].is_ranked() && self.promote(id, fua) {
            return;
        }
        let chips = Chips { requests: &self.requests, luns: &self.luns, layout: &self.layout };
        self.scheduler.arrived(chips, id, alone, fua);
    }

    /// Commits a read of class 1 or 2 as it arrives: which of a chip's requests goes first is for their
    /// classes to say, whatever the order in which the scheduler would commit them. Behind a request
    /// with force unit access a read has no class: false, and it goes the way of all others.
    #[cold]
    fn promote(&mut self, id: RequestId, fua: bool) -> bool {
        if !self.scheduler.lets_promote(self.requests[id].tag, fua) {
            self.requests[id].lane = Lane::READ;
            return false;
        }
        self.commit_to_lun(id);
        true
    }

    /// Commits the next request that the scheduler wants committed; a program, which waits for its data,
    /// is not with its LUN yet. `None` when there is no more.
    #[inline(always)]
    pub(crate) fn commit_next(&mut self) -> Option<Committed> {
        let chips = Chips { requests: &self.requests, luns: &self.luns, layout: &self.layout };
        let id = self.scheduler.next(chips)?;
        let request = &self.requests[id];
        let (lun, role) = (request.lun, request.role);
        let u = &mut self.luns[lun];
        u.committed_tag = request.tag;
        u.committed_count += 1;
        if matches!(role, Role::Program(_)) {
            return Some(Committed::AwaitsData(id));
        }
        self.commit_to_lun(id);
        Some(Committed::Read)
    }

    /// A LUN has no erased page: reads that stand behind a write with force unit access may hold the block
    /// whose erase it waits for, so the scheduler holds nothing back for once.
    pub(crate) fn give_way(&mut self, lun: LunId) {
        self.scheduler.give_way();
        self.scheduler.released(lun);
    }

    /// A request of I/O request `tag` that had left is committed again.
    pub(crate) fn return_to_committed(&mut self, lun: LunId, tag: Tag) {
        self.luns[lun].committed_tag = tag;
        self.luns[lun].committed_count += 1;
        self.scheduler.returned();
    }

    /// A host request is not committed any more, but on its way.
    #[inline(always)]
    pub(crate) fn left_committed(&mut self, lun: LunId, id: RequestId) {
        if self.requests[id].tag == Tag::NONE || matches!(self.requests[id].role, Role::Merge(_)) {
            return;
        }
        if self.requests[id].is_ranked() {
            return self.scheduler.promoted_left();
        }
        self.luns[lun].uncommit();
        self.scheduler.left(lun);
    }

    /// A read that has waited for a program, and knows its page now, is committed.
    pub(crate) fn commit_follower(&mut self, now: Time, id: RequestId) {
        let MemoryRequest { lun, tag, .. } = self.requests[id];
        if !self.requests[id].is_ranked() {
            self.luns[lun].committed_tag = tag;
            self.luns[lun].committed_count += 1;
        }
        self.wait_anew(now, id);
        self.commit_to_lun(id);
    }

    /// A read is to be committed past the scheduler: true unless it must wait for a request with force unit
    /// access before it, or has that itself.
    pub(crate) fn lets_promote(&mut self, tag: Tag, fua: bool) -> bool {
        self.scheduler.lets_promote(tag, fua)
    }

    /// A read that was committed past the scheduler is served from elsewhere.
    pub(crate) fn promoted_left(&mut self) {
        self.scheduler.promoted_left();
    }

    /// A LUN may be able to take requests that it could not take before.
    pub(crate) fn released(&mut self, lun: LunId) {
        self.scheduler.released(lun);
    }

    /// The data of a committed write begins its way over the link.
    pub(crate) fn await_data(&mut self, id: RequestId) {
        let MemoryRequest { lun, place, .. } = self.requests[id];
        self.luns.await_data(lun, u32::from(place));
    }

    /// The data of a committed write is here.
    pub(crate) fn data_arrived(&mut self, id: RequestId) {
        let MemoryRequest { lun, place, .. } = self.requests[id];
        self.luns.data_arrived(lun, u32::from(place));
    }

    /// Programs for a plane wait elsewhere for an erase, and its LUN gives way to what that may wait for.
    pub(crate) fn starve(&mut self, plane: PlaneId) {
        let (lun, place) = self.layout.lun_of_plane(plane);
        self.luns[lun].starved |= 1 << place;
        self.give_way(lun);
    }

    /// They wait no more.
    pub(crate) fn feed(&mut self, plane: PlaneId) {
        let (lun, place) = self.layout.lun_of_plane(plane);
        self.luns[lun].starved &= !(1 << place);
    }

    /// A program that failed begins anew, with another page and all of its wait before it; its I/O request is
    /// committed again.
    pub(crate) fn begin_anew(&mut self, now: Time, id: RequestId) {
        let MemoryRequest { lun, tag, .. } = self.requests[id];
        if tag != Tag::NONE {
            self.return_to_committed(lun, tag);
        }
        let r = &mut self.requests[id];
        (r.physical, r.since, r.link) = (PhysicalPage::NONE, now, 0);
        self.wait_anew(now, id);
    }

    /// The oldest program of the host's data at its place goes to another plane, and waits there anew.
    pub(crate) fn move_to(&mut self, now: Time, id: RequestId, plane: PlaneId) {
        let MemoryRequest { lun, place, .. } = self.requests[id];
        self.take(lun, Lane::USER_WRITE, u32::from(place));
        let (lun, place) = self.layout.lun_of_plane(plane);
        let r = &mut self.requests[id];
        (r.lun, r.place) = (lun, to_u8(place));
        self.commit_anew(now, id);
    }

    /// A LUN may have work that it can start, if it has any.
    pub(crate) fn wake_if_waiting(&mut self, lun: LunId) {
        if self.luns[lun].has_work() {
            self.wake(lun);
        }
    }

    /// The oldest request of a lane at a place of a LUN, or [`RequestId::NONE`].
    pub(crate) fn first_of_lane(&self, lun: LunId, lane: Lane, place: u32) -> RequestId {
        self.luns.first(lun, lane, place)
    }

    /// Takes the oldest request of a lane at a place of a LUN, which must exist.
    pub(crate) fn take(&mut self, lun: LunId, lane: Lane, place: u32) -> RequestId {
        self.luns.take(&self.requests, lun, lane, place)
    }

    /// Takes the request of collection that waits to read a page, if there is one.
    pub(crate) fn take_copy_of(&mut self, physical: PhysicalPage) -> Option<RequestId> {
        let (lun, place) = self.layout.lun_of_page(physical);
        let is_same = |request: &MemoryRequest| request.source == physical;
        self.luns.take_where(&mut self.requests, lun, Lane::GC_READ, place, is_same)
    }

    /// A page has moved within its plane: a read that waits for it in the scheduler's layout follows. False
    /// when there is none.
    pub(crate) fn readdress(&mut self, from: PhysicalPage, to: PhysicalPage) -> bool {
        let chips = Chips { requests: &self.requests, luns: &self.luns, layout: &self.layout };
        let Some(id) = self.scheduler.reader_of(chips, from) else { return false };
        self.scheduler.leave(chips, id);
        self.requests[id].physical = to;
        let chips = Chips { requests: &self.requests, luns: &self.luns, layout: &self.layout };
        self.scheduler.enter(chips, id);
        true
    }
}
