//! Preempting a chip: a read that meets a running program or erase has it suspended or reset instead
//! of waiting for its end.
//!
//! *Suspending* (Wu and He, FAST 2012) takes long, because the chip saves the state of its cells, but
//! loses nothing: the operation goes on when the reads have been served. *Resetting* (PAReset, chapter
//! 3) is quick and costs wear. A program that is reset has spoiled its whole word line: its data, and
//! that of the pages programmed there before, which the controller keeps until the word line is
//! complete, goes elsewhere. An erase that is reset has worn its block like a whole one and is done
//! again. Nothing is lost by either.
//!
//! The class of a read decides what it may do (PAReset, table 2), or all reads may do it.

use crate::chips::{bits, holder_of};
use crate::config::Classes;
use crate::controller::ftl::Mapping;
use crate::figures::Counters;
use crate::flash::lun::{Holder, Phase, Transaction};
use crate::flash::{LunId, PhysicalPage};
use crate::mutation::{Invariant, holds};
use crate::probe::{Handover, Outcome, Probe};
use crate::request::Tag;
use crate::request::{Kind, Lane, RequestId};
use crate::ssd::Ssd;
use tailcut_base::config::{Configure, KeyVisitor, choose, count_u32};
use tailcut_base::ids::{Id, IdVec};
use tailcut_base::random::Stream;
use tailcut_base::{Nanos, Time};

tailcut_base::choice! {
    /// What a read may do to an operation that it meets.
    pub enum Handling {
        /// It waits.
        None = "none",
        /// The operation is suspended.
        Suspend = "suspend",
        /// The operation is reset.
        Reset = "reset",
    }
}

/// Which operations reads preempt, and how often.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PreemptConfig {
    /// What is done to programs.
    pub program: Handling,
    /// What is done to erases.
    pub erase: Handling,
    /// How often an operation may be suspended.
    pub suspensions: u32,
    /// Cell time that a program or erase runs on for, on average, until it has come to a point where it can
    /// stop; exponentially distributed. 0: it stops at once.
    pub safe_point: Nanos,
    /// The least time that an operation runs between two suspensions.
    pub progress: Nanos,
    /// Programs are suspended even while the buffer is full to seven eighths.
    pub under_backlog: bool,
    /// How often the same data, or block, may be reset.
    pub resets: u32,
    /// Wear that resets may add to that of erases, in parts per million; 0 for no bound.
    pub wear_budget: u32,
    /// Only where it is quicker than waiting.
    pub when_quicker: bool,
    /// Programs go where the next read is expected last.
    pub place_programs: bool,
    /// Programs of the host's data wait in the buffer for the drive to be quiet.
    pub time_programs: bool,
    /// Erases wait for their chip to be quiet.
    pub time_erases: bool,
}

impl Configure for PreemptConfig {
    fn configure(&mut self, visit: &mut dyn KeyVisitor) {
        choose(
            visit,
            "program",
            "What a read that may preempt does to a program: none, suspend or reset.",
            &mut self.program,
        );
        choose(
            visit,
            "erase",
            "What a read that may preempt does to an erase: none, suspend or reset.",
            &mut self.erase,
        );
        count_u32(
            visit,
            "suspensions",
            "How often an operation may be suspended before it must finish.",
            &mut self.suspensions,
            0..=1 << 20,
        );
        visit.time(
            "safe_point",
            "How long an operation that is to be suspended runs on, on average, until it can stop; exponentially distributed.",
            &mut self.safe_point,
            Nanos(0)..=Nanos::millis(10),
        );
        visit.time(
            "progress",
            "The least time that an operation runs between two suspensions.",
            &mut self.progress,
            Nanos(0)..=Nanos::millis(10),
        );
        visit.flag(
            "under_backlog",
            "Programs are suspended even while the buffer is full to seven eighths.",
            &mut self.under_backlog,
        );
        count_u32(
            visit,
            "resets",
            "How often the same data or block may be reset; after that it is suspended.",
            &mut self.resets,
            0..=255,
        );
        visit.share(
            "wear_budget",
            "Wear that resets may add to that of erases; when it is spent, operations are suspended. 0 for no bound.",
            &mut self.wear_budget,
            0..=1_000_000,
        );
        visit.flag(
            "when_quicker",
            "Preempt only an operation that has longer to go than preempting takes.",
            &mut self.when_quicker,
        );
        visit.flag(
            "place_programs",
            "Of two planes in turn, programs go to the one whose chip expects its next read later.",
            &mut self.place_programs,
        );
        visit.flag(
            "time_programs",
            "Programs wait in the buffer until reads are expected to leave chips alone, while half of the buffer is free.",
            &mut self.time_programs,
        );
        visit.flag(
            "time_erases",
            "Erases wait until no read of their chip is expected soon, while their plane has free blocks to spare.",
            &mut self.time_erases,
        );
    }
}

