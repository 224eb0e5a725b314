//! Quiet periods (`is_ready_for_read`; Shin 2017, section 5.3.2): the drive keeps from collection and from
//! programs of buffered data, so that nothing is in the way of reads.
//!
//! Each NVM set has quiet periods of its own; what is said here of a drive holds for a set of it.
//!
//! The host asks until the answer is yes. From the first time on no collection starts, nor goes on beyond
//! the copies and the erase that have come to their chips; and programs that have not begun wait in
//! their chips' lines, with their data in the buffer, once all writes and flushes that the host has
//! sent are answered. What cannot wait goes on, and the answer is no until it has ended: these
//! commands, reads that wait for a program (without hit manager), suspended operations, collections that are
//! not preemptible, and those of planes below the low threshold.
//!
//! Nor is anything read ahead of the host in a quiet period.
//!
//! A write or a flush ends the period, whatever it has to do, so that a host need not know what the
//! buffer holds; reads and trims do not. So does a run of collection, or a threshold that is raised above what a
//! plane has. In a deterministic window (see [`crate::plm`]) a write lets programs begin and nothing else.

use crate::flash::unit::Phase;
use crate::flash::{LunId, PlaneId};
use crate::planted::{Rule, holds};
use crate::probe::Probe;
use crate::request::{Kind, Lane, RequestId, Role};
use crate::sets::SetId;
use crate::ssd::Ssd;
use tailcut_base::Time;
use tailcut_base::control::ControlReply;

/// What rests of a set.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Quiet {
    /// Collection rests, but for planes below the low threshold.
    collection: bool,
    /// Programs of buffered data rest, once nobody waits for any.
    programs: bool,
    /// Collection goes on to rest when a write comes.
    pub(crate) is_deterministic: bool,
    /// So many of the set's units, the first ones, have come to rest.
    at_rest: u32,
    /// Reads under way for the rest of pages that were written in part.
    pub(crate) merges: u32,
    /// Reads of the host that wait for a program.
    pub(crate) followers: u32,
}

impl Quiet {
    /// True while a quiet period lasts, or is about to begin.
    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        self.programs
    }

    /// True while collection rests.
    #[inline]
    pub(crate) fn rests_collection(&self) -> bool {
        self.collection && holds(Rule::RestCollection)
    }
}

impl<P: Probe> Ssd<P> {
    /// Is a set quiet? It is asked to be.
    pub(crate) fn is_ready_for_read(&mut self, now: Time, set: SetId) -> ControlReply {
        if self.block_mapped.is_some() {
            return ControlReply::Unsupported;
        }
        if !self.set(set).quiet.is_on() {
            self.rest_from_now(now, set);
        }
        ControlReply::Answer(self.has_come_to_rest(now, set))
    }

    /// From now on nothing starts in a set that can be put off.
    pub(crate) fn rest_from_now(&mut self, now: Time, set: SetId) {
        self.steer();
        self.end_run(now, set);
        let quiet = &mut self.set_mut(set).quiet;
        (quiet.collection, quiet.programs, quiet.at_rest) = (true, true, 0);
        self.is_any_quiet = true;
        // No window wakes a plane from now on. One that has stopped and come below the low threshold since
        // goes on now or not at all.
        self.stop_window_timer(set);
        self.window_opens(now, set);
    }

    /// A write or a flush has come: it ends a quiet period of its set.
    #[inline]
    pub(crate) fn write_begins(&mut self, now: Time, set: SetId) {
        self.set_mut(set).writes += 1;
        if self.is_quiet(set) {
            self.end_rest_for_write(now, set);
        }
    }

    /// True while a quiet period of a set lasts, or is about to begin.
    #[inline]
    pub(crate) fn is_quiet(&self, set: SetId) -> bool {
        self.is_any_quiet && self.set(set).quiet.is_on()
    }

    #[cold]
    fn end_rest_for_write(&mut self, now: Time, set: SetId) {
        if !self.set(set).quiet.is_deterministic {
            return self.end_rest(now, set);
        }
        self.set_mut(set).quiet.programs = false;
        self.count_quiet();
        self.begin_programs(now, set);
    }

