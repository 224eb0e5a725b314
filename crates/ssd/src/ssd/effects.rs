//! The loop over what the mapping has others do.

use super::Ssd;
use crate::flash::{BlockId, LunId, PhysicalPage, PlaneId};
use crate::mapping::{Effect, QueuedProgram};
use crate::probe::Probe;
use crate::request::RequestId;
use crate::sets::SetId;
use crate::ssd::layers::Layers;
use tailcut_base::Time;

impl<P: Probe> Ssd<P> {
    /// Carries out what the mapping has asked for since it was last done.
    #[inline]
    pub(crate) fn carry_out(&mut self, now: Time) {
        while let Some(effect) = self.mapping.next_effect() {
            self.carry_out_one(now, effect);
        }
    }

    fn carry_out_one(&mut self, now: Time, effect: Effect) {
        match effect {
            Effect::Issue(request) => {
                self.backend.issue(now, request);
            }
            Effect::Wake(lun) => self.backend.wake(lun),
            Effect::WakeIfWaiting(lun) => {
                if self.backend.lun(lun).has_work() {
                    self.backend.wake(lun);
                }
            }
            Effect::StartLuns => self.wake(now),
            Effect::SetTimer(timer, at) => self.backend.set_or_clear_timer(timer, at),
            Effect::AddWindowTimer => self.backend.add_window_timer(),
            Effect::EraseCompleted => self.backend.erase_completed(),
            Effect::PageMoved { from, to } => self.readdress(now, from, to),
            Effect::OldVersionMoved(entry, to) => self.frontend.buffer[entry].old = to,
            Effect::StartProgram(id, physical) => {
                self.backend.request_mut(id).physical = physical;
                self.backend.commit_own(id);
            }
            Effect::DropQueued(id) => {
                let lun = self.backend.request(id).lun;
                self.backend.left_committed(lun, id);
                self.drop_program(now, id);
            }
            Effect::Strand(id) => self.strand(now, id),
            Effect::BecomeReadOnly(plane) => self.become_read_only(now, plane),
            Effect::Starve(plane) => {
                // The read that an erase waits for may stand behind the programs that wait for it.
                let (lun, place) = self.layout.lun_of_plane(plane);
                self.backend.starve(lun, place);
                self.backend.give_way(lun);
                self.commit(now);
            }
            Effect::Feed(plane) => {
                let (lun, place) = self.layout.lun_of_plane(plane);
                self.backend.feed(lun, place);
            }
            Effect::CommitMore(lun) => {
                self.backend.released(lun);
                self.commit(now);
            }
            Effect::ReleaseEmptied(block) => self.mapping.release_emptied(block),
            Effect::CollectAtOnce { plane, wanted } => self.mapping.collect_at_once(now, plane, wanted),
            Effect::WriteBack(set) => self.write_back(now, set),
        }
    }

    /// The readdressing callback (Sprinkler, section 4.3): reads that wait in the scheduler's layout
    /// for a page that has moved, by garbage collection, wear levelling or out of a bad block, go to
    /// its new place. So the layout shows what can share a transaction now, and the erase of the old
    /// block does not wait for them. Reads that are committed already keep their address.
    fn readdress(&mut self, now: Time, from: PhysicalPage, to: PhysicalPage) {
        assert_eq!(
            self.layout.lun_of_page(from),
            self.layout.lun_of_page(to),
            "pages move within their plane"
        );
        while self.mapping.ftl.is_pinned(self.layout.block_of(from)) && self.backend.readdress(from, to) {
            self.mapping.ftl.pin(to);
            self.mapping.counters.readdressed += 1;
            if self.mapping.collects_at_once() {
                // Its block is released when all of its reads have followed.
                self.mapping.ftl.unpin(from);
            } else {
                self.unpin(now, from);
            }
        }
    }

    /// A read of a page is over: the last one of a block lets that be erased.
    #[inline]
    pub(crate) fn unpin(&mut self, now: Time, physical: PhysicalPage) {
        if self.mapping.ftl.unpin(physical) {
            self.resume_erase(now, self.layout.block_of(physical));
        }
    }

    /// The last read of a block that is being emptied has ended.
    fn resume_erase(&mut self, now: Time, block: BlockId) {
        self.mapping.resume_erase(now, block);
        self.carry_out(now);
    }