impl PreemptConfig {
    /// True when anything is done by where reads are expected.
    #[inline]
    pub fn predicts_reads(&self) -> bool {
        self.place_programs || self.time_programs || self.time_erases
    }

    /// True when any operation is preempted.
    pub fn is_on(&self) -> bool {
        self.program != Handling::None || self.erase != Handling::None
    }

    fn of(&self, kind: Kind) -> Handling {
        if kind == Kind::Erase { self.erase } else { self.program }
    }
}

/// A program or erase that stands suspended.
#[derive(Clone, Copy, Debug)]
struct Suspended {
    transaction: Transaction,
    /// Cell time that is left.
    left: Nanos,
    /// When it stopped.
    since: Time,
}

/// The suspended operations of a drive: a place for each LUN, if it suspends at all.
#[derive(Debug)]
pub(crate) struct Preemption {
    suspended: IdVec<LunId, Option<Suspended>>,
    /// What resets may still cost, where that is bounded, in millionths of a page.
    credit: Option<u64>,
    /// What an erase earns.
    earned: u64,
    /// The mean of the way to the next safe point, and what draws it.
    safe_point: Nanos,
    stream: Stream,
}

/// Erases whose earnings are kept at the most, so that a long calm does not pay for a storm.
const CREDIT_ERASES: u64 = 64;

impl Preemption {
    pub(crate) fn new(config: &PreemptConfig, luns: u32, pages: u32, seed: u64) -> Preemption {
        let places = if config.is_on() { luns as usize } else { 0 };
        let earned = u64::from(config.wear_budget) * u64::from(pages);
        Preemption {
            suspended: IdVec::filled(places, None),
            credit: (earned > 0).then_some(0),
            earned,
            safe_point: config.safe_point,
            stream: Stream::new(seed, "suspension"),
        }
    }

    /// How long an operation runs on until it can stop.
    fn way_to_safe_point(&mut self) -> Nanos {
        if self.safe_point == Nanos::ZERO {
            return Nanos::ZERO;
        }
        self.stream.exponential(self.safe_point)
    }

    /// An erase has been completed: resets may cost more.
    #[inline]
    pub(crate) fn earn(&mut self) {
        if let Some(credit) = &mut self.credit {
            *credit = (*credit + self.earned).min(CREDIT_ERASES * self.earned);
        }
    }

    /// What stands suspended at a LUN, and for how long it has to go on.
    pub(crate) fn suspended(&self, lun: LunId) -> Option<(Kind, Nanos)> {
        let suspended = self.suspended.get(lun)?.as_ref()?;
        Some((suspended.transaction.kind, suspended.left))
    }

    /// The transaction that stands suspended at a LUN, and the cell time that it has left.
    pub(crate) fn set_aside(&self, lun: LunId) -> Option<(&Transaction, Nanos)> {
        let suspended = self.suspended.get(lun)?.as_ref()?;
        Some((&suspended.transaction, suspended.left))
    }

    fn spend(&mut self, pages: u64) {
        if let Some(credit) = &mut self.credit {
            *credit = credit.saturating_sub(pages * 1_000_000);
        }
    }

