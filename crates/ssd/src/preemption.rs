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
//! Which read may do what is said by its class (PAReset, table 2), or all reads may.

use crate::chips::{bits, holder_of};
use crate::config::Classes;
use crate::controller::ftl::Mapping;
use crate::flash::unit::{Holder, Phase, Transaction};
use crate::planted::{Rule, holds};
use crate::probe::{Handover, Outcome, Probe};
use crate::request::{Kind, Lane, NONE, RequestId};
use crate::ssd::Ssd;
use tailcut_base::config::{Configure, Visit, choose, count_u32};
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
    /// How often the same data, or block, may be reset.
    pub resets: u32,
    /// Only where it is quicker than waiting.
    pub when_quicker: bool,
}

impl Configure for PreemptConfig {
    fn configure(&mut self, visit: &mut dyn Visit) {
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
        count_u32(
            visit,
            "resets",
            "How often the same data or block may be reset; after that it is suspended.",
            &mut self.resets,
            0..=255,
        );
        visit.flag(
            "when_quicker",
            "Preempt only an operation that has longer to go than preempting takes.",
            &mut self.when_quicker,
        );
    }
}

impl PreemptConfig {
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

/// The suspended operations of a drive: a place for each unit, if it suspends at all.
#[derive(Debug)]
pub(crate) struct Preemption {
    suspended: Vec<Option<Suspended>>,
}

impl Preemption {
    pub(crate) fn new(config: &PreemptConfig, units: u32) -> Preemption {
        let places = if config.is_on() { units as usize } else { 0 };
        Preemption { suspended: vec![None; places] }
    }
}

impl<P: Probe> Ssd<P> {
    /// A program or erase has begun, or goes on: may reads preempt it?
    #[inline]
    pub(crate) fn open_to_preemption(&mut self, unit: u32) {
        if self.config.preempt.is_on() {
            self.open(unit);
        }
    }

    #[cold]
    fn open(&mut self, unit: u32) {
        let step = self.step(unit, Handling::Reset);
        let u = &mut self.units[unit];
        u.is_preemptible = step != Handling::None;
        u.opens_to_reads = u.is_preemptible && self.config.schedule.classes == Classes::Equal;
    }

    /// What can be done to the operation of a unit for a read that may do up to `most`.
    fn step(&self, unit: u32, most: Handling) -> Handling {
        let transaction = &self.units[unit].transaction;
        let wanted = self.config.preempt.of(transaction.kind).min(most);
        let may_reset = |&id: &RequestId| {
            u32::from(self.requests[id].resets) < self.config.preempt.resets
                && self.can_be_restored(id)
                && self.can_be_spared(id)
        };
        if wanted == Handling::Reset && transaction.members().iter().all(may_reset) {
            Handling::Reset
        } else if wanted > Handling::None && transaction.suspensions < self.config.preempt.suspensions {
            Handling::Suspend
        } else {
            Handling::None
        }
    }

    /// True when nothing that was promised to be durable depends on a word line that a reset of this
    /// program would spoil: a buffer that survives a power cut keeps what is programmed there already.
    fn can_be_restored(&self, id: RequestId) -> bool {
        let request = &self.requests[id];
        request.kind == Kind::Erase
            || self.buffer.capacitor
            || self.programmed_beside(request.physical).all(|page| !self.ftl.is_valid(page))
    }

    /// True unless this is a program of garbage collection that needs its page: what is kept free for
    /// collection is enough for a victim's pages, not for pages that resets spoil.
    fn can_be_spared(&self, id: RequestId) -> bool {
        let request = &self.requests[id];
        let plane = self.layout.plane_at(request.unit, u32::from(request.place));
        request.kind != Kind::GcWrite || self.ftl.free_blocks(plane) > self.config.gc_reserve()
    }

    /// The pages of the same word line that were programmed before `physical`.
    fn programmed_beside(&self, physical: u32) -> std::ops::Range<u32> {
        let bits = self.config.timing.cell.bits() as u32;
        physical - self.layout.offset_of(physical) % bits..physical
    }

    /// Work has come for a busy unit: has a read come that may preempt what the unit does?
    #[cold]
    pub(crate) fn consider_preemption(&mut self, now: Time, unit: u32) {
        let Some(lane) = self.units[unit].first_reads() else { return };
        let most = match (self.config.schedule.classes, lane) {
            (Classes::Equal, _) | (_, Lane::URGENT) => Handling::Reset,
            (_, Lane::PROMPT) => Handling::Suspend,
            _ => Handling::None,
        };
        let step = self.step(unit, most);
        if step == Handling::None {
            return;
        }
        let t = &self.units[unit].transaction;
        // Cells that have not begun cannot be stopped: the command phase goes before.
        let begin = now.max(t.started + t.command);
        let takes = self.time_to_take(t.kind, step);
        let is_slower = self.config.preempt.when_quicker && t.cell_end.since(begin) <= takes;
        if is_slower || self.must_finish(begin + takes, unit) || self.is_in_vain(begin + takes, unit, step) {
            return;
        }
        let u = &mut self.units[unit];
        (u.is_preemptible, u.opens_to_reads) = (false, false);
        if step == Handling::Reset {
            u.phase = Phase::Resetting;
            u.hold(now, Holder::Reset);
        } else {
            u.phase = Phase::Suspending;
            u.hold(now, Holder::Suspend);
        }
        self.set_unit_timer(unit, begin + takes);
    }

