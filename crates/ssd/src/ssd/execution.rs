//! The loop over LUNs, what they start and what follows from what they have done; and the loop over what the
//! mapping has others do.

use super::Ssd;
use crate::backend::{CellsDone, Committed, Rest, Step, UpperLayers};
use crate::flash::{ChannelId, LunId, PhysicalPage, PlaneId};
use crate::mapping::ftl::Location;
use crate::mapping::{CollectionTimes, Effect, Freed};
use crate::mutation::{Invariant, holds};
use crate::probe::{Outcome, Probe};
use crate::request::{Kind, Lane, MemoryRequest, RequestId, Role, Tag};
use crate::sets::SetId;
use crate::ssd::layers::Layers;
use tailcut_base::Time;
use tailcut_base::control::ControlReply;
use tailcut_base::ids::Id;

impl<P: Probe> Ssd<P> {
    /// Commits what the scheduler wants committed. The LUNs are started by [`Ssd::wake`], so that all
    /// requests committed at one moment can share a transaction.
    #[inline(always)]
    pub(crate) fn commit(&mut self, now: Time) {
        while let Some(committed) = self.backend.commit_next() {
            if let Committed::AwaitsData(id) = committed {
                self.fetch_page(now, id);
            }
        }
    }

    /// Starts the LUNs that have been given work, in the order in which they were given it.
    #[inline]
    pub(crate) fn wake(&mut self, now: Time) {
        while let Some(lun) = self.backend.pop_woken() {
            self.kick(now, lun);
        }
    }

    /// Lets a LUN start what it can.
    #[inline]
    fn kick(&mut self, now: Time, lun: LunId) {
        let step = self.backend.kick(now, lun, &mut Layers::new(&mut self.mapping, &mut self.frontend));
        self.follow_up(now, lun, step);
    }

    #[inline(always)]
    fn follow_up(&mut self, now: Time, lun: LunId, step: Step) {
        match step {
            Step::Nothing => {}
            Step::Started => self.started(now, lun),
            Step::Rests => self.rest(now, lun),
            Step::Emptied => {
                self.drop_void(now);
                self.backend.abandon_start(lun);
                self.commit(now);
                self.wake(now);
                self.kick(now, lun);
            }
        }
    }

    /// A transaction has begun.
    #[inline(always)]
    fn started(&mut self, now: Time, lun: LunId) {
        self.drop_void(now);
        let kind = self.backend.lun(lun).transaction.kind;
        if self.frontend.tracker.is_on() {
            self.track_start(now, lun);
        }
        if self.frontend.pacing.waits_for_programs() && matches!(kind, Kind::UserWrite | Kind::GcWrite) {
            self.frontend.pacing.program(now);
        }
        if kind == Kind::ReadAhead {
            self.ahead_begins(lun);
        }
        let layers = Layers::new(&mut self.mapping, &mut self.frontend);
        if self.backend.open_to_preemption(lun, &layers) {
            self.commit(now);
        }
        self.wake(now);
    }

    /// Reports a transaction that has begun to the tracker.
    #[cold]
    fn track_start(&mut self, now: Time, lun: LunId) {
        let transaction = &self.backend.lun(lun).transaction;
        let members = transaction.members().iter().map(|&id| self.backend.request(id));
        let bits = self.config.timing.cell.bits();
        let page_type = |request: &MemoryRequest| (self.layout.offset_of(request.physical) % bits) as usize;
        self.frontend.track_start(now, lun, transaction.kind, members, page_type);
    }

    /// Drops the programs and reads ahead that were found void while a transaction was composed. What that
    /// gives to do to other LUNs must not take the bus that this one has been granted.
    #[inline]
    fn drop_void(&mut self, now: Time) {
        while let Some(id) = self.backend.pop_void() {
            self.backend.defer_starts(true);
            self.drop_program(now, id);
            self.backend.defer_starts(false);
        }
    }

