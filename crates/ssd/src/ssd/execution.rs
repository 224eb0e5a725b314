//! The loop over LUNs: what they start, and what follows from what they have done.

use super::Ssd;
use crate::backend::{CellsDone, Committed, Rest, Step};
use crate::config::Handling;
use crate::flash::{ChannelId, LunId, PhysicalPage};
use crate::mapping::ftl::Location;
use crate::mutation::{Invariant, holds};
use crate::probe::{ChipRecord, Handover, Member, Outcome, Probe};
use crate::request::{Kind, MemoryRequest, RequestId, Role, Tag};
use crate::ssd::layers::Layers;
use tailcut_base::Time;
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
    pub(crate) fn kick(&mut self, now: Time, lun: LunId) {
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
        if kind == Kind::ReadAhead {
            self.ahead_begins(lun);
        }
        let layers = Layers::new(&mut self.mapping, &mut self.frontend);
        if self.backend.open_to_preemption(lun, &layers) {
            self.commit(now);
        }
        self.wake(now);
    }

    /// Tells the tracker of a transaction that has begun.
    #[cold]
    fn track_start(&mut self, now: Time, lun: LunId) {
        let transaction = &self.backend.lun(lun).transaction;
        let members = transaction.members().iter().map(|&id| self.backend.request(id));
        match transaction.kind {
            Kind::UserWrite => {
                let bits = self.config.timing.cell.bits();
                let kind = |request: &MemoryRequest| self.layout.offset_of(request.physical) as usize % bits;
                let kind = members.map(kind).max().unwrap_or(0);
                self.frontend.track_programs(now, lun, kind, transaction.members().len() as u32);
            }
            kind => {
                self.frontend.track_other_start(lun);
                if kind == Kind::UserRead {
                    for request in members.filter(|request| request.role == Role::HostRead) {
                        self.frontend.track_read(now, request.tag);
                    }
                }
            }
        }
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
                    self.collect_in_background(now, lun);
                }
            }
        }
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
            match (self.backend.request(id).role, kind) {
                (Role::HostRead, _) => self.host_read_done(now, id),
                (Role::Merge(_), _) => self.merge_read_done(now, id),
                (Role::Program(_), _) => self.program_done(now, id),
                (Role::Copy(_), Kind::GcRead) => self.copy_read_done(now, id),
                (Role::Copy(_), _) => self.copy_program_done(now, id),
                (Role::Erase(_), _) => self.erase_done(now, id),
                (Role::BlockCopy(_), Kind::GcRead) => self.block_copy_read(now, id),
                (Role::BlockCopy(_), _) => self.block_copy_done(now, id),
                (Role::BlockErase(_), _) => self.block_erased(now, id),
                (Role::Unit(unit), _) => self.unit_programmed(now, id, unit),
                (Role::Row, _) => self.row_read(now, id),
                (Role::SuperblockErase, _) => self.superblock_block_erased(now, id),
                (Role::Ahead(slot), _) => self.ahead_done(now, id, slot),
            }
        }
        self.give_back(now, lun);
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
            self.report_handover(now, lun);
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
                self.mapping.nand.wear_out(block);
            } else {
                self.spoil_word_line(now, id);
            }
            self.backend.wait_again(now, lun, id);
        }
    }

    /// Tells the probe of the transaction of a LUN.
    fn report(&mut self, now: Time, lun: LunId, outcome: Outcome) {
        let t = &self.backend.lun(lun).transaction;
        let member = |&id: &RequestId| {
            let request = self.backend.request(id);
            let command = (request.tag != Tag::NONE).then(|| self.frontend.tags[request.tag].command.id);
            Member { command, logical: request.logical, physical: request.physical }
        };
        // The cells of what was reset stopped as soon as it was given up.
        let cell_end = match outcome {
            Outcome::Done => t.cell_end,
            Outcome::Reset => Time(now.0 - self.backend.time_to_take(t.kind, Handling::Reset).0),
        };
        let record = ChipRecord {
            lun,
            channel: self.layout.channel_of(lun),
            kind: t.kind,
            start: t.started,
            command_end: t.started + t.command,
            cell_end,
            out_start: if t.kind.is_read() { t.out_start } else { cell_end },
            end: now,
            outcome,
            suspensions: t.suspensions,
            suspended: t.suspended,
            gap: t.gap,
            members: t.members().iter().map(member).collect(),
        };
        self.probe.transaction(record);
    }

    /// Tells the probe that a LUN has been taken from its operation.
    fn report_handover(&mut self, now: Time, lun: LunId) {
        let u = self.backend.lun(lun);
        let kind = u.transaction.kind;
        let handling = if self.backend.is_suspending(lun) { Handling::Suspend } else { Handling::Reset };
        let first = self.backend.preempting_read(lun);
        let tag = first.map(|id| self.backend.request(id).tag).filter(|&tag| tag != Tag::NONE);
        self.probe.handover(Handover {
            lun,
            channel: self.layout.channel_of(lun),
            kind,
            handling,
            asked: u.held_since(),
            stopped: Time(now.0 - self.backend.time_to_take(kind, handling).0),
            free: now,
            command: tag.map(|tag| self.frontend.tags[tag].command.id),
        });
    }

    /// The program of a page has been reset: no page of its word line can be read or programmed any
    /// more. Those that were programmed before, the controller still has.
    fn spoil_word_line(&mut self, now: Time, id: RequestId) {
        let request = *self.backend.request(id);
        let start = self.backend.start_of_word_line(request.physical);
        if holds(Invariant::RestoreWordLine) {
            for page in start.up_to(request.physical) {
                if self.mapping.ftl.is_valid(page) {
                    self.restore(now, page);
                }
            }
        }
        let bits = self.config.timing.cell.bits() as u32;
        let block = self.layout.block_of(request.physical);
        let end = (self.layout.offset_of(start) + bits).min(self.geometry.pages);
        let is_read = self.mapping.ftl.is_pinned(block) && holds(Invariant::KeepForReads);
        self.mapping.nand.spoil(start, request.physical, end, is_read);
        self.mapping.counters.pages_spoiled += u64::from(end - self.layout.offset_of(request.physical));
        let plane = self.layout.plane_at(request.lun, u32::from(request.place));
        if holds(Invariant::LeaveWordLine) {
            self.mapping.ftl.skip_to(plane, request.frontier, end);
        }
        self.backend.request_mut(id).physical = PhysicalPage::NONE;
        if end == self.geometry.pages {
            self.mapping.ftl.close(block, now);
        }
    }

    /// Takes a page of a spoiled word line back into the buffer, from the controller's copy. Its program
    /// must not be reset again: two pages that share word lines could go on spoiling each other for ever.
    fn restore(&mut self, now: Time, page: PhysicalPage) {
        let logical = self.mapping.nand.logical(page);
        self.mapping.ftl.invalidate(page, now);
        match self.mapping.ftl.lookup(logical) {
            Location::Buffer(entry) => {
                // A newer version is on its way; what it lacks is in the copy.
                self.frontend.buffer[entry].old = PhysicalPage::NONE;
                self.frontend.buffer[entry].whole = true;
            }
            mapping => {
                assert_eq!(mapping, Location::Flash(page), "a valid page is mapped");
                let (set, content) = (self.mapping.sets.of_logical(logical), self.mapping.nand.content(page));
                let entry = self.frontend.buffer.create(set, logical, PhysicalPage::NONE, content);
                self.mapping.ftl.set(logical, Location::Buffer(entry));
                self.frontend.buffer.make_dirty(entry);
                self.frontend.buffer.leave_line(entry);
                self.issue_program(now, entry, u8::MAX);
                self.mapping.counters.pages_restored += 1;
            }
        }
    }
}