    fn can_pay(&self, pages: u64) -> bool {
        self.credit.is_none_or(|credit| credit >= pages * 1_000_000)
    }
}

impl<P: Probe> Ssd<P> {
    /// A program or erase has begun: may reads preempt it? Those that the scheduler has held back behind
    /// it may, too.
    #[cold]
    pub(crate) fn open_to_preemption(&mut self, now: Time, lun: LunId) {
        self.open(lun);
        if self.luns[lun].opens_to_reads {
            self.scheduler.released(lun);
            self.commit(now);
        }
    }

    /// Marks what may be done to the operation of a LUN.
    fn open(&mut self, lun: LunId) {
        let step = self.step(lun, Handling::Reset);
        let u = &mut self.luns[lun];
        u.is_preemptible = step != Handling::None;
        u.opens_to_reads = u.is_preemptible && self.config.schedule.classes == Classes::Equal;
    }

    /// What can be done to the operation of a LUN for a read that may do up to `most`.
    fn step(&self, lun: LunId, most: Handling) -> Handling {
        let transaction = &self.luns[lun].transaction;
        let wanted = self.config.preempt.of(transaction.kind).min(most);
        if !self.config.preempt.under_backlog && transaction.kind != Kind::Erase && self.has_backlog(lun) {
            return Handling::None;
        }
        let may_reset = |&id: &RequestId| {
            u32::from(self.requests[id].resets) < self.config.preempt.resets
                && self.can_be_restored(id)
                && self.can_be_spared(id)
        };
        if wanted == Handling::Reset
            && transaction.members().iter().all(may_reset)
            && self.preemption.can_pay(self.cost_of_reset(transaction))
        {
            Handling::Reset
        } else if wanted > Handling::None && transaction.suspensions < self.config.preempt.suspensions {
            Handling::Suspend
        } else {
            Handling::None
        }
    }

    /// True while little room is left in the buffer for writes to the set of a LUN.
    fn has_backlog(&self, lun: LunId) -> bool {
        self.buffer.is_nearly_full(self.sets.of_lun(lun))
    }

    /// Pages that resetting a transaction uses up: a whole block for an erase; for a program a word line,
    /// and what collection programs to win it back.
    fn cost_of_reset(&self, transaction: &Transaction) -> u64 {
        let members = transaction.members().len() as u64;
        if transaction.kind == Kind::Erase {
            return u64::from(self.geometry.pages) * members;
        }
        let Counters { programmed_user: user, programmed_gc: gc, .. } = self.counters;
        self.config.timing.cell.bits() as u64 * members * (user + gc).max(1) / user.max(1)
    }

    /// True when nothing that was promised to be durable depends on a word line that a reset of this
    /// program would spoil: a buffer that survives a power cut keeps what is programmed there already.
    fn can_be_restored(&self, id: RequestId) -> bool {
        let request = &self.requests[id];
        request.lane == Lane::ERASE
            || self.buffer.capacitor
            || self.programmed_beside(request.physical).all(|page| !self.ftl.is_valid(page))
    }

    /// True unless this is a program of garbage collection that needs its page: what is kept free for
    /// collection is enough for a victim's pages, not for pages that resets spoil.
    fn can_be_spared(&self, id: RequestId) -> bool {
        let request = &self.requests[id];
        let plane = self.layout.plane_at(request.lun, u32::from(request.place));
        request.lane != Lane::GC_WRITE || self.ftl.free_blocks(plane) > self.config.gc_reserve()
    }

    fn start_of_word_line(&self, physical: PhysicalPage) -> PhysicalPage {
        self.layout.start_of_word_line(physical, self.config.timing.cell.bits() as u32)
    }

    /// The pages of the same word line that were programmed before `physical`.
    fn programmed_beside(&self, physical: PhysicalPage) -> impl Iterator<Item = PhysicalPage> + use<P> {
        self.start_of_word_line(physical).up_to(physical)
    }