    /// A LUN without work that can start: idle, or short of space, or with time for background
    /// collection.
    fn rest(&mut self, now: Time, lun: LunId) {
        let layers = Layers::new(&mut self.mapping, &mut self.frontend);
        let is_quiet = layers.is_quiet(lun);
        match self.backend.rest(now, lun, is_quiet, &layers) {
            Rest::AwaitsData => {}
            Rest::ShortOfSpace => {
                self.move_blocked_writes(now, lun);
                // A read that the erase waits for may be queued behind these writes.
                self.backend.give_way(lun);
                self.commit(now);
                self.wake(now);
            }
            Rest::TakesOver => {
                self.commit(now);
                self.wake(now);
                self.kick(now, lun);
            }
            Rest::Idle => {
                if self.config.preempt.time_erases && self.begin_deferred_erases(now, lun) {
                    return self.wake(now);
                }
                if self.config.gc.background {
                    self.mapping.collect_in_background(now, lun);
                    self.carry_out(now);
                }
            }
        }
    }

    /// Erases that have waited for a LUN to be idle begin. True if one has.
    fn begin_deferred_erases(&mut self, now: Time, lun: LunId) -> bool {
        let begun = self.mapping.begin_deferred_erases(now, lun);
        self.carry_out(now);
        begun
    }

    /// The bus is free: the read whose data it carried is over and its waiters are served. The LUN of that
    /// read may request the bus for its next command first.
    #[inline(always)]
    pub(super) fn serve_bus(&mut self, now: Time, channel: ChannelId) {
        if let Some(lun) = self.backend.end_of_bus_use(now, channel) {
            self.end_transaction(now, lun);
        }
        loop {
            let mut layers = Layers::new(&mut self.mapping, &mut self.frontend);
            let Some((lun, step)) = self.backend.grant_bus(now, channel, &mut layers) else { break };
            self.follow_up(now, lun, step);
        }
    }

    /// The timer of a LUN has expired.
    #[inline(always)]
    pub(super) fn serve_lun(&mut self, now: Time, lun: LunId) {
        match self.backend.cells_done(now, lun) {
            CellsDone::DataGoesOut | CellsDone::Nothing => {}
            CellsDone::Ended => self.end_transaction(now, lun),
            CellsDone::Preempted => self.preempted(now, lun),
            CellsDone::LookAgain => self.kick(now, lun),
        }
    }

    fn end_transaction(&mut self, now: Time, lun: LunId) {
        if P::WATCHES {
            self.report(now, lun, Outcome::Done);
        }
        // The LUN stays busy until all members are served, so that work which they cause can
        // share its next transaction.
        let kind = self.backend.lun(lun).transaction.kind;
        if !matches!(kind, Kind::UserRead | Kind::ReadAhead) {
            self.backend.end_of_other_work(lun);
        }
        if self.frontend.tracker.is_on() {
            let started = self.backend.lun(lun).transaction.started;
            self.frontend.track_end_of(now, lun, kind, started);
        }
        for index in 0..self.backend.lun(lun).transaction.members().len() {
            let id = self.backend.lun(lun).transaction.member(index);
            match self.backend.request(id).role {
                Role::HostRead => self.host_read_done(now, id),
                Role::Merge(_) => self.merge_read_done(now, id),
                Role::Program(_) => self.program_done(now, id),
                Role::Unit(unit) => self.unit_programmed(now, id, unit),
                Role::Ahead(slot) => self.ahead_done(now, id, slot),
                Role::Copy(_)
                | Role::Erase(_)
                | Role::BlockCopy(_)
                | Role::BlockErase(_)
                | Role::Row
                | Role::SuperblockErase => self.own_operation_done(now, id),
            }
        }
        self.give_back(now, lun);
    }

    /// An operation of the mapping itself is over.
    fn own_operation_done(&mut self, now: Time, id: RequestId) {
        let request = *self.backend.request(id);
        self.backend.remove(id);
        let freed = self.mapping.operation_done(now, request);
        self.carry_out(now);
        match freed {
            Freed::Nothing => {}
            Freed::Unit => self.program_staged(now),
            Freed::Superblock => self.superblock_freed(now),
        }
    }

    /// A transaction leaves its LUN, which can serve something else.
    #[inline(always)]
    fn give_back(&mut self, now: Time, lun: LunId) {
        self.backend.give_back(now, lun);
        self.commit(now);
        self.wake(now);
        self.kick(now, lun);
    }

