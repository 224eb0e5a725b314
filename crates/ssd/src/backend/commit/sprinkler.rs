//! Sprinkler: resource-driven scheduling (RIOS) and over-commitment (FARO), together or alone.

use super::faro::{Faro, Set, committed};
use super::layout::ChipLayout;
use super::visits::Visits;
use super::{Chips, CommitScheduler, is_waiting_to_start};
use crate::config::{CommitPolicy, ScheduleConfig};
use crate::flash::{Geometry, LunId, PhysicalPage};
use crate::mutation::{Invariant, holds, looked};
use crate::request::{Kind, RequestId};
use std::collections::VecDeque;
use tailcut_base::ids::IdVec;

/// Sprinkler (section 4): requests are laid out by the chip that they go to as they arrive, and
/// chips are visited in the order of RIOS ([`Visits`]). A chip is visited when a request for it has
/// arrived and when it has become free.
///
/// - RIOS and FARO (SPK3) commit to a chip that has not started the set that FARO chooses
///   ([`Faro`]), and complete it while the chip waits for its bus.
/// - RIOS alone (SPK2) commits the chip's oldest request at each visit, if nothing is committed at
///   its place. So requests share a transaction only when they arrive while the chip waits.
/// - FARO alone (SPK1) lays out one I/O request at a time, in order of arrival: the next when all
///   requests of the one before are committed. It over-commits to busy chips, too, one request
///   for each place, or it would be as stuck behind a busy chip as VAS.
///
/// *Starvation*, which the paper leaves open, is bounded: when `passes` transactions of a chip have
/// ended while the same request was its oldest waiting one, that request is a member of the next
/// set. So a request with *k* older ones at its chip is committed after at most (*k* + 1) ×
/// (`passes` + 1) transactions of the chip.
#[derive(Clone, Debug)]
pub(super) struct Sprinkler {
    waiting: ChipLayout,
    visits: Visits,
    faro: Option<Faro>,
    /// I/O requests are laid out one at a time.
    in_order: bool,
    /// I/O requests that are not laid out yet.
    line: VecDeque<RequestId>,
    /// Requests chosen by the last visit that `next` has not returned yet.
    chosen: Set,
    /// Transactions of each LUN that ended since its oldest waiting request became that.
    passed: IdVec<LunId, u32>,
    /// The most of them when such a request was committed.
    most_passed: u32,
    passes: u32,
}

impl Sprinkler {
    pub(super) fn new(schedule: &ScheduleConfig, geometry: &Geometry) -> Sprinkler {
        Sprinkler {
            waiting: ChipLayout::new(geometry),
            visits: Visits::new(geometry),
            faro: (schedule.commit != CommitPolicy::Rios).then(|| Faro::new(schedule, geometry)),
            in_order: schedule.commit == CommitPolicy::Faro,
            line: VecDeque::new(),
            chosen: Set::EMPTY,
            passed: IdVec::filled(geometry.luns() as usize, 0),
            most_passed: 0,
            passes: schedule.passes,
        }
    }

    #[inline]
    fn lay_out(&mut self, chips: Chips<'_>, id: RequestId) {
        self.waiting.add(chips, id);
        self.visits.add(chips.requests[id].lun);
    }

    /// Lays out the next I/O request of the line.
    fn lay_out_next(&mut self, chips: Chips<'_>) {
        let Some(&first) = self.line.front() else { return };
        let tag = chips.requests[first].tag;
        while let Some(&id) = self.line.front().filter(|&&id| chips.requests[id].tag == tag) {
            self.line.pop_front();
            self.lay_out(chips, id);
        }
    }

    /// Visits a LUN: what is committed to it now?
    #[inline]
    fn visit(&mut self, chips: Chips<'_>, lun: LunId) -> Set {
        looked();
        let oldest = self.waiting.ages.first(lun);
        if oldest == RequestId::NONE {
            return Set::EMPTY;
        }
        if !self.in_order && !is_waiting_to_start(chips.luns[lun].phase) {
            return self.visit_busy(chips, lun, oldest);
        }
        match &self.faro {
            Some(faro) => {
                let is_due = self.passed[lun] >= self.passes && holds(Invariant::BoundedWait);
                faro.choose(&self.waiting, chips, lun, if is_due { oldest } else { RequestId::NONE })
            }
            None => self.oldest(chips, lun, oldest),
        }
    }