    /// True when the operation of a unit, or other work there, will have made way for reads long enough
    /// when the chip could be taken, at `at`.
    fn must_finish(&self, at: Time, unit: u32) -> bool {
        let patience = self.config.schedule.write_patience;
        let u = &self.units[unit];
        if at.since(u.yielded_at) <= patience {
            return false;
        }
        let has_waited =
            |&id: &RequestId| self.requests[id].resets > 0 || at.since(self.requests[id].since) > patience;
        self.is_needed(unit) && u.transaction.members().iter().any(has_waited) || self.is_overdue(at, unit)
    }

    /// True when the chip, taken at `at`, would go on with the operation, or begin it again, before it
    /// served the read.
    fn is_in_vain(&self, at: Time, unit: u32, step: Handling) -> bool {
        let u = &self.units[unit];
        let is_first = step == Handling::Suspend || self.is_first_try(unit);
        let waits_since = if is_first { u.yielded_at.max(u.transaction.started) } else { u.yielded_at };
        let must_go_on = step == Handling::Suspend || self.is_needed(unit);
        must_go_on && at.since(waits_since) > self.config.schedule.write_patience
    }

    /// True when reads may not put off the operation of a unit for ever.
    fn is_needed(&self, unit: u32) -> bool {
        self.units[unit].transaction.kind == Kind::UserWrite || self.is_short_of_blocks(unit)
    }

    /// True when nothing in the operation of a unit has been reset before.
    fn is_first_try(&self, unit: u32) -> bool {
        self.units[unit].transaction.members().iter().all(|&id| self.requests[id].resets == 0)
    }

    pub(crate) fn time_to_take(&self, kind: Kind, step: Handling) -> Nanos {
        let times = &self.config.timing;
        let takes = match (kind, step) {
            (Kind::Erase, Handling::Reset) => times.erase_reset,
            (Kind::Erase, _) => times.erase_suspend,
            (_, Handling::Reset) => times.program_reset,
            _ => times.program_suspend,
        };
        // An event of a unit cannot set that unit's timer to its own moment.
        takes.max(Nanos(1))
    }

    /// A unit has been suspended or reset: it is free for the read.
    #[cold]
    pub(crate) fn preempted(&mut self, now: Time, unit: u32) {
        if P::WATCHES {
            self.report_handover(now, unit);
        }
        if self.units[unit].phase == Phase::Suspending {
            self.suspend(now, unit);
        } else {
            self.reset(now, unit);
        }
        self.give_back(now, unit);
    }

    fn report_handover(&mut self, now: Time, unit: u32) {
        let u = &self.units[unit];
        let kind = u.transaction.kind;
        let handling = if u.phase == Phase::Suspending { Handling::Suspend } else { Handling::Reset };
        let oldest = |lane| {
            let ids = bits(u.places_with(lane)).map(|place| self.units.first(unit, lane, place));
            ids.min_by_key(|&id| self.requests[id].order)
        };
        let first = u.first_reads().and_then(oldest);
        let tag = first.map(|id| self.requests[id].tag).filter(|&tag| tag != NONE);
        self.probe.handover(Handover {
            unit,
            channel: self.buses.channel_of(unit),
            kind,
            handling,
            asked: u.held_since(),
            stopped: Time(now.0 - self.time_to_take(kind, handling).0),
            free: now,
            command: tag.map(|tag| self.tags[tag].command.id),
        });
    }

    /// Puts the operation of a unit aside.
    fn suspend(&mut self, now: Time, unit: u32) {
        let takes = self.time_to_take(self.units[unit].transaction.kind, Handling::Suspend);
        let u = &mut self.units[unit];
        u.is_suspended = true;
        u.transaction.suspensions += 1;
        let since = Time(now.0 - takes.0);
        // Saving the state of the cells takes the time that it takes, and brings them no further.
        let left = Nanos(u.transaction.cell_end.0.saturating_sub(since.0)).max(Nanos(1));
        self.preemption.suspended[unit as usize] =
            Some(Suspended { transaction: u.transaction, left, since });
        match u.transaction.kind {
            Kind::Erase => self.counters.erase_suspends += 1,
            _ => self.counters.program_suspends += 1,
        }
    }

    /// The lane of reads that go before what is suspended, unless that has waited long enough.
    #[cold]
    pub(crate) fn read_before_resuming(&self, now: Time, unit: u32) -> Option<Lane> {
        let suspended = self.preemption.suspended[unit as usize].as_ref().expect("something is suspended");
        let waits_since = suspended.transaction.started.max(self.units[unit].yielded_at);
        let reads = self.units[unit].first_reads();
        reads.filter(|_| now.since(waits_since) <= self.config.schedule.write_patience)
    }

