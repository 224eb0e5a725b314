//! The queue size leveler (Hahn, Lee and Kim, MSST 2013; PAReset, section 2.2): programs that wait for
//! a busy chip move to an idle one of their set.

use super::{Backend, UpperLayers};
use crate::backend::commit::visits::Visits;
use crate::backend::lun::Phase;
use crate::flash::{Geometry, LunId};
use crate::request::{Lane, RequestId, Tag};
use crate::sets::{SetId, Sets};
use tailcut_base::Time;
use tailcut_base::cast::to_u8;
use tailcut_base::ids::IdVec;

/// How many busy chips are compared by the length of their queues: a bound on the work.
const CANDIDATES: usize = 8;

/// Of each set, as programs stay within theirs.
#[derive(Debug)]
pub(crate) struct Levelling {
    sets: IdVec<SetId, Candidates>,
}

/// Which chips may be idle, and at which programs may wait. Members are checked again when they are taken
/// out, so a change of state need not remove them.
#[derive(Clone, Debug)]
struct Candidates {
    idle: Visits,
    busy: Visits,
}

impl Levelling {
    pub(crate) fn new(geometry: &Geometry, sets: Sets) -> Levelling {
        let none = Visits::new(geometry);
        let candidates = |set| {
            let mut idle = none.clone();
            sets.luns(set).for_each(|lun| idle.add(lun));
            Candidates { idle, busy: none.clone() }
        };
        Levelling { sets: sets.ids().map(candidates).collect() }
    }
}

impl Backend {
    /// True when programs may move: the logical page does not decide where they go.
    #[inline]
    pub(crate) fn levels_queues(&self) -> bool {
        self.rules.levels_queues
    }

    /// A LUN without work takes over a program of the LUN where most of them wait, among the next few
    /// in turn. False when there is none; else the scheduler may commit more where it was.
    #[cold]
    pub(crate) fn take_over(&mut self, now: Time, lun: LunId, upper: &impl UpperLayers) -> bool {
        let set = self.sets.of_lun(lun);
        let mut longest = (0, LunId::NONE);
        let mut seen = [LunId::NONE; CANDIDATES];
        for slot in &mut seen {
            let Some(other) = self.levelling.sets[set].busy.next() else { break };
            let waiting = self.luns[other].waiting(Lane::USER_WRITE);
            if waiting > 0 {
                *slot = other;
                longest = longest.max((waiting, other));
            }
        }
        let busy = &mut self.levelling.sets[set].busy;
        seen.into_iter().filter(|&other| other != LunId::NONE).for_each(|other| busy.add(other));
        let moved =
            longest.1 != LunId::NONE && longest.1 != lun && self.move_program(now, longest.1, lun, upper);
        if !moved {
            self.levelling.sets[set].idle.add(lun);
        }
        moved
    }

    /// Moves the oldest program of the host's data that waits at `from`. False when it cannot move.
    fn move_program(&mut self, now: Time, from: LunId, to: LunId, upper: &impl UpperLayers) -> bool {
        let oldest = (0..self.layout.places())
            .map(|place| self.luns.first(from, Lane::USER_WRITE, place))
            .filter(|&id| id != RequestId::NONE)
            .min_by_key(|&id| self.requests[id].order);
        let Some(id) = oldest else { return false };
        let Some(place) = self.place_for(to, id, upper) else { return false };
        self.luns.take(&self.requests, from, Lane::USER_WRITE, u32::from(self.requests[id].place));
        self.change_lun(now, id, to, place);
        self.luns.commit(&mut self.requests, id);
        // Requests that the scheduler has held back behind this program can take its place.
        self.scheduler.released(from);
        true
    }

    /// The place of a LUN, in turn, that has a page for a program.
    fn place_for(&self, lun: LunId, id: RequestId, upper: &impl UpperLayers) -> Option<u32> {
        let frontier = self.requests[id].frontier;
        (0..self.layout.places())
            .filter(|&place| upper.can_allocate(self.layout.plane_at(lun, place), frontier))
            .min_by_key(|&place| upper.next_offset(self.layout.plane_at(lun, place), frontier))
    }

    fn change_lun(&mut self, now: Time, id: RequestId, to: LunId, place: u32) {
        self.counts.levelled_queues += 1;
        let from = self.requests[id].lun;
        self.requests.change_lun(id, &self.luns[from].account(now), &self.luns[to].account(now));
        let tag = self.requests[id].tag;
        if tag != Tag::NONE {
            self.luns[from].uncommit();
            self.luns[to].committed_tag = tag;
            self.luns[to].committed_count += 1;
        }
        self.requests[id].lun = to;
        self.requests[id].place = to_u8(place);
    }

    /// A program is about to be committed: to an idle chip, if its own is busy and there is one. True if so:
    /// then the scheduler may commit more where it was.
    #[cold]
    pub(crate) fn divert(&mut self, now: Time, id: RequestId, upper: &impl UpperLayers) -> bool {
        let own = self.requests[id].lun;
        if self.is_at_rest(own) {
            return false;
        }
        let set = self.sets.of_lun(own);
        while let Some(lun) = self.levelling.sets[set].idle.next() {
            if self.is_at_rest(lun)
                && let Some(place) = self.place_for(lun, id, upper)
            {
                self.change_lun(now, id, lun, place);
                self.scheduler.released(own);
                return true;
            }
        }
        self.levelling.sets[set].busy.add(own);
        false
    }

    fn is_at_rest(&self, lun: LunId) -> bool {
        let u = &self.luns[lun];
        u.phase == Phase::Idle && !u.has_work() && !u.is_suspended && u.committed_count == 0
    }
}
