//! What happens when no erased page can be had: writes move to another plane of their set, or the set becomes
//! read-only.

use crate::controller::buffer::EntryState;
use crate::flash::{LunId, PlaneId};
use crate::probe::Probe;
use crate::request::Tag;
use crate::request::{Lane, MemoryRequest, RequestId};
use crate::sets::SetId;
use crate::ssd::Ssd;
use tailcut_base::ids::IdVec;
use tailcut_base::{Cause, Status, Time};

/// Which sets take no more writes, and why.
#[derive(Debug)]
pub(crate) struct ReadOnly {
    /// Why a set takes no more; `None` while it does.
    why: IdVec<SetId, Option<String>>,
    is_any: bool,
}

impl ReadOnly {
    /// All sets take writes.
    pub(crate) fn none(sets: impl Iterator<Item = SetId>) -> ReadOnly {
        ReadOnly { why: sets.map(|_| None).collect(), is_any: false }
    }

    /// True while a set takes writes.
    #[inline]
    fn takes_writes(&self, set: SetId) -> bool {
        !self.is_any || self.why[set].is_none()
    }

    fn note(&mut self, set: SetId, why: String) {
        self.why[set] = Some(why);
        self.is_any = true;
    }

    /// Why the first set that takes no more writes does not.
    pub(crate) fn why(&self) -> Option<&str> {
        self.why.iter().find_map(|why| why.as_deref())
    }
}

impl<P: Probe> Ssd<P> {
    /// Writes that wait for an erased page on a chip that cannot make any: they move to another
    /// plane, or the drive becomes read-only.
    pub(crate) fn move_blocked_writes(&mut self, now: Time, lun: LunId) {
        for place in 0..self.places {
            let first = self.luns.first(lun, Lane::USER_WRITE, place);
            if first == RequestId::NONE || self.is_put_off(first) || self.can_recover(now, lun, place) {
                continue;
            }
            self.relocate_writes(now, lun, place);
        }
    }

    pub(crate) fn can_recover(&mut self, now: Time, lun: LunId, place: u32) -> bool {
        let plane = self.layout.plane_at(lun, place);
        if self.config.gc.ideal {
            return self.recovers_at_once(now, plane);
        }
        let copy = self.luns.first(lun, Lane::GC_WRITE, place);
        if copy != RequestId::NONE {
            return self.ftl.can_allocate(plane, self.requests[copy].frontier);
        }
        if self.is_erase_deferred(plane) {
            self.commit_deferred_erase(now, plane);
        }
        self.resume_collection(now, plane);
        self.collection.is_busy(plane) || self.start_collection(now, plane, false)
    }

    pub(crate) fn relocate_writes(&mut self, now: Time, lun: LunId, place: u32) {
        while self.luns.first(lun, Lane::USER_WRITE, place) != RequestId::NONE {
            let id = self.luns.first(lun, Lane::USER_WRITE, place);
            if self.can_start(id, lun, place) {
                // It stood behind a write of another stream, whose block is full.
                return self.woken.push(lun);
            }
            let MemoryRequest { logical, frontier, tag, .. } = self.requests[id];
            let plane = self.ftl.plane_for(logical, frontier);
            if tag != Tag::NONE || !self.ftl.can_allocate(plane, frontier) {
                return self.become_read_only(now, self.layout.plane_at(lun, place));
            }
            self.luns.take(&self.requests, lun, Lane::USER_WRITE, place);
            let (lun, place) = self.layout.lun_of_plane(plane);
            let r = &mut self.requests[id];
            (r.lun, r.place) = (lun, place as u8);
            let account = self.luns[self.requests[id].lun].account(now);
            self.requests.snapshot(id, account);
            self.commit_own(id);
        }
    }

    /// True unless a set has become read-only.
    #[inline]
    pub(crate) fn takes_writes(&self, set: SetId) -> bool {
        self.read_only.takes_writes(set)
    }

    /// Makes the set of a plane read-only: it has no room for another write and cannot make any. Data in
    /// the buffer stays readable there; waiting writes fail.
    pub(crate) fn become_read_only(&mut self, now: Time, plane: PlaneId) {
        let set = self.sets.of_plane(plane);
        if self.takes_writes(set) {
            let why = format!(
                "at {now} plane {plane} had {} free blocks, {} blocks of the drive had gone bad, and collection had no victim \
                 that would free a block; more spare space (ftl.spare) would have kept it writable",
                self.ftl.free_blocks(plane),
                self.counters.bad_blocks
            );
            self.read_only.note(set, why);
        }
        while let Some(tag) = self.buffer.line(set).pop_front() {
            self.tags[tag].status = Status::WriteProtected;
            if self.tags[tag].in_transit == 0 {
                self.refuse(now, tag);
            }
        }
        for entry in self.buffer.filling(set) {
            // The write whose data it waits for has just been refused.
            let waiters = std::mem::replace(&mut self.buffer[entry].waiters, RequestId::NONE);
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
        if self.block_mapped.is_some() {
            // A program that has come to its chip has its page.
            return;
        }
        for lun in self.sets.luns(set) {
            for place in 0..self.places {
                self.strand_writes(now, lun, place);
            }
        }
    }

    /// Answers a write for which there will never be room.
    pub(crate) fn refuse(&mut self, now: Time, tag: Tag) {
        let t = &mut self.tags[tag];
        // The controller's own work for a write that has just come may not be over yet.
        let end = now.max(t.mark);
        t.spans.add(Cause::BufferFull, end.since(t.mark));
        t.mark = end;
        self.complete_over_link(end, tag);
    }

    pub(crate) fn strand_writes(&mut self, now: Time, lun: LunId, place: u32) {
        while self.luns.first(lun, Lane::USER_WRITE, place) != RequestId::NONE {
            let id = self.luns.take(&self.requests, lun, Lane::USER_WRITE, place);
            self.strand(now, id);
        }
        self.scheduler.released(lun);
        self.commit(now);
    }

    /// Gives up a program: its data stays in the buffer, and its waiters are notified.
    pub(crate) fn strand(&mut self, now: Time, id: RequestId) {
        let request = self.requests[id];
        self.left_committed(request.lun, id);
        if self.is_void(id) {
            return self.drop_program(now, id);
        }
        self.requests.remove(id);
        self.left_stripe(request.logical);
        if request.tag != Tag::NONE {
            self.page_ended(now, request.tag, request.page, Status::WriteProtected, Cause::Space);
        }
        self.read_given_up(now, request.entry());
        let e = &mut self.buffer[request.entry()];
        e.state = EntryState::Stranded;
        let lists = [
            std::mem::replace(&mut e.waiters, RequestId::NONE),
            std::mem::replace(&mut e.programmed_waiters, RequestId::NONE),
        ];
        for list in lists {
            self.release_waiters(now, list, Status::WriteProtected);
        }
    }
}