    /// Work has come for a busy LUN: has a read come that may preempt what the LUN does?
    #[cold]
    pub(crate) fn consider_preemption(&mut self, now: Time, lun: LunId) {
        let Some(lane) = self.luns[lun].first_reads() else { return };
        let Some((step, free)) = self.preemption_by(now, lun, lane) else { return };
        // Pages of a program that have still to cross the bus do so first.
        let channel = self.layout.channel_of(lun);
        if self.luns[lun].phase != Phase::Cell || !self.buses.hold_together(channel, lun) {
            return;
        }
        let takes = self.time_to_take(self.luns[lun].transaction.kind, step);
        let mut free = free;
        if step == Handling::Suspend {
            free += self.preemption.way_to_safe_point();
        }
        let when_quicker = self.config.preempt.when_quicker;
        let u = &mut self.luns[lun];
        let end = u.transaction.cell_end;
        if step == Handling::Suspend && (free >= end + takes || when_quicker && free >= end) {
            // It ends before it could stop.
            (u.is_preemptible, u.opens_to_reads) = (false, false);
            return;
        }
        u.hold_off(now);
        (u.is_preemptible, u.opens_to_reads) = (false, false);
        u.makes_room_at = free;
        if step == Handling::Reset {
            u.phase = Phase::Resetting;
            u.hold(now, Holder::Reset);
        } else {
            u.phase = Phase::Suspending;
            u.hold(now, Holder::Suspend);
        }
        self.set_lun_timer(lun, free);
    }

    /// What a read in `lane` does to the operation of a LUN, and when the LUN would be free for it;
    /// `None` when it waits.
    pub(crate) fn preemption_by(&self, now: Time, lun: LunId, lane: Lane) -> Option<(Handling, Time)> {
        let most = match (self.config.schedule.classes, lane) {
            (Classes::Equal, _) | (_, Lane::URGENT) => Handling::Reset,
            (_, Lane::PROMPT) => Handling::Suspend,
            _ => Handling::None,
        };
        let step = self.step(lun, most);
        if step == Handling::None {
            return None;
        }
        let t = &self.luns[lun].transaction;
        let (loaded, end) = self.cells_of(now, lun);
        // Cells that have not begun cannot be stopped.
        let begin = now.max(loaded).max(t.resumed + self.config.preempt.progress);
        if begin >= end {
            // It ends before it has run for long enough to be preempted.
            return None;
        }
        let takes = self.time_to_take(t.kind, step);
        let is_slower = self.config.preempt.when_quicker && end.since(begin) <= takes;
        let waits = is_slower || self.is_in_vain(now, begin + takes, lun, step);
        (!waits).then_some((step, begin + takes))
    }

    /// When the command phase of the operation of a LUN ends, and when its cells are done. The pages of a
    /// program that has lost the bus cross it from now on, at the earliest.
    pub(crate) fn cells_of(&self, now: Time, lun: LunId) -> (Time, Time) {
        let t = &self.luns[lun].transaction;
        if self.luns[lun].phase != Phase::AwaitIn {
            return (t.started + t.command, t.cell_end);
        }
        let loaded = now + self.program_page() * u64::from(t.left);
        let left = &t.members()[t.members().len().saturating_sub(usize::from(t.left))..];
        let longest = left.iter().map(|&id| self.cell_time(id, t.kind)).max().unwrap_or_default();
        (loaded, t.cell_end.max(loaded + longest))
    }

    /// True when the chip, taken for a read at `at`, would go on with the operation, or begin it again or
    /// something else, before it served the read: reads have gone first for long enough by then.
    fn is_in_vain(&self, now: Time, at: Time, lun: LunId, step: Handling) -> bool {
        let since = self.luns[lun].held_off_since.min(now);
        let is_needed = self.luns[lun].transaction.kind == Kind::UserWrite || self.is_short_of_blocks(lun);
        at.since(since) > self.config.schedule.write_patience
            && (step == Handling::Suspend || is_needed || self.has_waiting_work(lun))
    }

