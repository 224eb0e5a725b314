//! Transactions on their way: the bus carries the command and data, the cells work, and the data of reads
//! goes out.

use super::choice::Next;
use super::{Allocate, Backend, UpperLayers};
use crate::backend::bus::{BusRelease, BusUse};
use crate::backend::lun::Phase;
use crate::flash::{ChannelId, LunId};
use crate::holder::Holder;
use crate::request::{Kind, Lane};
use crate::timers::Timer;
use tailcut_base::cast::to_u8;
use tailcut_base::{Nanos, Time};

/// The outcome of a step of a LUN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Step {
    /// No transaction has started: the LUN is busy or waits for its bus.
    Nothing,
    /// A transaction has begun.
    Started,
    /// All programs of the transaction that was to begin, or reads ahead, had become void.
    Emptied,
    /// It has no work that can start.
    Rests,
}

/// What the end of a LUN's timer means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum CellsDone {
    /// The data of a read goes out, or waits for the bus.
    DataGoesOut,
    /// The transaction is over.
    Ended,
    /// The operation has been suspended or reset.
    Preempted,
    /// An idle LUN was to be looked at again.
    LookAgain,
    /// Nothing: it has been given other work meanwhile.
    Nothing,
}

fn holder_of(kind: Kind) -> Holder {
    match kind {
        Kind::UserRead => Holder::UserRead,
        Kind::GcRead => Holder::GcRead,
        Kind::UserWrite => Holder::UserWrite,
        Kind::GcWrite => Holder::GcWrite,
        Kind::Erase => Holder::Erase,
        Kind::ReadAhead => Holder::ReadAhead,
    }
}

impl Backend {
    /// Lets an idle LUN ask for the bus, if it has work that can start. A busy one may be preempted.
    #[inline]
    pub(crate) fn kick(&mut self, now: Time, lun: LunId, upper: &mut impl Allocate) -> Step {
        if self.luns[lun].phase != Phase::Idle {
            if self.luns[lun].is_preemptible {
                self.consider_preemption(now, lun, upper);
            }
            return Step::Nothing;
        }
        let lane = match self.next(now, lun, upper) {
            Next::Start(lane) => lane,
            Next::Resume => {
                self.resume(now, lun, upper);
                return Step::Nothing;
            }
            Next::Rest => return Step::Rests,
        };
        self.luns[lun].phase = Phase::AwaitStart;
        let channel = self.layout.channel_of(lun);
        if self.buses.is_free(channel, now) {
            return self.start(now, lun, channel, lane, upper);
        }
        self.luns[lun].hold(now, Holder::BusWait);
        let wanted = match lane.kind() {
            Kind::UserRead | Kind::GcRead => BusUse::ReadCommand,
            Kind::Erase => BusUse::EraseCommand,
            Kind::UserWrite | Kind::GcWrite | Kind::ReadAhead => BusUse::Program,
        };
        self.wait_for_bus(now, channel, lun, wanted);
        Step::Nothing
    }

    #[inline(always)]
    fn wait_for_bus(&mut self, now: Time, channel: ChannelId, lun: LunId, wanted: BusUse) {
        if let Some(at) = self.buses.wait(channel, lun, now, wanted) {
            self.timers.set(Timer::Channel(channel), at);
        }
    }

    /// The command sequence of a LUN starts: composes its transaction from the requests committed to it.
    fn start(
        &mut self,
        now: Time,
        lun: LunId,
        channel: ChannelId,
        lane: Lane,
        upper: &mut impl Allocate,
    ) -> Step {
        let kind = lane.kind();
        self.luns[lun].transaction.clear(kind);
        let (command, cell) = self.compose(now, lun, lane, upper);
        if self.luns[lun].transaction.members().is_empty() {
            return Step::Emptied;
        }
        match u64::from(self.luns[lun].transaction.pages()) {
            pages @ 2.. if matches!(kind, Kind::UserWrite | Kind::GcWrite) => {
                self.buses.carry(channel, lun, now, pages, command / pages, BusUse::Program);
            }
            _ => self.buses.take(channel, now, command),
        }
        self.seize(now, lun, holder_of(kind));
        let u = &mut self.luns[lun];
        u.phase = Phase::Cell;
        u.transaction.begin(now, command, now + cell);
        if kind == Kind::UserRead && u.has_other_work() {
            u.hold_off(now);
        }
        self.timers.set(Timer::Lun(lun), now + cell);
        Step::Started
    }

    /// All members of a transaction that was to start have become void.
    pub(crate) fn abandon_start(&mut self, lun: LunId) {
        self.luns[lun].phase = Phase::Idle;
        self.scheduler.released(lun);
    }

