//! Whether a set is quiesced: the part of its work that continues in a quiet period ([`crate::steering`])
//! and has to end before the drive reports that it is quiet.

use crate::flash::unit::Phase;
use crate::flash::{LunId, PlaneId};
use crate::planted::{Rule, holds};
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
        let set = self.sets.of_unit(self.requests[id].unit);
        self.steering.rests_programs(set)
            && matches!(self.requests[id].role, Role::Program(_))
            && !self.is_void(id)
            && holds(Rule::RestPrograms)
    }

    /// True when nothing waits at a unit but programs that rest.
    pub(crate) fn has_only_resting_work(&self, unit: LunId) -> bool {
        let rests = |place| {
            let first = self.units.first(unit, Lane::USER_WRITE, place);
            first == RequestId::NONE || self.is_put_off(first)
        };
        self.steering.is_quiet(self.sets.of_unit(unit))
            && self.units[unit].lanes_with_work(!Lane::USER_WRITE.mask()).next().is_none()
            && (0..self.places).all(rests)
    }

    /// True when nothing is under way any more in a set that has to end before its quiet period begins. Units
    /// that have been found at rest stay so and are not looked at again: all calls of a period together cost
    /// one look at each.
    pub(crate) fn has_come_to_rest(&mut self, now: Time, set: SetId) -> bool {
        if !holds(Rule::AwaitRest) {
            return true;
        }
        if !self.steering.rests_programs(set) || self.steering.is_merging(set) {
            return false;
        }
        while self.steering.luns_at_rest(set) < self.sets.units_each() {
            let unit = self.sets.unit(set, self.steering.luns_at_rest(set));
            if !self.is_at_rest_from_all(now, unit) {
                self.nudge(now, unit);
                // That may have been all that was missing: then no event follows.
                if !self.steering.rests_programs(set) || !self.is_at_rest_from_all(now, unit) {
                    return false;
                }
            }
            self.steering.lun_rests(set);
        }
        true
    }

    /// Starts the unit if a trim, or a program of another unit, has invalidated a copy that had no page to
    /// go to: such a change does not wake the unit.
    fn nudge(&mut self, now: Time, unit: LunId) {
        if self.units[unit].phase == Phase::Idle && self.choose(now, unit).is_some() {
            self.kick(now, unit);
        }
    }

    fn is_at_rest_from_all(&self, now: Time, unit: LunId) -> bool {
        let u = &self.units[unit];
        let is_at_work = !matches!(u.phase, Phase::Idle | Phase::AwaitStart)
            && matches!(u.transaction.kind, Kind::UserWrite | Kind::ReadAhead);
        !is_at_work && !u.is_suspended && self.rests_from_collection(now, unit)
    }

    /// True when no collection is under way at a unit, nor about to resume.
    pub(crate) fn rests_from_collection(&self, now: Time, unit: LunId) -> bool {
        let u = &self.units[unit];
        let collects = !matches!(u.phase, Phase::Idle | Phase::AwaitStart)
            && matches!(u.transaction.kind, Kind::GcRead | Kind::GcWrite | Kind::Erase);
        if collects {
            return false;
        }
        if u.lanes_with_work(Lane::COLLECTION).next().is_some() {
            return self.cannot_go_on(now, unit);
        }
        !(0..self.places).any(|place| self.has_to_collect(self.layout.plane_at(unit, place)))
    }

    /// True when a plane has a job that continues in a quiet period.
    fn has_to_collect(&self, plane: PlaneId) -> bool {
        self.collection.is_at_work(plane)
            || self.collection.cannot_stop(plane, self.config.gc.preemptible)
            || self.collection.is_busy(plane) && !self.collection.is_paused(plane) && self.is_below_low(plane)
    }

    /// True when the collections of a unit have no page to copy to, because too many blocks went bad: they
    /// stand still until a write finds the drive full, and erases that wait for the unit to be idle do so
    /// with them.
    fn cannot_go_on(&self, now: Time, unit: LunId) -> bool {
        let mut planes = (0..self.places).map(|place| self.layout.plane_at(unit, place));
        self.units[unit].phase == Phase::Idle
            && self.choose(now, unit).is_none()
            && planes.all(|plane| {
                let stands_still = self.collection.is_at_work(plane) || self.is_erase_deferred(plane);
                stands_still || !self.has_to_collect(plane)
            })
    }
}