    /// A LUN has been suspended or reset: it is free for the read.
    fn preempted(&mut self, now: Time, lun: LunId) {
        if P::WATCHES {
            let command = |tag: Tag| self.frontend.tags[tag].command.id;
            self.probe.handover(self.backend.handover(now, lun, command));
        }
        if self.backend.is_suspending(lun) {
            self.backend.suspend(now, lun);
        } else {
            self.reset(now, lun);
        }
        self.give_back(now, lun);
    }

    /// Resets the operation of a LUN and queues its requests again, ahead of all others.
    fn reset(&mut self, now: Time, lun: LunId) {
        if P::WATCHES {
            self.report(now, lun, Outcome::Reset);
        }
        let layers = Layers::new(&mut self.mapping, &mut self.frontend);
        let transaction = self.backend.reset(now, lun, &layers);
        // From the last to the first, because each goes to the head of its list.
        for &id in transaction.members().iter().rev() {
            if transaction.kind == Kind::Erase {
                let block = self.layout.block_of(self.backend.request(id).physical);
                self.mapping.wear_out(block);
            } else {
                self.spoil_word_line(now, id);
            }
            self.backend.wait_again(now, lun, id);
        }
    }

    /// Reports the transaction of a LUN to the probe.
    fn report(&mut self, now: Time, lun: LunId, outcome: Outcome) {
        let command = |tag: Tag| self.frontend.tags[tag].command.id;
        self.probe.transaction(self.backend.record(now, lun, outcome, command));
    }

    /// The program of a page has been reset: no page of its word line can be read or programmed any
    /// more. Those that were programmed before, the controller still has.
    fn spoil_word_line(&mut self, now: Time, id: RequestId) {
        let request = *self.backend.request(id);
        let start = self.backend.start_of_word_line(request.physical);
        if holds(Invariant::RestoreWordLine) {
            for page in start.up_to(request.physical) {
                if self.mapping.map().is_valid(page) {
                    self.restore(now, page);
                }
            }
        }
        self.mapping.spoil_word_line(now, &request, start, self.config.timing.cell.bits());
        self.backend.request_mut(id).physical = PhysicalPage::NONE;
    }

