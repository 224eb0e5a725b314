//! Collection that the host asks for (`run_gc`; Shin 2017, section 5.3.2): in every plane, until a moment
//! or until the plane has as many free blocks as the high threshold says.
//!
//! When the time is over a collection stops between two page copies, or before its erase. What has been
//! handed to a chip by then is carried to its end: of each plane `gc.copies` copies, or an erase; and so
//! is a collection that is not preemptible (`gc.preemptible`). What has stopped goes on in the next run, when its plane
//! falls below the low threshold, or when its chip is idle where drives collect then
//! (`gc.background`). With windows a run is like one more window. Each NVM set has runs of its own.

use crate::flash::PlaneId;
use crate::planted::{Rule, holds};
use crate::probe::Probe;
use crate::sets::SetId;
use crate::ssd::Ssd;
use tailcut_base::Time;
use tailcut_base::control::ControlReply;

/// Until when a set collects for the host.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Run {
    /// The end; [`Time::ZERO`] where there is none, [`Time::NEVER`] for a run without an end.
    until: Time,
}

impl Run {
    /// True while the set collects for the host.
    #[inline]
    pub(crate) fn is_on(&self, now: Time) -> bool {
        now < self.until
    }

    fn is_over(&self, now: Time) -> bool {
        self.until != Time::ZERO && now >= self.until && holds(Rule::EndRun)
    }
}

impl<P: Probe> Ssd<P> {
    /// Collects in a set until a moment, unless there is nothing to be collected.
    pub(crate) fn run_gc(&mut self, now: Time, set: SetId, until: Time) -> ControlReply {
        if self.block_mapped.is_some() {
            return ControlReply::Unsupported;
        }
        let high = self.collection.thresholds(set).high;
        let planes = self.sets.planes(set);
        if until <= now || planes.clone().all(|plane| self.ftl.free_blocks(plane) >= high) {
            return ControlReply::Done;
        }
        if self.config.gc.ideal {
            for plane in planes {
                self.collect_at_once(now, plane, high);
            }
            self.end_rest(now, set);
        } else {
            self.collect_until(now, set, until);
        }
        ControlReply::Done
    }

    /// Begins a run, which ends a quiet period.
    pub(crate) fn collect_until(&mut self, now: Time, set: SetId, until: Time) {
        self.steer();
        self.set_mut(set).run.until = until;
        self.begin_anew(now, set);
    }

    /// Ends the run of the host in a set, if there is one.
    pub(crate) fn end_run(&mut self, now: Time, set: SetId) {
        self.set_mut(set).run.until = Time::ZERO;
        self.aim(now, set);
    }

    /// Ends the run of the host in a set if its time is over.
    pub(crate) fn end_run_in_time(&mut self, now: Time, set: SetId) {
        if self.set(set).run.is_over(now) {
            self.end_run(now, set);
        }
    }

    /// From now on a set collects without an end; planes that are at rest begin in an event of their own.
    pub(crate) fn collect_soon(&mut self, now: Time, set: SetId) {
        self.set_mut(set).run.until = Time::NEVER;
        self.aim(now, set);
        self.look_at_all_planes_soon(now, set);
    }

    /// True when a plane has too few free blocks even now: the time of a run may be over, and a plane that
    /// falls below the low threshold ends the deterministic window.
    #[cold]
    pub(crate) fn is_still_short(&mut self, now: Time, plane: PlaneId) -> bool {
        let set = self.sets.of_plane(plane);
        self.end_run_in_time(now, set);
        let free = self.ftl.free_blocks(plane);
        if free < self.collection.thresholds(set).low {
            self.window_exceeded(now, set);
        }
        self.collection.is_wanted(set, plane, free)
    }

    /// Its chip is idle: a collection that has stopped with a run goes on. False when there is none.
    pub(crate) fn goes_on_in_background(&mut self, now: Time, plane: PlaneId) -> bool {
        let set = self.sets.of_plane(plane);
        let stopped = self.collection.is_hosted(plane)
            && self.collection.is_paused(plane)
            && !self.set(set).windows.are_set()
            && self.collection_is_free(now, set);
        if stopped {
            self.job(plane).is_hosted = false;
            self.resume_collection(now, plane);
        }
        stopped
    }
}
