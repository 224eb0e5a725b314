//! Whether a set is quiesced: the part of its work that continues in a quiet period ([`crate::mapping`])
//! and has to end before the drive reports that it is quiet.

use super::Ssd;
use crate::backend::lun::Phase;
use crate::flash::{LunId, PlaneId};
use crate::mutation::{Invariant, holds};
use crate::probe::Probe;
use crate::request::{Kind, Lane};
use crate::sets::SetId;
use tailcut_base::Time;

impl<P: Probe> Ssd<P> {
    /// True when nothing is under way any more in a set that has to end before its quiet period begins. LUNs
    /// that have been found at rest stay so and are not looked at again: all calls of a period together cost
    /// one look at each.
    pub(crate) fn has_come_to_rest(&mut self, now: Time, set: SetId) -> bool {
        if !holds(Invariant::AwaitRest) {
            return true;
        }
        if !self.mapping.steering.rests_programs(set) || self.mapping.steering.is_merging(set) {
            return false;
        }
        while self.mapping.steering.luns_at_rest(set) < self.mapping.sets.luns_each() {
            let lun = self.mapping.sets.lun(set, self.mapping.steering.luns_at_rest(set));
            if !self.is_at_rest_from_all(now, lun) {
                self.nudge(now, lun);
                // That may have been all that was missing: then no event follows.
                if !self.mapping.steering.rests_programs(set) || !self.is_at_rest_from_all(now, lun) {
                    return false;
                }
            }
            self.mapping.steering.lun_rests(set);
        }
        true
    }

    /// Starts the LUN if a trim, or a program of another LUN, has invalidated a copy that had no page to
    /// go to: such a change does not wake the LUN.
    fn nudge(&mut self, now: Time, lun: LunId) {
        if self.backend.lun(lun).phase == Phase::Idle
            && self.backend.choose(now, lun, &self.layers()).is_some()
        {
            self.kick(now, lun);
        }
    }

    fn is_at_rest_from_all(&self, now: Time, lun: LunId) -> bool {
        let u = self.backend.lun(lun);
        let is_at_work = !matches!(u.phase, Phase::Idle | Phase::AwaitStart)
            && matches!(u.transaction.kind, Kind::UserWrite | Kind::ReadAhead);
        !is_at_work && !u.is_suspended && self.rests_from_collection(now, lun)
    }

    /// True when no collection is under way at a LUN, nor about to resume.
    pub(crate) fn rests_from_collection(&self, now: Time, lun: LunId) -> bool {
        let u = self.backend.lun(lun);
        let collects = !matches!(u.phase, Phase::Idle | Phase::AwaitStart)
            && matches!(u.transaction.kind, Kind::GcRead | Kind::GcWrite | Kind::Erase);
        if collects {
            return false;
        }
        if u.lanes_with_work(Lane::COLLECTION).next().is_some() {
            return self.cannot_go_on(now, lun);
        }
        !(0..self.layout.places.get()).any(|place| self.has_to_collect(self.layout.plane_at(lun, place)))
    }

    /// True when a plane has a job that continues in a quiet period.
    fn has_to_collect(&self, plane: PlaneId) -> bool {
        self.mapping.collection.is_at_work(plane)
            || self.mapping.collection.cannot_stop(plane, self.config.gc.preemptible)
            || self.mapping.collection.is_busy(plane)
                && !self.mapping.collection.is_paused(plane)
                && self.mapping.is_below_low(plane)
    }

    /// True when the collections of a LUN have no page to copy to, because too many blocks went bad: they
    /// stand still until a write finds the drive full, and erases that wait for the LUN to be idle do so
    /// with them.
    fn cannot_go_on(&self, now: Time, lun: LunId) -> bool {
        let mut planes = (0..self.layout.places.get()).map(|place| self.layout.plane_at(lun, place));
        self.backend.lun(lun).phase == Phase::Idle
            && self.backend.choose(now, lun, &self.layers()).is_none()
            && planes.all(|plane| {
                let stands_still =
                    self.mapping.collection.is_at_work(plane) || self.mapping.is_erase_deferred(plane);
                stands_still || !self.has_to_collect(plane)
            })
    }
}