    /// Whether reads may preempt what a LUN has just begun. True when the scheduler may commit reads to it
    /// that it has held back.
    #[inline]
    pub(crate) fn open_to_preemption(&mut self, lun: LunId, upper: &impl UpperLayers) -> bool {
        if self.luns[lun].transaction.kind.is_read() || !self.preempt.is_on() {
            return false;
        }
        self.open(lun, upper);
        if self.luns[lun].opens_to_reads {
            self.scheduler.released(lun);
        }
        self.luns[lun].opens_to_reads
    }

    /// The end of what was on a bus. The LUN whose transaction that has ended, if it has.
    #[inline(always)]
    pub(crate) fn end_of_bus_use(&mut self, now: Time, channel: ChannelId) -> Option<LunId> {
        match self.buses.end_of_use(channel)? {
            BusRelease { lun, left: 0 } => Some(lun),
            BusRelease { lun, left } => {
                self.put_off_pages(now, lun, channel, left);
                None
            }
        }
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
            self.timers.clear(Timer::Lun(lun));
        }
        let u = &mut self.luns[lun];
        u.phase = if is_read { Phase::AwaitOut } else { Phase::AwaitIn };
        (u.transaction.left, u.transaction.put_off) = (to_u8(left), now);
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
    pub(super) fn program_page(&self) -> Nanos {
        self.phases.program_command + self.phases.transfer
    }

    /// The rest of the pages of a program goes to its chip.
    #[cold]
    fn go_on_in(&mut self, now: Time, lun: LunId, channel: ChannelId, upper: &impl UpperLayers) {
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
        self.timers.set(Timer::Lun(lun), end);
        if self.luns[lun].is_preemptible {
            self.consider_preemption(now, lun, upper);
        }
    }

    /// Gives a free bus to the next LUN in its line; `None` when there is no more to do on it now.
    #[inline]
    pub(crate) fn grant_bus(
        &mut self,
        now: Time,
        channel: ChannelId,
        upper: &mut impl Allocate,
    ) -> Option<(LunId, Step)> {
        let Some(lun) = self.buses.grant(channel, now) else {
            if let Some(at) = self.buses.service_due(channel) {
                self.timers.set(Timer::Channel(channel), at);
            }
            return None;
        };
        let step = match self.luns[lun].phase {
            Phase::AwaitStart => match self.next(now, lun, upper) {
                Next::Start(lane) => self.start(now, lun, channel, lane, upper),
                Next::Resume => {
                    self.resume(now, lun, upper);
                    Step::Nothing
                }
                Next::Rest => {
                    self.luns[lun].phase = Phase::Idle;
                    Step::Rests
                }
            },
            Phase::AwaitOut => {
                self.start_out(now, lun, channel);
                Step::Nothing
            }
            Phase::AwaitIn => {
                self.go_on_in(now, lun, channel, upper);
                Step::Nothing
            }
            phase => unreachable!("a LUN in phase {phase:?} does not wait for the bus"),
        };
        Some((lun, step))
    }

    /// The timer of a LUN has expired: its cells are done, as a rule. Data of reads goes out.
    #[inline(always)]
    pub(crate) fn cells_done(&mut self, now: Time, lun: LunId) -> CellsDone {
        if self.luns[lun].phase != Phase::Cell {
            return self.other_timer(lun);
        }
        if !self.luns[lun].transaction.kind.is_read() {
            self.luns[lun].transaction.out_start = now;
            return CellsDone::Ended;
        }
        let channel = self.layout.channel_of(lun);
        self.luns[lun].phase = Phase::AwaitOut;
        if self.buses.is_free(channel, now) {
            self.start_out(now, lun, channel);
        } else {
            self.wait_for_bus(now, channel, lun, BusUse::ReadData);
        }
        CellsDone::DataGoesOut
    }

    /// The timer of a LUN whose cells are not at work.
    #[cold]
    fn other_timer(&mut self, lun: LunId) -> CellsDone {
        match self.luns[lun].phase {
            Phase::Suspending | Phase::Resetting => CellsDone::Preempted,
            // A deferred erase was to be looked at again.
            Phase::Idle if self.preempt.time_erases => CellsDone::LookAgain,
            Phase::AwaitStart if self.preempt.time_erases => CellsDone::Nothing,
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
        self.timers.set(Timer::Channel(channel), end);
    }

    /// A transaction has been served and leaves its LUN, which can serve another. Its scheduler may commit
    /// more.
    #[inline(always)]
    pub(crate) fn give_back(&mut self, now: Time, lun: LunId) {
        self.luns[lun].phase = Phase::Idle;
        self.luns.release(now, lun);
        self.end_handle(now, lun);
        self.scheduler.released(lun);
    }

    /// Resumes what was suspended at a LUN, or begins it anew: its cells are at work again.
    pub(super) fn seize_again(&mut self, now: Time, lun: LunId, end: Time) {
        self.seize(now, lun, holder_of(self.luns[lun].transaction.kind));
        self.timers.set(Timer::Lun(lun), end);
    }
}
