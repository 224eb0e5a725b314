//! What happens when no erased page can be had: writes move to another plane of their set, or the set becomes
//! read-only.

use super::Ssd;
use crate::backend::UpperLayers;
use crate::flash::{LunId, PlaneId};
use crate::frontend::buffer::EntryState;
use crate::probe::Probe;
use crate::request::{Lane, MemoryRequest, RequestId, Tag, WaiterId};
use crate::sets::SetId;
use tailcut_base::{Cause, Status, Time};

impl<P: Probe> Ssd<P> {
    /// Writes that wait for an erased page on a chip that cannot make any: they move to another
    /// plane, or the drive becomes read-only.
    pub(crate) fn move_blocked_writes(&mut self, now: Time, lun: LunId) {
        for place in 0..self.layout.places.get() {
            let first = self.backend.first_of_lane(lun, Lane::USER_WRITE, place);
            if first == RequestId::NONE
                || self.layers().is_put_off(first, self.backend.request(first))
                || self.can_recover(now, lun, place)
            {
                continue;
            }
            self.relocate_writes(now, lun, place);
        }
    }

    fn can_recover(&mut self, now: Time, lun: LunId, place: u32) -> bool {
        let plane = self.layout.plane_at(lun, place);
        if self.config.gc.ideal {
            self.mapping.collect_at_once(now, plane, self.mapping.reserve + 1);
            self.carry_out(now);
            return self.mapping.has_room_at_once(plane);
        }
        let copy = self.backend.first_of_lane(lun, Lane::GC_WRITE, place);
        if copy != RequestId::NONE {
            return self.mapping.ftl.can_allocate(plane, self.backend.request(copy).frontier);
        }
        let recovers = self.mapping.makes_room(now, plane);
        self.carry_out(now);
        recovers
    }

    pub(crate) fn relocate_writes(&mut self, now: Time, lun: LunId, place: u32) {
        while self.backend.first_of_lane(lun, Lane::USER_WRITE, place) != RequestId::NONE {
            let id = self.backend.first_of_lane(lun, Lane::USER_WRITE, place);
            if self.backend.can_start(id, lun, place, &self.layers()) {
                // It stood behind a write of another stream, whose block is full.
                return self.backend.wake(lun);
            }
            let MemoryRequest { logical, frontier, tag, .. } = *self.backend.request(id);
            let plane = self.mapping.ftl.plane_for(logical, frontier);
            if tag != Tag::NONE || !self.mapping.ftl.can_allocate(plane, frontier) {
                return self.become_read_only(now, self.layout.plane_at(lun, place));
            }
            self.backend.take(lun, Lane::USER_WRITE, place);
            let (lun, place) = self.layout.lun_of_plane(plane);
            let r = self.backend.request_mut(id);
            (r.lun, r.place) = (lun, place as u8);
            self.backend.commit_anew(now, id);
        }
    }

    /// True unless a set has become read-only.
    #[inline]
    pub(crate) fn takes_writes(&self, set: SetId) -> bool {
        self.mapping.read_only.takes_writes(set)
    }

    /// Makes the set of a plane read-only: it has no room for another write and cannot make any. Data in
    /// the buffer stays readable there; waiting writes fail.
    pub(crate) fn become_read_only(&mut self, now: Time, plane: PlaneId) {
        let set = self.mapping.sets.of_plane(plane);
        if self.takes_writes(set) {
            let why = format!(
                "at {now} plane {plane} had {} free blocks, {} blocks of the drive had gone bad, and collection had no victim \
                 that would free a block; more spare space (ftl.spare) would have kept it writable",
                self.mapping.ftl.free_blocks(plane),
                self.mapping.counters.bad_blocks
            );
            self.mapping.read_only.note(set, why);
        }
        while let Some(tag) = self.frontend.buffer.line(set).pop_front() {
            self.frontend.tags[tag].status = Status::WriteProtected;
            if self.frontend.tags[tag].in_transit == 0 {
                self.frontend.refuse(now, tag);
            }
        }
        for entry in self.frontend.buffer.filling(set) {
            // The write whose data it waits for has just been refused.
            let waiters = std::mem::replace(&mut self.frontend.buffer[entry].waiters, WaiterId::NONE);
            self.frontend.release_waiters(now, waiters, Status::WriteProtected);
        }
        let mut flushes = Vec::new();
        self.frontend.buffer.give_up_flushes(set, &mut flushes);
        for tag in flushes {
            let t = &mut self.frontend.tags[tag];
            t.status = Status::WriteProtected;
            t.spans.add(Cause::Flush, now.since(t.mark));
            t.mark = now;
            self.frontend.complete_over_link(now, tag);
        }
        if self.mapping.block_mapped.is_some() {
            // A program that has come to its chip has its page.
            return;
        }
        for lun in self.mapping.sets.luns(set) {
            for place in 0..self.layout.places.get() {
                self.strand_writes(now, lun, place);
            }
        }
    }

    pub(crate) fn strand_writes(&mut self, now: Time, lun: LunId, place: u32) {
        while self.backend.first_of_lane(lun, Lane::USER_WRITE, place) != RequestId::NONE {
            let id = self.backend.take(lun, Lane::USER_WRITE, place);
            self.strand(now, id);
        }
        self.backend.released(lun);
        self.commit(now);
    }

    /// Cancels a program for want of erased space: its data stays in the buffer, and commands that wait for it complete
    /// with [`Status::WriteProtected`].
    pub(crate) fn strand(&mut self, now: Time, id: RequestId) {
        let request = *self.backend.request(id);
        self.backend.left_committed(request.lun, id);
        if self.layers().is_void(id, self.backend.request(id)) {
            return self.drop_program(now, id);
        }
        self.backend.remove(id);
        self.mapping.left_stripe(request.logical);
        if request.tag != Tag::NONE {
            self.frontend.page_ended(now, request.tag, request.page, Status::WriteProtected, Cause::Space);
        }
        self.read_given_up(now, request.entry());
        let e = &mut self.frontend.buffer[request.entry()];
        e.state = EntryState::Stranded;
        let lists = [
            std::mem::replace(&mut e.waiters, WaiterId::NONE),
            std::mem::replace(&mut e.programmed_waiters, WaiterId::NONE),
        ];
        for list in lists {
            self.frontend.release_waiters(now, list, Status::WriteProtected);
        }
    }
}