    /// Takes a page of a word line that was spoiled back into the buffer, from the controller's copy. Its
    /// program must not be reset again: two pages that share word lines could go on spoiling each other for
    /// ever.
    fn restore(&mut self, now: Time, page: PhysicalPage) {
        let logical = self.mapping.logical_of(page);
        self.mapping.invalidate(page, now);
        match self.mapping.map().lookup(logical) {
            // A newer version is on its way; what it lacks is in the copy.
            Location::Buffer(entry) => self.frontend.lose_old_version(entry),
            location => {
                assert_eq!(location, Location::Flash(page), "a valid page is mapped");
                let entry = self.frontend.restore_entry(logical, self.mapping.content_of(page));
                self.mapping.set_location(logical, Location::Buffer(entry));
                self.issue_program(now, entry, u8::MAX);
                self.mapping.counters.pages_restored += 1;
            }
        }
    }

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
            Effect::WakeIfWaiting(lun) => self.backend.wake_if_waiting(lun),
            Effect::StartLuns => self.wake(now),
            Effect::SetTimer(timer, at) => self.backend.set_or_clear_timer(timer, at),
            Effect::AddWindowTimer => self.backend.add_window_timer(),
            Effect::EraseCompleted => self.backend.erase_completed(),
            Effect::PageMoved { from, to } => self.readdress(now, from, to),
            Effect::OldVersionMoved(entry, to) => self.frontend.old_version_moved(entry, to),
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
                self.backend.starve(plane);
                self.commit(now);
            }
            Effect::Feed(plane) => self.backend.feed(plane),
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
        while self.mapping.map().is_pinned(self.layout.block_of(from)) && self.backend.readdress(from, to) {
            if self.mapping.reader_moved(now, from, to) {
                self.carry_out(now);
            }
        }
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
            self.own_operation_done(now, id);
        }
    }

    /// A plane may be short of free blocks now.
    #[inline]
    pub(crate) fn collect_if_short(&mut self, now: Time, plane: PlaneId) {
        self.mapping.collect_if_short(now, plane);
        self.carry_out(now);
    }

    /// Is a set quiet? It is asked to be.
    pub(super) fn is_ready_for_read(&mut self, now: Time, set: SetId) -> ControlReply {
        if !self.mapping.ask_for_quiet(now, set) {
            return ControlReply::Unsupported;
        }
        self.carry_out(now);
        ControlReply::Answer(self.has_come_to_rest(now, set))
    }

    /// The log of Predictable Latency Mode. The deterministic window begins when what is under way has ended.
    pub(super) fn predictable_latency_log(&mut self, now: Time, set: SetId) -> ControlReply {
        let rests = self.mapping.has_deterministic_window(set)
            && (!self.mapping.steering.is_quiet(set) || self.has_come_to_rest(now, set))
            && self
                .mapping
                .sets()
                .luns(set)
                .all(|lun| self.backend.rests_from_collection(now, lun, &self.layers()));
        let times = CollectionTimes::new(self.backend.time_of_copy(), self.backend.time_of_erase());
        self.mapping.predictable_latency_log(set, rests, self.frontend.buffered_pages(set) as u64, times)
    }

    /// True when nothing is under way any more in a set that has to end before its quiet period begins. LUNs
    /// that have been found at rest stay so and are not looked at again: all calls of a period together cost
    /// one look at each.
    fn has_come_to_rest(&mut self, now: Time, set: SetId) -> bool {
        if !holds(Invariant::AwaitRest) {
            return true;
        }
        if !self.mapping.holds_all_programs(set) {
            return false;
        }
        while let Some(lun) = self.mapping.next_to_rest(set) {
            if !self.backend.is_quiesced(now, lun, &self.layers()) {
                // A trim, or a program of another LUN, may have invalidated a copy that had no page to go to:
                // such a change does not wake the LUN.
                if self.backend.is_idle_with_work(now, lun, &self.layers()) {
                    self.kick(now, lun);
                }
                // That may have been all that was missing: then no event follows.
                let rests_programs = self.mapping.steering.rests_programs(set);
                if !rests_programs || !self.backend.is_quiesced(now, lun, &self.layers()) {
                    return false;
                }
            }
            self.mapping.steering.lun_rests(set);
        }
        true
    }

    /// Writes that wait for an erased page on a chip that cannot make any: they move to another
    /// plane, or the drive becomes read-only.
    fn move_blocked_writes(&mut self, now: Time, lun: LunId) {
        for place in 0..self.layout.places() {
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
        let copy = self.backend.first_of_lane(lun, Lane::GC_WRITE, place);
        if copy != RequestId::NONE {
            return self.mapping.map().can_allocate(plane, self.backend.request(copy).frontier);
        }
        let recovers = self.mapping.makes_room(now, plane);
        self.carry_out(now);
        recovers || self.mapping.has_room_at_once(plane)
    }

    fn relocate_writes(&mut self, now: Time, lun: LunId, place: u32) {
        while self.backend.first_of_lane(lun, Lane::USER_WRITE, place) != RequestId::NONE {
            let id = self.backend.first_of_lane(lun, Lane::USER_WRITE, place);
            if self.backend.can_start(id, lun, place, &self.layers()) {
                // It stood behind a write of another stream, whose block is full.
                return self.backend.wake(lun);
            }
            let MemoryRequest { logical, frontier, tag, .. } = *self.backend.request(id);
            let plane = self.mapping.plane_for(logical, frontier);
            if tag != Tag::NONE || !self.mapping.map().can_allocate(plane, frontier) {
                return self.become_read_only(now, self.layout.plane_at(lun, place));
            }
            self.backend.move_to(now, id, plane);
        }
    }

    /// Makes the set of a plane read-only. Data in the buffer stays readable there; waiting writes fail.
    fn become_read_only(&mut self, now: Time, plane: PlaneId) {
        let set = self.mapping.refuse_writes(now, plane);
        self.frontend.refuse_writes(now, set);
        if !self.mapping.gives_pages_at_chips() {
            return;
        }
        for lun in self.mapping.sets().luns(set) {
            for place in 0..self.layout.places() {
                while self.backend.first_of_lane(lun, Lane::USER_WRITE, place) != RequestId::NONE {
                    let id = self.backend.take(lun, Lane::USER_WRITE, place);
                    self.strand(now, id);
                }
                self.backend.released(lun);
                self.commit(now);
            }
        }
    }
}
