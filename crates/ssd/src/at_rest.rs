//! Whether a set is quiesced: the part of its work that continues in a quiet period ([`crate::steering`])
//! and has to end before the drive reports that it is quiet.

use crate::flash::lun::Phase;
use crate::flash::{LunId, PlaneId};
use crate::mutation::{Invariant, holds};
use crate::probe::Probe;
use crate::request::{Kind, Lane, RequestId, Role};
use crate::sets::SetId;
use crate::ssd::Ssd;
use tailcut_base::Time;

impl<P: Probe> Ssd<P> {
    /// True when a program has to wait for the end of a quiet period.
    #[inline]
    pub(crate) fn is_put_off(&self, id: RequestId) -> bool {
        self.steering.is_any_quiet() && self.rests(id)
    }

    #[cold]
    fn rests(&self, id: RequestId) -> bool {
        let set = self.sets.of_lun(self.requests[id].lun);
        self.steering.rests_programs(set)
            && matches!(self.requests[id].role, Role::Program(_))
            && !self.is_void(id)
            && holds(Invariant::RestPrograms)
    }

    /// True when nothing waits at a LUN but programs that rest.
    pub(crate) fn has_only_resting_work(&self, lun: LunId) -> bool {
        let rests = |place| {
            let first = self.luns.first(lun, Lane::USER_WRITE, place);
            first == RequestId::NONE || self.is_put_off(first)
        };
        self.steering.is_quiet(self.sets.of_lun(lun))
            && self.luns[lun].lanes_with_work(!Lane::USER_WRITE.mask()).next().is_none()
            && (0..self.places).all(rests)
    }

    /// True when nothing is under way any more in a set that has to end before its quiet period begins. LUNs
    /// that have been found at rest stay so and are not looked at again: all calls of a period together cost
    /// one look at each.
    pub(crate) fn has_come_to_rest(&mut self, now: Time, set: SetId) -> bool {
        if !holds(Invariant::AwaitRest) {
            return true;
        }
        if !self.steering.rests_programs(set) || self.steering.is_merging(set) {
            return false;
        }
        while self.steering.luns_at_rest(set) < self.sets.luns_each() {
            let lun = self.sets.lun(set, self.steering.luns_at_rest(set));
            if !self.is_at_rest_from_all(now, lun) {
                self.nudge(now, lun);
                // That may have been all that was missing: then no event follows.
                if !self.steering.rests_programs(set) || !self.is_at_rest_from_all(now, lun) {
                    return false;
                }
            }
            self.steering.lun_rests(set);
        }
        true
    }

    /// Starts the LUN if a trim, or a program of another LUN, has invalidated a copy that had no page to
    /// go to: such a change does not wake the LUN.
    fn nudge(&mut self, now: Time, lun: LunId) {
        if self.luns[lun].phase == Phase::Idle && self.choose(now, lun).is_some() {
            self.kick(now, lun);
        }
    }

    fn is_at_rest_from_all(&self, now: Time, lun: LunId) -> bool {
        let u = &self.luns[lun];
        let is_at_work = !matches!(u.phase, Phase::Idle | Phase::AwaitStart)
            && matches!(u.transaction.kind, Kind::UserWrite | Kind::ReadAhead);
        !is_at_work && !u.is_suspended && self.rests_from_collection(now, lun)
    }

    /// True when no collection is under way at a LUN, nor about to resume.
    pub(crate) fn rests_from_collection(&self, now: Time, lun: LunId) -> bool {
        let u = &self.luns[lun];
        let collects = !matches!(u.phase, Phase::Idle | Phase::AwaitStart)
            && matches!(u.transaction.kind, Kind::GcRead | Kind::GcWrite | Kind::Erase);
        if collects {
            return false;
        }
        if u.lanes_with_work(Lane::COLLECTION).next().is_some() {
            return self.cannot_go_on(now, lun);
        }
        !(0..self.places).any(|place| self.has_to_collect(self.layout.plane_at(lun, place)))
    }

    /// True when a plane has a job that continues in a quiet period.
    fn has_to_collect(&self, plane: PlaneId) -> bool {
        self.collection.is_at_work(plane)
            || self.collection.cannot_stop(plane, self.config.gc.preemptible)
            || self.collection.is_busy(plane) && !self.collection.is_paused(plane) && self.is_below_low(plane)
    }

    /// True when the collections of a LUN have no page to copy to, because too many blocks went bad: they
    /// stand still until a write finds the drive full, and erases that wait for the LUN to be idle do so
    /// with them.
    fn cannot_go_on(&self, now: Time, lun: LunId) -> bool {
        let mut planes = (0..self.places).map(|place| self.layout.plane_at(lun, place));
        self.luns[lun].phase == Phase::Idle
            && self.choose(now, lun).is_none()
            && planes.all(|plane| {
                let stands_still = self.collection.is_at_work(plane) || self.is_erase_deferred(plane);
                stands_still || !self.has_to_collect(plane)
            })
    }
}
