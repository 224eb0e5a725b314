//! Which of a LUN's requests goes next: its lanes by the chip policy, and what of them can start.

use super::{Backend, UpperLayers};
use crate::config::ChipPolicy;
use crate::flash::{LunId, PhysicalPage};
use crate::holder::Holder;
use crate::request::{Lane, MemoryRequest, RequestId};
use tailcut_base::Time;

/// The next step of a LUN.
pub(super) enum Next {
    /// A transaction from this lane.
    Start(Lane),
    /// Resume the suspended operation.
    Resume,
    /// Nothing can start.
    Rest,
}

/// Why a LUN does not start anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Rest {
    /// It waits for data of a committed write.
    AwaitsData,
    /// Its writes have no erased page.
    ShortOfSpace,
    /// It has nothing to do, but has just been given a program that waited elsewhere; the scheduler may
    /// commit more there.
    TakesOver,
    /// It has nothing to do.
    Idle,
}

impl Backend {
    /// A LUN has no work that can start. `is_quiet` in a quiet period of its set, in which programs wait.
    pub(crate) fn rest(&mut self, now: Time, lun: LunId, is_quiet: bool, upper: &impl UpperLayers) -> Rest {
        if self.luns[lun].holds_for_data() {
            self.luns[lun].hold(now, Holder::Idle);
            return Rest::AwaitsData;
        }
        if self.luns[lun].has_work() && !(is_quiet && self.has_only_resting_work(lun, upper)) {
            self.luns[lun].hold(now, Holder::Space);
            return Rest::ShortOfSpace;
        }
        let u = &mut self.luns[lun];
        u.hold(now, Holder::Idle);
        // What reads went before may have been dropped, or moved away by the leveler.
        u.held_off_since = Time::NEVER;
        if self.rules.levels_queues && !upper.rests_programs(lun) && self.take_over(now, lun, upper) {
            return Rest::TakesOver;
        }
        Rest::Idle
    }

    /// The next step that a LUN should take.
    #[inline(always)]
    pub(super) fn next(&self, now: Time, lun: LunId, upper: &impl UpperLayers) -> Next {
        let u = &self.luns[lun];
        if u.is_suspended {
            return match self.read_before_resuming(now, lun) {
                Some(lane) => Next::Start(lane),
                None => Next::Resume,
            };
        }
        self.choose(now, lun, upper).map_or(Next::Rest, Next::Start)
    }

    /// The lane that should go next, by the chip policy; `None` when nothing can start.
    #[inline(always)]
    pub(crate) fn choose(&self, now: Time, lun: LunId, upper: &impl UpperLayers) -> Option<Lane> {
        let u = &self.luns[lun];
        if u.has_only(Lane::READ) {
            return Some(Lane::READ);
        }
        if !u.has_work() {
            return None;
        }
        if !self.rules.preempts_collection
            && let Some(collection) = self.first_of(lun, Lane::COLLECTION, upper)
        {
            return Some(collection);
        }
        if self.schedule.chip == ChipPolicy::Fifo {
            return self.first_of(lun, Lane::ALL_BUT_AHEAD, upper).or_else(|| u.reads_ahead());
        }
        if let Some(read) = u.first_reads()
            && !self.is_overdue(now, lun, upper)
        {
            return Some(read);
        }
        if self.rules.collects_in_step {
            // What collection programs is paced by what the host writes: they go in turn.
            let others = self.first_of(lun, Lane::USER_WRITE.mask() | Lane::COLLECTION, upper);
            return others.or(u.first_reads()).or_else(|| u.reads_ahead());
        }
        let write = self.first_of(lun, Lane::USER_WRITE.mask(), upper);
        let others = match write {
            Some(_) if !self.is_short_of_blocks(lun, upper) => write,
            _ => self.first_of(lun, Lane::COLLECTION, upper).or(write),
        };
        others.or(u.first_reads()).or_else(|| u.reads_ahead())
    }

