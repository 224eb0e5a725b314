//! The flash controller: starts transactions, carries them over bus and cells, and ends them.

mod report;

use crate::config::ChipPolicy;
use crate::flash::bus::{BusRelease, BusUse};
use crate::flash::lun::{Holder, Phase};
use crate::flash::{ChannelId, LunId, PhysicalPage};
use crate::probe::{Outcome, Probe};
use crate::request::{Kind, Lane, RequestId, Role};
use crate::ssd::Ssd;
use tailcut_base::{Nanos, Time};

/// The next step of a LUN.
enum Next {
    /// A transaction from this lane.
    Start(Lane),
    /// Resume the suspended operation.
    Resume,
    /// Nothing can start.
    Rest,
}

pub(crate) fn holder_of(kind: Kind) -> Holder {
    match kind {
        Kind::UserRead => Holder::UserRead,
        Kind::GcRead => Holder::GcRead,
        Kind::UserWrite => Holder::UserWrite,
        Kind::GcWrite => Holder::GcWrite,
        Kind::Erase => Holder::Erase,
        Kind::ReadAhead => Holder::ReadAhead,
    }
}

impl<P: Probe> Ssd<P> {
    /// Lets an idle LUN ask for the bus, if it has work that can start. A busy one may be preempted.
    #[inline]
    pub(crate) fn kick(&mut self, now: Time, lun: LunId) {
        if self.luns[lun].phase != Phase::Idle {
            if self.luns[lun].is_preemptible {
                self.consider_preemption(now, lun);
            }
            return;
        }
        let lane = match self.next(now, lun) {
            Next::Start(lane) => lane,
            Next::Resume => return self.resume(now, lun),
            Next::Rest => return self.rest(now, lun),
        };
        self.luns[lun].phase = Phase::AwaitStart;
        let channel = self.layout.channel_of(lun);
        if self.buses.is_free(channel, now) {
            return self.start(now, lun, channel, lane);
        }
        self.luns[lun].hold(now, Holder::BusWait);
        let wanted = match lane.kind() {
            Kind::UserRead | Kind::GcRead => BusUse::ReadCommand,
            Kind::Erase => BusUse::EraseCommand,
            Kind::UserWrite | Kind::GcWrite | Kind::ReadAhead => BusUse::Program,
        };
        self.wait_for_bus(now, channel, lun, wanted);
    }

    /// A LUN without work that can start: idle, or short of space, or with time for background
    /// collection.
    fn rest(&mut self, now: Time, lun: LunId) {
        if self.luns[lun].holds_for_data() {
            self.luns[lun].hold(now, Holder::Idle);
        } else if self.luns[lun].has_work() && !self.has_only_resting_work(lun) {
            self.luns[lun].hold(now, Holder::Space);
            self.move_blocked_writes(now, lun);
            // A read that the erase waits for may be queued behind these writes.
            self.scheduler.give_way();
            self.scheduler.released(lun);
            self.commit(now);
            self.wake(now);
        } else {
            let u = &mut self.luns[lun];
            u.hold(now, Holder::Idle);
            // What reads went before may have been dropped, or moved away by the leveler.
            u.held_off_since = Time::NEVER;
            if self.levels_queues()
                && !self.steering.rests_programs(self.sets.of_lun(lun))
                && self.take_over(now, lun)
            {
                self.wake(now);
                return self.kick(now, lun);
            }
            if self.config.preempt.time_erases && self.begin_deferred_erases(now, lun) {
                return self.wake(now);
            }
            if self.config.gc.background {
                self.collect_in_background(now, lun);
            }
        }
    }

    #[inline(always)]
    fn wait_for_bus(&mut self, now: Time, channel: ChannelId, lun: LunId, wanted: BusUse) {
        if let Some(at) = self.buses.wait(channel, lun, now, wanted) {
            self.timers.set(self.channel_timer(channel), at);
        }
    }

    /// The next step that a LUN should take.
    #[inline(always)]
    fn next(&self, now: Time, lun: LunId) -> Next {
        let u = &self.luns[lun];
        if u.is_suspended {
            return match self.read_before_resuming(now, lun) {
                Some(lane) => Next::Start(lane),
                None => Next::Resume,
            };
        }
        self.choose(now, lun).map_or(Next::Rest, Next::Start)
    }

