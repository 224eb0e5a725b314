//! Reads that rather fail than wait for the drive's own work (IODA's PL_IO; SOSP 2021), and the time that
//! they would have had to wait, as far as the controller knows (PL_BRT).
//!
//! A read is contended when one of its pages lies at a chip that works for the drive itself, or where such
//! work goes before the read. `schedule.fail_fast` defines which work counts. The time is that of the
//! operation under way and of the work of this kind before the read, with the rest of a collection that is
//! not preemptible. Requests that have not come to the chip yet, reads of the host and waits for the bus
//! are not in it. Work that the read may preempt does not count.
//!
//! With `anything` a read is contended whenever its chip is not free for it at once: reads of the host and
//! the time that preempting takes count as well. A host with another copy then goes where a chip is idle, and
//! if there is none, where one will be first.

use super::{Backend, UpperLayers};
use crate::backend::lun::Phase;
use crate::config::{ChipPolicy, FailFast};
use crate::flash::LunId;
use crate::request::{Kind, Lane};
use tailcut_base::{Nanos, Time};

impl FailFast {
    /// The lanes whose work a read does not wait for.
    fn lanes(self) -> u8 {
        match self {
            FailFast::Collection => Lane::COLLECTION,
            FailFast::Writes | FailFast::Anything => Lane::COLLECTION | Lane::USER_WRITE.mask(),
        }
    }

    fn includes(self, kind: Kind) -> bool {
        match kind {
            Kind::UserRead | Kind::ReadAhead => self == FailFast::Anything,
            Kind::UserWrite => self != FailFast::Collection,
            Kind::GcRead | Kind::GcWrite | Kind::Erase => true,
        }
    }
}

impl Backend {
    /// How long a read in `lane` that comes to a LUN now would wait for what `schedule.fail_fast` counts;
    /// `None` when it would not.
    pub(crate) fn contention(
        &self,
        now: Time,
        lun: LunId,
        lane: Lane,
        upper: &impl UpperLayers,
    ) -> Option<Nanos> {
        let ahead = self.own_work_ahead(now, lun, upper) + self.reads_ahead(lun, lane);
        let (under_way, left) = self.under_way(now, lun, lane, upper);
        (under_way || ahead > Nanos::ZERO).then_some(left + ahead)
    }

    /// True when a LUN is at work on what a read in `lane` does not wait for, and for how long it will be
    /// at work in any case.
    fn under_way(&self, now: Time, lun: LunId, lane: Lane, upper: &impl UpperLayers) -> (bool, Nanos) {
        let u = &self.luns[lun];
        let t = &u.transaction;
        let out = self.phases.transfer * u64::from(t.pages());
        let left = |end: Time| Nanos(end.0.saturating_sub(now.0));
        let minds_all = self.schedule.fail_fast == FailFast::Anything;
        let left = match u.phase {
            Phase::Suspending | Phase::Resetting if minds_all => left(u.makes_room_at),
            // The operation under way already makes room for a read.
            Phase::Idle | Phase::AwaitStart | Phase::Suspending | Phase::Resetting => {
                return (false, Nanos::ZERO);
            }
            Phase::Cell if t.kind.is_read() => left(t.cell_end) + out,
            Phase::Cell | Phase::AwaitIn => left(self.cells_of(now, lun).1),
            Phase::AwaitOut => self.phases.transfer * u64::from(t.left),
            Phase::Out => left(t.out_start + t.gap + out),
        };
        if u.is_preemptible
            && let Some((_, free)) = self.preemption_by(now, lun, lane, upper)
        {
            return (minds_all, free.since(now));
        }
        (self.schedule.fail_fast.includes(t.kind), left)
    }