    /// A page of a victim has been read.
    pub(super) fn copy_read_done(&mut self, now: Time, id: RequestId) {
        let request = *self.backend.request(id);
        self.backend.remove(id);
        self.mapping.copy_read(now, request);
        self.carry_out(now);
    }

    /// The host has just read a page: if a collection was about to read it too, it has been spared that
    /// (PAReset, section 2.1).
    #[cold]
    pub(crate) fn spare_copy_read(&mut self, now: Time, physical: PhysicalPage) {
        if !self.mapping.is_of_victim(physical) {
            return;
        }
        if let Some(id) = self.backend.take_copy_of(physical) {
            self.mapping.counters.merged_reads += 1;
            self.copy_read_done(now, id);
        }
    }

    /// A page of a victim has been programmed elsewhere.
    pub(super) fn copy_program_done(&mut self, now: Time, id: RequestId) {
        let request = *self.backend.request(id);
        self.backend.remove(id);
        self.mapping.copy_programmed(now, request);
        self.carry_out(now);
    }

    /// The block of a victim has been erased.
    pub(super) fn erase_done(&mut self, now: Time, id: RequestId) {
        let plane = self.backend.request(id).plane();
        self.backend.remove(id);
        self.mapping.victim_erased(now, plane);
        self.carry_out(now);
    }

    /// A program has used up a page of a plane, which may be short of free blocks now.
    #[inline]
    pub(crate) fn collect_if_short(&mut self, now: Time, plane: PlaneId) {
        self.mapping.collect_if_short(now, plane);
        self.carry_out(now);
    }

    /// A LUN is idle: it may collect.
    pub(super) fn collect_in_background(&mut self, now: Time, lun: LunId) {
        self.mapping.collect_in_background(now, lun);
        self.carry_out(now);
    }

    /// A LUN is idle: erases that have waited for that begin. True if one has.
    pub(super) fn begin_deferred_erases(&mut self, now: Time, lun: LunId) -> bool {
        let begun = self.mapping.begin_deferred_erases(now, lun);
        self.carry_out(now);
        begun
    }

    /// A write or a flush has come: it ends a quiet period of its set.
    #[inline]
    pub(super) fn write_begins(&mut self, now: Time, set: SetId) {
        self.mapping.write_begins(now, set);
        self.carry_out(now);
    }

    /// Commits the program of a page of the buffer: at once, or when its turn comes under block-level
    /// mapping.
    #[inline]
    pub(crate) fn commit_program(&mut self, now: Time, id: RequestId) {
        if !self.config.schedule.hit_manager {
            // Queued data stays as it is; a later write to the page has a program of its own.
            let content = self.frontend.buffer.begin_program(self.backend.request(id).entry());
            self.backend.request_mut(id).content = content;
        }
        if self.mapping.block_mapped.is_some() {
            let (plane, program) = self.queued_program(id);
            self.mapping.queue_program(now, plane, program);
            return self.carry_out(now);
        }
        let layers = Layers::new(&mut self.mapping, &mut self.frontend);
        if self.backend.levels_queues() && self.backend.divert(now, id, &layers) {
            self.commit(now);
        }
        self.backend.commit_own(id);
    }

    /// A program as block-level mapping queues it, and the plane that it goes to.
    pub(super) fn queued_program(&self, id: RequestId) -> (PlaneId, QueuedProgram) {
        let request = self.backend.request(id);
        let plane = self.layout.plane_at(request.lun, u32::from(request.place));
        (plane, QueuedProgram { id, logical: request.logical, entry: request.entry() })
    }

    /// A page that is copied within its logical block has been read.
    pub(super) fn block_copy_read(&mut self, now: Time, id: RequestId) {
        let request = *self.backend.request(id);
        self.backend.remove(id);
        self.mapping.block_copy_read(now, request);
        self.carry_out(now);
    }

    /// A page has been copied within its logical block, or padded.
    pub(super) fn block_copy_done(&mut self, now: Time, id: RequestId) {
        let request = *self.backend.request(id);
        self.backend.remove(id);
        self.mapping.block_copy_programmed(now, request);
        self.carry_out(now);
    }

    /// A block that a logical block has left has been erased.
    pub(super) fn block_erased(&mut self, now: Time, id: RequestId) {
        let request = *self.backend.request(id);
        self.backend.remove(id);
        self.mapping.replaced_block_erased(now, request.plane(), self.layout.block_of(request.physical));
        self.carry_out(now);
    }
}