    /// The lane that should go next, by the chip policy; `None` when nothing can start.
    #[inline(always)]
    pub(crate) fn choose(&self, now: Time, lun: LunId) -> Option<Lane> {
        let u = &self.luns[lun];
        if u.has_only(Lane::READ) {
            return Some(Lane::READ);
        }
        if !u.has_work() {
            return None;
        }
        if !self.config.gc.preemptible
            && let Some(collection) = self.first_of(lun, Lane::COLLECTION)
        {
            return Some(collection);
        }
        if self.config.schedule.chip == ChipPolicy::Fifo {
            return self.first_of(lun, Lane::ALL_BUT_AHEAD).or_else(|| u.reads_ahead());
        }
        if let Some(read) = u.first_reads()
            && !self.is_overdue(now, lun)
        {
            return Some(read);
        }
        if self.superblocks.is_some() {
            // What collection programs is paced by what the host writes: they go in turn.
            let others = self.first_of(lun, Lane::USER_WRITE.mask() | Lane::COLLECTION);
            return others.or(u.first_reads()).or_else(|| u.reads_ahead());
        }
        let write = self.first_of(lun, Lane::USER_WRITE.mask());
        let others = match write {
            Some(_) if !self.is_short_of_blocks(lun) => write,
            _ => self.first_of(lun, Lane::COLLECTION).or(write),
        };
        others.or(u.first_reads()).or_else(|| u.reads_ahead())
    }

    /// Of the lanes of a mask, the one with the oldest request that can start.
    #[inline]
    fn first_of(&self, lun: LunId, lanes: u8) -> Option<Lane> {
        let mut first = (u64::MAX, None);
        for lane in self.luns[lun].lanes_with_work(lanes) {
            let order = self.oldest(lun, lane);
            if order < first.0 {
                first = (order, Some(lane));
            }
        }
        first.1
    }

    /// The order of the oldest request of a lane that can start; `u64::MAX` when there is none.
    #[inline]
    fn oldest(&self, lun: LunId, lane: Lane) -> u64 {
        let mut oldest = u64::MAX;
        if lane == Lane::USER_WRITE && self.luns[lun].holds_for_data() {
            return oldest;
        }
        for place in bits(self.luns[lun].places_with(lane)) {
            let id = self.luns.first(lun, lane, place);
            if self.can_start(id, lun, place) {
                oldest = oldest.min(self.requests[id].order);
            }
        }
        oldest
    }

    #[inline]
    pub(crate) fn can_start(&self, id: RequestId, lun: LunId, place: u32) -> bool {
        let request = &self.requests[id];
        match request.kind() {
            Kind::UserWrite | Kind::GcWrite => {
                (request.physical != PhysicalPage::NONE
                    || self.ftl.can_allocate(self.layout.plane_at(lun, place), request.frontier)
                    || self.is_void(id))
                    && !self.is_put_off(id)
            }
            _ => true,
        }
    }

    /// True when a program or a read-ahead is obsolete: its page was trimmed or overwritten meanwhile.
    #[inline]
    pub(crate) fn is_void(&self, id: RequestId) -> bool {
        let request = &self.requests[id];
        match request.role {
            Role::Copy(_) => request.lane == Lane::GC_WRITE && !self.ftl.is_valid(request.source),
            Role::Program(entry) => self.buffer[entry].trimmed,
            Role::Ahead(slot) => self.is_plan_void(request, slot),
            _ => false,
        }
    }

    /// True when reads have gone first for long enough: a write that could start, or collection whose
    /// blocks are needed, is waiting, and nothing but reads has ended here for longer than the patience.
    #[inline]
    pub(crate) fn is_overdue(&self, now: Time, lun: LunId) -> bool {
        self.is_held_off_too_long(now, lun) && self.has_waiting_work(lun)
    }

    /// True when a write that could start waits, or collection whose blocks are needed.
    pub(crate) fn has_waiting_work(&self, lun: LunId) -> bool {
        self.oldest(lun, Lane::USER_WRITE) != u64::MAX
            || self.is_short_of_blocks(lun) && self.first_of(lun, Lane::COLLECTION).is_some()
    }

    #[inline]
    pub(crate) fn is_held_off_too_long(&self, now: Time, lun: LunId) -> bool {
        let since = self.luns[lun].held_off_since;
        since != Time::NEVER && now.since(since) > self.config.schedule.write_patience
    }

    pub(crate) fn is_short_of_blocks(&self, lun: LunId) -> bool {
        let reserve = self.config.gc_reserve();
        (0..self.places).any(|place| self.ftl.free_blocks(self.layout.plane_at(lun, place)) <= reserve)
    }