    /// Lets what was suspended go on.
    #[cold]
    pub(crate) fn resume(&mut self, now: Time, unit: u32) {
        let Suspended { transaction, left, since } =
            self.preemption.suspended[unit as usize].take().expect("something is suspended");
        let takes = match transaction.kind {
            Kind::Erase => self.config.timing.erase_resume,
            _ => self.config.timing.program_resume,
        };
        let u = &mut self.units[unit];
        u.is_suspended = false;
        u.transaction = transaction;
        u.transaction.suspended += now.since(since) + takes;
        u.transaction.cell_end = now + takes + left;
        u.phase = Phase::Cell;
        let end = u.transaction.cell_end;
        self.units.seize(now, unit, holder_of(transaction.kind));
        self.set_unit_timer(unit, end);
        if self.units[unit].first_reads().is_none() {
            self.open_to_preemption(unit);
        }
    }

    /// Gives up the operation of a unit: its requests wait again, ahead of all others.
    fn reset(&mut self, now: Time, unit: u32) {
        if P::WATCHES {
            self.report(now, unit, Outcome::Reset);
        }
        let transaction = self.units[unit].transaction;
        let takes = self.time_to_take(transaction.kind, Handling::Reset);
        let left = Nanos(transaction.cell_end.0.saturating_sub(now.0 - takes.0));
        let dies = transaction.members().iter().fold(0u16, |dies, &id| {
            dies | 1 << self.layout.planes.quotient(u32::from(self.requests[id].place))
        });
        self.units.uncount(left, dies.count_ones(), transaction.members().len());
        if self.is_first_try(unit) {
            // The chip has served something else: only from then on have reads gone first.
            let u = &mut self.units[unit];
            u.yielded_at = u.yielded_at.max(transaction.started);
        }
        if transaction.kind == Kind::Erase {
            self.counters.erase_resets += transaction.members().len() as u64;
        } else {
            self.counters.program_resets += transaction.members().len() as u64;
        }
        // From the last to the first, because each goes to the head of its list.
        for &id in transaction.members().iter().rev() {
            if transaction.kind == Kind::Erase {
                let block = self.layout.block_of(self.requests[id].physical);
                self.medium.wear_out(block);
            } else {
                self.spoil_word_line(now, id);
            }
            self.wait_again(now, unit, id);
        }
    }

    /// A request whose operation was reset waits for its unit again.
    fn wait_again(&mut self, now: Time, unit: u32, id: RequestId) {
        if self.requests[id].tag != NONE {
            self.return_to_committed(unit, self.requests[id].tag);
        }
        let r = &mut self.requests[id];
        r.resets = r.resets.saturating_add(1);
        r.since = now;
        self.requests.wait_again(id, &self.units[unit].account(now));
        self.units.commit_again(&mut self.requests, id);
    }

    /// The program of a page has been reset: no page of its word line can be read or programmed any
    /// more. Those that were programmed before, the controller still has.
    fn spoil_word_line(&mut self, now: Time, id: RequestId) {
        let request = self.requests[id];
        let before = self.programmed_beside(request.physical);
        if holds(Rule::RestoreWordLine) {
            for page in before.clone() {
                if self.ftl.is_valid(page) {
                    self.restore(now, page);
                }
            }
        }
        let bits = self.config.timing.cell.bits() as u32;
        let block = self.layout.block_of(request.physical);
        let end = (self.layout.offset_of(before.start) + bits).min(self.geometry.pages);
        let is_read = self.ftl.is_pinned(block) && holds(Rule::KeepForReads);
        self.medium.spoil(before.start, request.physical, end, is_read);
        self.counters.pages_spoiled += u64::from(end - self.layout.offset_of(request.physical));
        let plane = self.layout.plane_at(request.unit, u32::from(request.place));
        if holds(Rule::LeaveWordLine) {
            self.ftl.skip_to(plane, request.frontier, end);
        }
        self.requests[id].physical = NONE;
        if end == self.geometry.pages {
            self.ftl.close(block, now);
        }
    }

    /// Takes a page of a spoiled word line back into the buffer, from the controller's copy. Its program
    /// must not be reset again: two pages that share word lines could go on spoiling each other for ever.
    fn restore(&mut self, now: Time, page: u32) {
        let logical = self.medium.logical(page);
        self.ftl.invalidate(page, now);
        match self.ftl.lookup(logical) {
            Mapping::Buffer(entry) => {
                // A newer version is on its way; what it lacks is in the copy.
                self.buffer[entry].old = NONE;
                self.buffer[entry].whole = true;
            }
            mapping => {
                assert_eq!(mapping, Mapping::Flash(page), "a valid page is mapped");
                let entry = self.buffer.create(logical, NONE, self.medium.content(page));
                self.ftl.set(logical, Mapping::Buffer(entry));
                self.buffer.make_dirty(entry);
                self.buffer.leave_line(entry);
                self.issue_program(now, entry, u8::MAX);
                self.counters.pages_restored += 1;
            }
        }
    }
}
