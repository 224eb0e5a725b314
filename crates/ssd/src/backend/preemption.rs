//! Preempting a LUN: a read that meets a running program or erase has it suspended or reset; see
//! [`PreemptConfig`].

use super::{Backend, UpperLayers, bits};
use crate::backend::lun::Phase;
use crate::backend::transaction::Transaction;
use crate::config::{Classes, Handling, PreemptConfig};
use crate::flash::{Geometry, LunId, PhysicalPage};
use crate::holder::Holder;
use crate::request::{Kind, Lane, RequestId, Tag};
use crate::timers::Timer;
use tailcut_base::ids::{Id, IdVec};
use tailcut_base::random::Stream;
use tailcut_base::{Nanos, Time};

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
    pub(crate) fn new(config: &PreemptConfig, geometry: &Geometry, seed: u64) -> Preemption {
        let luns = if config.is_on() { geometry.luns() as usize } else { 0 };
        let earned = u64::from(config.wear_budget) * u64::from(geometry.pages);
        Preemption {
            suspended: IdVec::filled(luns, None),
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

impl Backend {
    /// Marks what may be done to the operation of a LUN.
    pub(super) fn open(&mut self, lun: LunId, upper: &impl UpperLayers) {
        let step = self.step(lun, Handling::Reset, upper);
        let u = &mut self.luns[lun];
        u.is_preemptible = step != Handling::None;
        u.opens_to_reads = u.is_preemptible && self.schedule.classes == Classes::Equal;
    }

    /// What can be done to the operation of a LUN for a read that may do up to `most`.
    fn step(&self, lun: LunId, most: Handling, upper: &impl UpperLayers) -> Handling {
        let transaction = &self.luns[lun].transaction;
        let wanted = self.preempt.of(transaction.kind).min(most);
        if !self.preempt.under_backlog && transaction.kind != Kind::Erase && upper.has_backlog(lun) {
            return Handling::None;
        }
        let may_reset = |&id: &RequestId| {
            u32::from(self.requests[id].resets) < self.preempt.resets
                && self.can_be_restored(id, upper)
                && self.can_be_spared(id, upper)
        };
        if wanted == Handling::Reset
            && transaction.members().iter().all(may_reset)
            && self.preemption.can_pay(self.cost_of_reset(transaction, upper))
        {
            Handling::Reset
        } else if wanted > Handling::None && transaction.suspensions < self.preempt.suspensions {
            Handling::Suspend
        } else {
            Handling::None
        }
    }

    /// Pages that resetting a transaction uses up: a whole block for an erase; for a program a word line,
    /// and what collection programs to win it back.
    fn cost_of_reset(&self, transaction: &Transaction, upper: &impl UpperLayers) -> u64 {
        let members = transaction.members().len() as u64;
        if transaction.kind == Kind::Erase {
            return self.layout.pages.get() as u64 * members;
        }
        upper.pages_used_for(u64::from(self.timing.cell.bits()) * members)
    }

    /// True when nothing that was promised to be durable depends on a word line that a reset of this
    /// program would spoil: a buffer that survives a power cut keeps what is programmed there already.
    fn can_be_restored(&self, id: RequestId, upper: &impl UpperLayers) -> bool {
        let request = &self.requests[id];
        request.lane == Lane::ERASE
            || upper.keeps_buffer()
            || self.programmed_beside(request.physical).all(|page| !upper.is_valid(page))
    }

    /// True unless this is a program of garbage collection that needs its page: what is kept free for
    /// collection is enough for a victim's pages, not for pages that resets spoil.
    fn can_be_spared(&self, id: RequestId, upper: &impl UpperLayers) -> bool {
        let request = &self.requests[id];
        let plane = self.layout.plane_at(request.lun, u32::from(request.place));
        request.lane != Lane::GC_WRITE || !upper.is_short_of_blocks(plane)
    }

    pub(crate) fn start_of_word_line(&self, physical: PhysicalPage) -> PhysicalPage {
        self.layout.start_of_word_line(physical, self.timing.cell.bits())
    }

    /// The pages of the same word line that were programmed before `physical`.
    fn programmed_beside(&self, physical: PhysicalPage) -> impl Iterator<Item = PhysicalPage> + use<> {
        self.start_of_word_line(physical).up_to(physical)
    }

    /// Work has come for a busy LUN: has a read come that may preempt what the LUN does?
    #[cold]
    pub(super) fn consider_preemption(&mut self, now: Time, lun: LunId, upper: &impl UpperLayers) {
        let Some(lane) = self.luns[lun].first_reads() else { return };
        let Some((step, free)) = self.preemption_by(now, lun, lane, upper) else { return };
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
        let when_quicker = self.preempt.when_quicker;
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
        self.timers.set(Timer::Lun(lun), free);
    }

    /// What a read in `lane` does to the operation of a LUN, and when the LUN would be free for it;
    /// `None` when it waits.
    pub(super) fn preemption_by(
        &self,
        now: Time,
        lun: LunId,
        lane: Lane,
        upper: &impl UpperLayers,
    ) -> Option<(Handling, Time)> {
        let most = match (self.schedule.classes, lane) {
            (Classes::Equal, _) | (_, Lane::URGENT) => Handling::Reset,
            (_, Lane::PROMPT) => Handling::Suspend,
            _ => Handling::None,
        };
        let step = self.step(lun, most, upper);
        if step == Handling::None {
            return None;
        }
        let t = &self.luns[lun].transaction;
        let (loaded, end) = self.cells_of(now, lun);
        // Cells that have not begun cannot be stopped.
        let begin = now.max(loaded).max(t.resumed + self.preempt.progress);
        if begin >= end {
            // It ends before it has run for long enough to be preempted.
            return None;
        }
        let takes = self.time_to_take(t.kind, step);
        let is_slower = self.preempt.when_quicker && end.since(begin) <= takes;
        let waits = is_slower || self.is_in_vain(now, begin + takes, lun, step, upper);
        (!waits).then_some((step, begin + takes))
    }

    /// When the command phase of the operation of a LUN ends, and when its cells are done. The pages of a
    /// program that has lost the bus cross it from now on, at the earliest.
    pub(super) fn cells_of(&self, now: Time, lun: LunId) -> (Time, Time) {
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
    fn is_in_vain(&self, now: Time, at: Time, lun: LunId, step: Handling, upper: &impl UpperLayers) -> bool {
        let since = self.luns[lun].held_off_since.min(now);
        let is_needed =
            self.luns[lun].transaction.kind == Kind::UserWrite || self.is_short_of_blocks(lun, upper);
        at.since(since) > self.schedule.write_patience
            && (step == Handling::Suspend || is_needed || self.has_waiting_work(lun, upper))
    }

    pub(crate) fn time_to_take(&self, kind: Kind, step: Handling) -> Nanos {
        let times = &self.timing;
        let takes = match (kind, step) {
            (Kind::Erase, Handling::Reset) => times.erase_reset,
            (Kind::Erase, _) => times.erase_suspend,
            (_, Handling::Reset) => times.program_reset,
            _ => times.program_suspend,
        };
        // An event of a LUN cannot set that LUN's timer to its own moment.
        takes.max(Nanos(1))
    }

    /// The operation of a LUN is being suspended, not reset.
    pub(crate) fn is_suspending(&self, lun: LunId) -> bool {
        self.luns[lun].phase == Phase::Suspending
    }

    /// The read that a LUN is being preempted for: the oldest of the most important lane.
    pub(crate) fn preempting_read(&self, lun: LunId) -> Option<RequestId> {
        let u = &self.luns[lun];
        let oldest = |lane| {
            let ids = bits(u.places_with(lane)).map(|place| self.luns.first(lun, lane, place));
            ids.min_by_key(|&id| self.requests[id].order)
        };
        u.first_reads().and_then(oldest)
    }

    /// Puts the operation of a LUN aside.
    pub(crate) fn suspend(&mut self, now: Time, lun: LunId) {
        let takes = self.time_to_take(self.luns[lun].transaction.kind, Handling::Suspend);
        let u = &mut self.luns[lun];
        u.is_suspended = true;
        u.transaction.suspensions += 1;
        let since = Time(now.0 - takes.0);
        // Saving the state of the cells takes the time that it takes, and brings them no further.
        let left = Nanos(u.transaction.cell_end.0.saturating_sub(since.0)).max(Nanos(1));
        self.preemption.suspended[lun] = Some(Suspended { transaction: u.transaction, left, since });
        match u.transaction.kind {
            Kind::Erase => self.counts.erase_suspends += 1,
            _ => self.counts.program_suspends += 1,
        }
    }

    /// The lane of reads that go before what is suspended, unless that has waited long enough.
    #[cold]
    pub(super) fn read_before_resuming(&self, now: Time, lun: LunId) -> Option<Lane> {
        self.luns[lun].first_reads().filter(|_| !self.is_held_off_too_long(now, lun))
    }

    /// Lets what was suspended go on.
    #[cold]
    pub(super) fn resume(&mut self, now: Time, lun: LunId, upper: &impl UpperLayers) {
        let Suspended { transaction, left, since } =
            self.preemption.suspended[lun].take().expect("something is suspended");
        let takes = match transaction.kind {
            Kind::Erase => self.timing.erase_resume,
            _ => self.timing.program_resume,
        };
        let u = &mut self.luns[lun];
        u.is_suspended = false;
        u.transaction = transaction;
        u.transaction.suspended += now.since(since) + takes;
        u.transaction.resumed = now + takes;
        u.transaction.cell_end = now + takes + left;
        u.phase = Phase::Cell;
        let end = u.transaction.cell_end;
        self.seize_again(now, lun, end);
        if self.luns[lun].first_reads().is_none() {
            self.open(lun, upper);
        }
    }

    /// Resets the operation of a LUN: it counts as not executed. Returns its transaction, whose requests the
    /// caller has to queue again with [`Backend::wait_again`], in reverse order.
    pub(crate) fn reset(&mut self, now: Time, lun: LunId, upper: &impl UpperLayers) -> Transaction {
        let transaction = self.luns[lun].transaction;
        let takes = self.time_to_take(transaction.kind, Handling::Reset);
        let left = Nanos(transaction.cell_end.0.saturating_sub(now.0 - takes.0));
        let dies = transaction.members().iter().fold(0u16, |dies, &id| {
            dies | 1 << self.layout.planes().quotient(u32::from(self.requests[id].place))
        });
        self.preemption.spend(self.cost_of_reset(&transaction, upper));
        self.luns.uncount(&transaction, left, dies.count_ones());
        let resets = transaction.members().len() as u64;
        match transaction.kind {
            Kind::Erase => self.counts.erase_resets += resets,
            _ => self.counts.program_resets += resets,
        }
        transaction
    }

    /// A request whose operation was reset waits for its LUN again, before all others of its list.
    pub(crate) fn wait_again(&mut self, now: Time, lun: LunId, id: RequestId) {
        if self.requests[id].tag != Tag::NONE {
            self.return_to_committed(lun, self.requests[id].tag);
        }
        let r = &mut self.requests[id];
        r.resets = r.resets.saturating_add(1);
        r.since = now;
        self.requests.wait_again(id, &self.luns[lun].account(now));
        self.luns.commit_again(&mut self.requests, id);
    }
}