    /// Of the lanes of a mask, the one with the oldest request that can start.
    #[inline]
    fn first_of(&self, lun: LunId, lanes: u8, upper: &impl UpperLayers) -> Option<Lane> {
        let (mut oldest, mut first) = (u64::MAX, None);
        for lane in self.luns[lun].lanes_with_work(lanes) {
            let order = self.oldest_before(oldest, lun, lane, upper);
            if order < oldest {
                (oldest, first) = (order, Some(lane));
            }
        }
        first
    }

    /// The order of the oldest request of a lane that can start, if that is below `bound`; `bound` otherwise.
    #[inline]
    fn oldest_before(&self, bound: u64, lun: LunId, lane: Lane, upper: &impl UpperLayers) -> u64 {
        let u = &self.luns[lun];
        if lane == Lane::USER_WRITE && u.holds_for_data() {
            return bound;
        }
        let mut oldest = bound;
        for place in bits(u.places_with(lane)) {
            let id = self.luns.first(lun, lane, place);
            let request = &self.requests[id];
            if request.order < oldest
                && (!lane.is_program() || self.can_program(id, request, lun, place, upper))
            {
                oldest = request.order;
            }
        }
        oldest
    }

    /// True when a request at a place of a LUN could start now, were its LUN free.
    #[inline]
    pub(crate) fn can_start(&self, id: RequestId, lun: LunId, place: u32, upper: &impl UpperLayers) -> bool {
        let request = &self.requests[id];
        !request.lane.is_program() || self.can_program(id, request, lun, place, upper)
    }

    /// True when a program at a place of a LUN could start now, were its LUN free: there is a page for it, or
    /// it is void and only leaves its lane.
    #[inline]
    fn can_program(
        &self,
        id: RequestId,
        request: &MemoryRequest,
        lun: LunId,
        place: u32,
        upper: &impl UpperLayers,
    ) -> bool {
        (request.physical != PhysicalPage::NONE
            || upper.can_allocate(self.layout.plane_at(lun, place), request.frontier)
            || upper.is_void(id, request))
            && !upper.is_put_off(id, request)
    }

    /// True when reads have gone first for long enough: a write that could start, or collection whose
    /// blocks are needed, is waiting, and nothing but reads has ended here for longer than the patience.
    #[inline]
    pub(super) fn is_overdue(&self, now: Time, lun: LunId, upper: &impl UpperLayers) -> bool {
        self.is_held_off_too_long(now, lun) && self.has_waiting_work(lun, upper)
    }

    /// True when a write that could start waits, or collection whose blocks are needed.
    pub(super) fn has_waiting_work(&self, lun: LunId, upper: &impl UpperLayers) -> bool {
        self.oldest_before(u64::MAX, lun, Lane::USER_WRITE, upper) != u64::MAX
            || self.is_short_of_blocks(lun, upper) && self.first_of(lun, Lane::COLLECTION, upper).is_some()
    }

    #[inline]
    pub(super) fn is_held_off_too_long(&self, now: Time, lun: LunId) -> bool {
        let since = self.luns[lun].held_off_since;
        since != Time::NEVER && now.since(since) > self.schedule.write_patience
    }

    pub(super) fn is_short_of_blocks(&self, lun: LunId, upper: &impl UpperLayers) -> bool {
        self.layout.planes_of(lun).any(|plane| upper.is_short_of_blocks(plane))
    }

    /// True when nothing waits at a LUN but programs that rest.
    pub(crate) fn has_only_resting_work(&self, lun: LunId, upper: &impl UpperLayers) -> bool {
        let rests = |place| {
            let first = self.luns.first(lun, Lane::USER_WRITE, place);
            first == RequestId::NONE || upper.is_put_off(first, &self.requests[first])
        };
        self.luns[lun].lanes_with_work(!Lane::USER_WRITE.mask()).next().is_none()
            && (0..self.layout.places()).all(rests)
    }
}

/// The places of a mask.
#[inline]
pub(crate) fn bits(mut mask: u16) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        if mask == 0 {
            return None;
        }
        let bit = mask.trailing_zeros();
        mask &= mask - 1;
        Some(bit)
    })
}