    pub(crate) fn time_to_take(&self, kind: Kind, step: Handling) -> Nanos {
        let times = &self.config.timing;
        let takes = match (kind, step) {
            (Kind::Erase, Handling::Reset) => times.erase_reset,
            (Kind::Erase, _) => times.erase_suspend,
            (_, Handling::Reset) => times.program_reset,
            _ => times.program_suspend,
        };
        // An event of a LUN cannot set that LUN's timer to its own moment.
        takes.max(Nanos(1))
    }

    /// A LUN has been suspended or reset: it is free for the read.
    pub(crate) fn preempted(&mut self, now: Time, lun: LunId) {
        if P::WATCHES {
            self.report_handover(now, lun);
        }
        if self.luns[lun].phase == Phase::Suspending {
            self.suspend(now, lun);
        } else {
            self.reset(now, lun);
        }
        self.give_back(now, lun);
    }

    fn report_handover(&mut self, now: Time, lun: LunId) {
        let u = &self.luns[lun];
        let kind = u.transaction.kind;
        let handling = if u.phase == Phase::Suspending { Handling::Suspend } else { Handling::Reset };
        let oldest = |lane| {
            let ids = bits(u.places_with(lane)).map(|place| self.luns.first(lun, lane, place));
            ids.min_by_key(|&id| self.requests[id].order)
        };
        let first = u.first_reads().and_then(oldest);
        let tag = first.map(|id| self.requests[id].tag).filter(|&tag| tag != Tag::NONE);
        self.probe.handover(Handover {
            lun,
            channel: self.layout.channel_of(lun),
            kind,
            handling,
            asked: u.held_since(),
            stopped: Time(now.0 - self.time_to_take(kind, handling).0),
            free: now,
            command: tag.map(|tag| self.tags[tag].command.id),
        });
    }

    /// Puts the operation of a LUN aside.
    fn suspend(&mut self, now: Time, lun: LunId) {
        let takes = self.time_to_take(self.luns[lun].transaction.kind, Handling::Suspend);
        let u = &mut self.luns[lun];
        u.is_suspended = true;
        u.transaction.suspensions += 1;
        let since = Time(now.0 - takes.0);
        // Saving the state of the cells takes the time that it takes, and brings them no further.
        let left = Nanos(u.transaction.cell_end.0.saturating_sub(since.0)).max(Nanos(1));
        self.preemption.suspended[lun] = Some(Suspended { transaction: u.transaction, left, since });
        match u.transaction.kind {
            Kind::Erase => self.counters.erase_suspends += 1,
            _ => self.counters.program_suspends += 1,
        }
    }

    /// The lane of reads that go before what is suspended, unless that has waited long enough.
    #[cold]
    pub(crate) fn read_before_resuming(&self, now: Time, lun: LunId) -> Option<Lane> {
        self.luns[lun].first_reads().filter(|_| !self.is_held_off_too_long(now, lun))
    }

    /// Lets what was suspended go on.
    #[cold]
    pub(crate) fn resume(&mut self, now: Time, lun: LunId) {
        let Suspended { transaction, left, since } =
            self.preemption.suspended[lun].take().expect("something is suspended");
        let takes = match transaction.kind {
            Kind::Erase => self.config.timing.erase_resume,
            _ => self.config.timing.program_resume,
        };
        let u = &mut self.luns[lun];
        u.is_suspended = false;
        u.transaction = transaction;
        u.transaction.suspended += now.since(since) + takes;
        u.transaction.resumed = now + takes;
        u.transaction.cell_end = now + takes + left;
        u.phase = Phase::Cell;
        let end = u.transaction.cell_end;
        self.luns.seize(now, lun, holder_of(transaction.kind));
        self.set_lun_timer(lun, end);
        if self.luns[lun].first_reads().is_none() {
            self.open(lun);
        }
    }