    /// Visits a LUN that has started something: only reads that may preempt it are committed.
    fn visit_busy(&self, chips: Chips<'_>, lun: LunId, oldest: RequestId) -> Set {
        if !chips.luns[lun].opens_to_reads || self.waiting.reads(lun) == 0 {
            return Set::EMPTY;
        }
        match &self.faro {
            Some(faro) => faro.reads_beside(&self.waiting, chips, lun),
            None if chips.requests[oldest].kind() == Kind::UserRead => self.oldest(chips, lun, oldest),
            None => Set::EMPTY,
        }
    }

    /// The oldest request of a LUN, if nothing is committed at its place.
    fn oldest(&self, chips: Chips<'_>, lun: LunId, oldest: RequestId) -> Set {
        let mut set = Set::EMPTY;
        let request = &chips.requests[oldest];
        let (reads, writes) = committed(&chips.luns[lun]);
        let taken = if request.kind() == Kind::UserRead { reads } else { writes };
        if taken >> request.place & 1 == 0 {
            set.push(oldest);
        }
        set
    }

    /// See [`super::Scheduler::reader_of`].
    pub(super) fn reader_of(&self, chips: Chips<'_>, physical: PhysicalPage) -> Option<RequestId> {
        let plane = chips.layout.plane_of_block(chips.layout.block_of(physical));
        let mut id = self.waiting.read_at(plane, chips.layout.offset_of(physical));
        while id != RequestId::NONE && chips.requests[id].physical != physical {
            id = self.waiting.next_in_slot(id);
        }
        (id != RequestId::NONE).then_some(id)
    }

    /// Takes a waiting read out of the place where its address has put it.
    pub(super) fn leave(&mut self, chips: Chips<'_>, id: RequestId) {
        self.waiting.leave_slot(chips, id);
    }

    /// Puts a waiting read into the slot of its new address in the same plane.
    pub(super) fn enter(&mut self, chips: Chips<'_>, id: RequestId) {
        self.waiting.enter_slot(chips, id);
    }

    /// See [`super::Scheduler::most_passed`].
    pub(super) fn most_passed(&self) -> u32 {
        self.most_passed
    }

    /// A committed request of a LUN has started.
    #[inline]
    pub(super) fn left(&mut self, lun: LunId) {
        if self.in_order && self.waiting.ages.first(lun) != RequestId::NONE {
            // Its place can take the next one while the chip is busy.
            self.visits.add(lun);
        }
    }
}

impl CommitScheduler for Sprinkler {
    #[inline]
    fn arrived(&mut self, chips: Chips<'_>, id: RequestId, _: bool) {
        if self.in_order {
            self.line.push_back(id);
        } else {
            self.lay_out(chips, id);
        }
    }

    #[inline]
    fn released(&mut self, lun: LunId) {
        if self.waiting.ages.first(lun) != RequestId::NONE {
            self.passed[lun] += 1;
            self.visits.add(lun);
        }
    }

    #[inline]
    fn next(&mut self, chips: Chips<'_>) -> Option<RequestId> {
        loop {
            if let Some(id) = self.chosen.pop() {
                let lun = chips.requests[id].lun;
                if id == self.waiting.ages.first(lun) {
                    self.most_passed = self.most_passed.max(self.passed[lun]);
                    self.passed[lun] = 0;
                }
                self.waiting.remove(chips, id);
                return Some(id);
            }
            if self.in_order && self.waiting.ages.len() == 0 {
                self.lay_out_next(chips);
            }
            let lun = self.visits.next()?;
            self.chosen = self.visit(chips, lun);
            if !self.chosen.is_empty() && chips.luns[lun].is_short_of_space() {
                self.visits.add(lun);
            }
        }
    }
}