    /// The bus is free: the read whose data it carried is over and its waiters are served. The chip of that
    /// read may request the bus for its next command first.
    #[inline(always)]
    pub(crate) fn serve_bus(&mut self, now: Time, channel: ChannelId) {
        match self.buses.end_of_use(channel) {
            Some(BusRelease { lun, left: 0 }) => self.end_transaction(now, lun),
            Some(BusRelease { lun, left }) => self.put_off_pages(now, lun, channel, left),
            None => {}
        }
        self.grant_bus(now, channel);
    }

    /// Another chip goes before the last `left` pages of a LUN.
    #[cold]
    fn put_off_pages(&mut self, now: Time, lun: LunId, channel: ChannelId, left: u32) {
        let is_read = self.luns[lun].transaction.kind.is_read();
        if !is_read {
            // The cells of the pages that have crossed the bus are busy, or will be together with the
            // others of their die.
            let crossed = self.program_end(lun, left);
            self.luns[lun].transaction.cell_end = crossed;
            self.clear_lun_timer(lun);
        }
        let u = &mut self.luns[lun];
        u.phase = if is_read { Phase::AwaitOut } else { Phase::AwaitIn };
        (u.transaction.left, u.transaction.put_off) = (left as u8, now);
        let wanted = if is_read { BusUse::ReadData } else { BusUse::Program };
        self.buses.wait_again(channel, lun, wanted);
    }

    /// When the cells of a program are done, counting the pages that have crossed the bus since the program
    /// last got it, or before, except the last `left`.
    fn program_end(&self, lun: LunId, left: u32) -> Time {
        let t = &self.luns[lun].transaction;
        if t.pages() != t.count() {
            // The pages of a word line begin together, when the last of them has been loaded.
            let loaded = t.bus_since + self.program_page() * u64::from(t.left);
            let cell = self.cell_time(t.member(0), t.kind);
            return if left == 0 { loaded + cell } else { Time::ZERO };
        }
        let members = t.members();
        let from = members.len() - usize::from(t.left);
        let to = members.len() - left as usize;
        let page = self.program_page();
        let mut end = t.in_end;
        for (&id, nth) in members[from..to].iter().zip(1..) {
            end = end.max(t.bus_since + page * nth + self.cell_time(id, t.kind));
        }
        end
    }

    /// The time of a page of a program on the bus, with its command.
    pub(crate) fn program_page(&self) -> Nanos {
        self.phases.program_command + self.phases.transfer
    }

    /// The rest of the pages of a program goes to its chip.
    #[cold]
    fn go_on_in(&mut self, now: Time, lun: LunId, channel: ChannelId) {
        let page = self.program_page();
        let t = &mut self.luns[lun].transaction;
        let left = t.left;
        t.in_end = t.cell_end;
        t.bus_since = now;
        t.gap += now.since(t.put_off);
        t.command = now.since(t.started) + page * u64::from(left);
        self.buses.carry(channel, lun, now, u64::from(left), page, BusUse::Program);
        let end = self.program_end(lun, 0);
        let u = &mut self.luns[lun];
        u.transaction.cell_end = end;
        u.phase = Phase::Cell;
        self.set_lun_timer(lun, end);
        if self.luns[lun].is_preemptible {
            self.consider_preemption(now, lun);
        }
    }

    fn grant_bus(&mut self, now: Time, channel: ChannelId) {
        while let Some(lun) = self.buses.grant(channel, now) {
            match self.luns[lun].phase {
                Phase::AwaitStart => match self.next(now, lun) {
                    Next::Start(lane) => self.start(now, lun, channel, lane),
                    Next::Resume => self.resume(now, lun),
                    Next::Rest => {
                        self.luns[lun].phase = Phase::Idle;
                        self.rest(now, lun);
                    }
                },
                Phase::AwaitOut => self.start_out(now, lun, channel),
                Phase::AwaitIn => self.go_on_in(now, lun, channel),
                phase => unreachable!("a LUN in phase {phase:?} does not wait for the bus"),
            }
        }
        if let Some(at) = self.buses.service_due(channel) {
            self.timers.set(self.channel_timer(channel), at);
        }
    }