    /// Ends a quiet period or a deterministic window of a set, if there is one: what has been put off goes on.
    pub(crate) fn end_rest(&mut self, now: Time, set: SetId) {
        if !self.set(set).quiet.collection {
            return;
        }
        self.end_quiet(set);
        self.window_opens(now, set);
        self.begin_programs(now, set);
    }

    fn end_quiet(&mut self, set: SetId) {
        let quiet = &mut self.set_mut(set).quiet;
        (quiet.collection, quiet.programs, quiet.is_deterministic) = (false, false, false);
        self.count_quiet();
    }

    fn count_quiet(&mut self) {
        self.is_any_quiet = self.states.iter().any(|set| set.quiet.is_on());
    }

    /// Programs that have been put off begin.
    fn begin_programs(&mut self, now: Time, set: SetId) {
        self.wake_all_units(set);
        self.write_back(now, set);
    }

    fn wake_all_units(&mut self, set: SetId) {
        for unit in self.sets.units(set) {
            self.woken.push(unit);
        }
    }

    /// A plane of a set has fallen below the low threshold: a deterministic window ends by itself.
    pub(crate) fn window_exceeded(&mut self, now: Time, set: SetId) {
        if self.set(set).quiet.is_deterministic {
            self.end_quiet(set);
            self.note_exceeded(set);
            self.wake_all_units(set);
            self.collect_soon(now, set);
        }
    }

    /// True while programs of a set's buffered data rest: nobody waits for any.
    #[inline]
    pub(crate) fn rests_programs(&self, set: SetId) -> bool {
        self.is_quiet(set) && self.nobody_waits(set)
    }

    fn nobody_waits(&self, set: SetId) -> bool {
        let state = self.set(set);
        state.writes == 0 && state.quiet.followers == 0
    }

    /// True when a program has to wait for the end of a quiet period.
    #[inline]
    pub(crate) fn is_put_off(&self, id: RequestId) -> bool {
        self.is_any_quiet && self.rests(id)
    }

    #[cold]
    fn rests(&self, id: RequestId) -> bool {
        let set = self.sets.of_unit(self.requests[id].unit);
        self.is_quiet(set)
            && self.requests[id].role == Role::Program
            && self.nobody_waits(set)
            && !self.is_void(id)
            && holds(Rule::RestPrograms)
    }

    /// True when nothing waits at a unit but programs that rest.
    pub(crate) fn has_only_resting_work(&self, unit: LunId) -> bool {
        let rests = |place| {
            let first = self.units.first(unit, Lane::USER_WRITE, place);
            first == RequestId::NONE || self.is_put_off(first)
        };
        self.is_quiet(self.sets.of_unit(unit))
            && self.units[unit].lanes_with_work(!Lane::USER_WRITE.mask()).next().is_none()
            && (0..self.places).all(rests)
    }

    /// True when nothing is under way any more in a set that has to end before its quiet period begins. Units that have
    /// been found at rest stay so and are not looked at again: all calls of a period together cost one look
    /// at each.
    pub(crate) fn has_come_to_rest(&mut self, now: Time, set: SetId) -> bool {
        if !holds(Rule::AwaitRest) {
            return true;
        }
        if !self.rests_programs(set) || self.set(set).quiet.merges > 0 {
            return false;
        }
        while self.set(set).quiet.at_rest < self.sets.units_each() {
            let unit = self.sets.unit(set, self.set(set).quiet.at_rest);
            if !self.is_at_rest_from_all(now, unit) {
                self.nudge(now, unit);
                // That may have been all that was missing: then no event follows.
                if !self.rests_programs(set) || !self.is_at_rest_from_all(now, unit) {
                    return false;
                }
            }
            self.set_mut(set).quiet.at_rest += 1;
        }
        true
    }

    /// A trim, or a program of another unit, may have made a copy pointless that had no page to go to: nobody has
    /// told its unit.
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

    /// True when no collection is under way at a unit, nor about to go on.
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

    /// True when a plane has a job that goes on in a quiet period.
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