    /// The time of the reads that go before a read in `lane` which comes to a LUN now, where reads mind
    /// that.
    fn reads_ahead(&self, lun: LunId, lane: Lane) -> Nanos {
        if self.schedule.fail_fast != FailFast::Anything {
            return Nanos::ZERO;
        }
        let before = Lane::READS.into_iter().filter(|&other| other <= lane);
        let reads = match self.schedule.chip {
            ChipPolicy::Fifo => Lane::READS.into_iter().fold(0, |mask, lane| mask | lane.mask()),
            _ => before.fold(0, |mask, lane| mask | lane.mask()),
        };
        self.queued(lun, reads)
    }

    /// The time of the work, of the kinds that reads need not wait for, that goes before a read which
    /// comes to a LUN now.
    fn own_work_ahead(&self, now: Time, lun: LunId, upper: &impl UpperLayers) -> Nanos {
        let which = self.schedule.fail_fast;
        let rests = upper.rests_programs(lun);
        let resting = if rests { Lane::USER_WRITE.mask() } else { 0 };
        if !self.rules.preempts_collection {
            let lanes = if self.schedule.chip == ChipPolicy::Fifo { which.lanes() } else { Lane::COLLECTION };
            return self.queued(lun, lanes & !resting) + self.rest_of_collections(lun, upper);
        }
        if self.schedule.chip == ChipPolicy::Fifo {
            return self.queued(lun, which.lanes() & !resting);
        }
        if let Some((kind, left)) = self.preemption.suspended(lun) {
            let goes_on = self.is_held_off_too_long(now, lun) && which.includes(kind);
            return if goes_on { left } else { Nanos::ZERO };
        }
        // Of what reads have held off for too long, one transaction goes first.
        let next = if self.is_overdue(now, lun, upper) { self.choose(now, lun, upper) } else { None };
        next.filter(|lane| which.includes(lane.kind())).map_or(Nanos::ZERO, |lane| self.length(lane.kind()))
    }

    /// The time of all that stands in `lanes` of a LUN: of each kind as many transactions as the fullest
    /// sharing of planes and dies leaves.
    fn queued(&self, lun: LunId, lanes: u8) -> Nanos {
        let u = &self.luns[lun];
        let shares = self.schedule.plane_sharing || self.schedule.die_interleaving;
        let time = |lane: Lane| {
            let together = if shares { u.places_with(lane).count_ones() } else { 1 };
            self.length(lane.kind()) * u64::from(u.waiting(lane).div_ceil(together))
        };
        u.lanes_with_work(lanes).map(time).sum()
    }

    /// What collections of a LUN that let nothing go between their pages still have to do, beside what
    /// has come to the chip.
    fn rest_of_collections(&self, lun: LunId, upper: &impl UpperLayers) -> Nanos {
        let u = &self.luns[lun];
        let has_begun =
            !matches!(u.phase, Phase::Idle | Phase::AwaitStart) && u.transaction.kind == Kind::GcRead;
        let reading = if has_begun { u.transaction.members().len() as u64 } else { 0 };
        // Whatever is read is programmed next.
        let reads = u64::from(u.waiting(Lane::GC_READ)) + reading;
        let programs = self.length(Kind::GcWrite) * reads;
        let rest = |pages: u32| self.time_of_copy() * u64::from(pages) + self.length(Kind::Erase);
        let left = self.layout.planes_of(lun).filter_map(|plane| upper.pages_left_to_copy(plane));
        programs + left.map(rest).sum()
    }

    /// How long a page copy takes.
    pub(crate) fn time_of_copy(&self) -> Nanos {
        self.length(Kind::GcRead) + self.length(Kind::GcWrite)
    }

    /// How long an erase takes.
    pub(crate) fn time_of_erase(&self) -> Nanos {
        self.length(Kind::Erase)
    }

    /// How long a transaction of one memory request takes, in the mean over page types.
    fn length(&self, kind: Kind) -> Nanos {
        let p = &self.phases;
        match kind {
            Kind::UserRead | Kind::GcRead | Kind::ReadAhead => {
                p.read_command + p.read_cell_typical() + p.transfer
            }
            Kind::UserWrite | Kind::GcWrite => p.program_command + p.transfer + p.program_cell_typical(),
            Kind::Erase => p.erase_command + p.erase,
        }
    }
}