    /// The command sequence of a LUN starts: composes its transaction from the requests committed to it.
    fn start(&mut self, now: Time, lun: LunId, channel: ChannelId, lane: Lane) {
        let kind = lane.kind();
        self.luns[lun].transaction.clear(kind);
        // A program that is dropped can give work to other chips of this channel, which must not
        // take the bus that this one has been granted.
        self.composing = true;
        let (command, cell) = self.compose(now, lun, lane);
        self.composing = false;
        if self.luns[lun].transaction.members().is_empty() {
            // All of its programs, or reads ahead, had become pointless.
            self.luns[lun].phase = Phase::Idle;
            self.scheduler.released(lun);
            self.commit(now);
            self.wake(now);
            return self.kick(now, lun);
        }
        match u64::from(self.luns[lun].transaction.pages()) {
            pages @ 2.. if matches!(kind, Kind::UserWrite | Kind::GcWrite) => {
                self.buses.carry(channel, lun, now, pages, command / pages, BusUse::Program);
            }
            _ => self.buses.take(channel, now, command),
        }
        self.luns.seize(now, lun, holder_of(kind));
        let u = &mut self.luns[lun];
        u.phase = Phase::Cell;
        u.transaction.started = now;
        u.transaction.command = command;
        u.transaction.cell_end = now + cell;
        u.transaction.left = u.transaction.pages();
        (u.transaction.bus_since, u.transaction.in_end) = (now, now);
        if kind == Kind::UserRead && u.has_other_work() {
            u.hold_off(now);
        }
        self.set_lun_timer(lun, now + cell);
        if self.tracker.is_on() {
            self.track_start(now, lun, kind);
        }
        if kind == Kind::ReadAhead {
            self.ahead_begins(lun);
        }
        if !kind.is_read() && self.config.preempt.is_on() {
            self.open_to_preemption(now, lun);
        }
        self.wake(now);
    }

    /// The cells of a LUN are done: data of reads goes out, everything else is over.
    #[inline(always)]
    pub(crate) fn cells_done(&mut self, now: Time, lun: LunId) {
        if self.luns[lun].phase != Phase::Cell {
            return self.other_timer(now, lun);
        }
        if !self.luns[lun].transaction.kind.is_read() {
            self.luns[lun].transaction.out_start = now;
            return self.end_transaction(now, lun);
        }
        let channel = self.layout.channel_of(lun);
        self.luns[lun].phase = Phase::AwaitOut;
        if self.buses.is_free(channel, now) {
            self.start_out(now, lun, channel);
        } else {
            self.wait_for_bus(now, channel, lun, BusUse::ReadData);
        }
    }

    /// The timer of a LUN whose cells are not at work.
    #[cold]
    fn other_timer(&mut self, now: Time, lun: LunId) {
        match self.luns[lun].phase {
            Phase::Suspending | Phase::Resetting => self.preempted(now, lun),
            // A deferred erase was to be looked at again.
            Phase::Idle if self.config.preempt.time_erases => self.kick(now, lun),
            Phase::AwaitStart if self.config.preempt.time_erases => {}
            phase => unreachable!("the cells of a LUN in phase {phase:?} do not end"),
        }
    }

    #[inline(always)]
    fn start_out(&mut self, now: Time, lun: LunId, channel: ChannelId) {
        let u = &mut self.luns[lun];
        u.phase = Phase::Out;
        let t = &mut u.transaction;
        let pages = u64::from(t.left);
        if t.left == t.pages() {
            t.out_start = now;
            self.luns.out_wait += now.since(self.luns[lun].transaction.cell_end);
        } else {
            let waited = now.since(t.put_off);
            t.gap += waited;
            self.luns.out_wait += waited;
        }
        let end = self.buses.carry(channel, lun, now, pages, self.phases.transfer, BusUse::ReadData);
        self.timers.set(self.channel_timer(channel), end);
    }

    fn end_transaction(&mut self, now: Time, lun: LunId) {
        if P::WATCHES {
            self.report(now, lun, Outcome::Done);
        }
        // The LUN stays busy until all members are served, so that work which they cause can
        // share its next transaction.
        let kind = self.luns[lun].transaction.kind;
        if !matches!(kind, Kind::UserRead | Kind::ReadAhead) {
            self.luns[lun].end_of_other_work();
        }
        if self.tracker.is_on() {
            self.track_end_of(now, lun, kind);
        }
        for index in 0..self.luns[lun].transaction.members().len() {
            let id = self.luns[lun].transaction.member(index);
            match (self.requests[id].role, kind) {
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
                (Role::Waiter, _) => unreachable!("a waiter is never committed"),
            }
        }
        self.give_back(now, lun);
    }

    /// A transaction leaves its LUN, which can serve something else.
    #[inline(always)]
    pub(crate) fn give_back(&mut self, now: Time, lun: LunId) {
        self.luns[lun].phase = Phase::Idle;
        self.luns.release(now, lun);
        self.scheduler.released(lun);
        self.commit(now);
        self.wake(now);
        self.kick(now, lun);
    }
}

/// The places of a mask.
#[inline]
pub(crate) fn bits(mut mask: u16) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        (mask != 0).then(|| {
            let bit = mask.trailing_zeros();
            mask &= mask - 1;
            bit
        })
    })
}