    /// Gives up the operation of a LUN: its requests wait again, ahead of all others.
    fn reset(&mut self, now: Time, lun: LunId) {
        if P::WATCHES {
            self.report(now, lun, Outcome::Reset);
        }
        let transaction = self.luns[lun].transaction;
        let takes = self.time_to_take(transaction.kind, Handling::Reset);
        let left = Nanos(transaction.cell_end.0.saturating_sub(now.0 - takes.0));
        let dies = transaction.members().iter().fold(0u16, |dies, &id| {
            dies | 1 << self.layout.planes.quotient(u32::from(self.requests[id].place))
        });
        self.preemption.spend(self.cost_of_reset(&transaction));
        self.luns.uncount(&transaction, left, dies.count_ones());
        if transaction.kind == Kind::Erase {
            self.counters.erase_resets += transaction.members().len() as u64;
        } else {
            self.counters.program_resets += transaction.members().len() as u64;
        }
        // From the last to the first, because each goes to the head of its list.
        for &id in transaction.members().iter().rev() {
            if transaction.kind == Kind::Erase {
                let block = self.layout.block_of(self.requests[id].physical);
                self.nand.wear_out(block);
            } else {
                self.spoil_word_line(now, id);
            }
            self.wait_again(now, lun, id);
        }
    }

    /// A request whose operation was reset waits for its LUN again.
    fn wait_again(&mut self, now: Time, lun: LunId, id: RequestId) {
        if self.requests[id].tag != Tag::NONE {
            self.return_to_committed(lun, self.requests[id].tag);
        }
        let r = &mut self.requests[id];
        r.resets = r.resets.saturating_add(1);
        r.since = now;
        self.requests.wait_again(id, &self.luns[lun].account(now));
        self.luns.commit_again(&mut self.requests, id);
    }

    /// The program of a page has been reset: no page of its word line can be read or programmed any
    /// more. Those that were programmed before, the controller still has.
    fn spoil_word_line(&mut self, now: Time, id: RequestId) {
        let request = self.requests[id];
        let start = self.start_of_word_line(request.physical);
        if holds(Invariant::RestoreWordLine) {
            for page in start.up_to(request.physical) {
                if self.ftl.is_valid(page) {
                    self.restore(now, page);
                }
            }
        }
        let bits = self.config.timing.cell.bits() as u32;
        let block = self.layout.block_of(request.physical);
        let end = (self.layout.offset_of(start) + bits).min(self.geometry.pages);
        let is_read = self.ftl.is_pinned(block) && holds(Invariant::KeepForReads);
        self.nand.spoil(start, request.physical, end, is_read);
        self.counters.pages_spoiled += u64::from(end - self.layout.offset_of(request.physical));
        let plane = self.layout.plane_at(request.lun, u32::from(request.place));
        if holds(Invariant::LeaveWordLine) {
            self.ftl.skip_to(plane, request.frontier, end);
        }
        self.requests[id].physical = PhysicalPage::NONE;
        if end == self.geometry.pages {
            self.ftl.close(block, now);
        }
    }

    /// Takes a page of a spoiled word line back into the buffer, from the controller's copy. Its program
    /// must not be reset again: two pages that share word lines could go on spoiling each other for ever.
    fn restore(&mut self, now: Time, page: PhysicalPage) {
        let logical = self.nand.logical(page);
        self.ftl.invalidate(page, now);
        match self.ftl.lookup(logical) {
            Mapping::Buffer(entry) => {
                // A newer version is on its way; what it lacks is in the copy.
                self.buffer[entry].old = PhysicalPage::NONE;
                self.buffer[entry].whole = true;
            }
            mapping => {
                assert_eq!(mapping, Mapping::Flash(page), "a valid page is mapped");
                let (set, content) = (self.sets.of_logical(logical), self.nand.content(page));
                let entry = self.buffer.create(set, logical, PhysicalPage::NONE, content);
                self.ftl.set(logical, Mapping::Buffer(entry));
                self.buffer.make_dirty(entry);
                self.buffer.leave_line(entry);
                self.issue_program(now, entry, u8::MAX);
                self.counters.pages_restored += 1;
            }
        }
    }
}
