//! Collection as the host steers it: what [`crate::mapping::steering`] has decided is carried out here.
//!
//! When the time of a run is over, or a window closes, a collection stops between two page copies, or before
//! its erase. What has been handed to a chip by then is carried to its end: of each plane `gc.copies` copies,
//! or an erase; and so is a collection that is not preemptible (`gc.preemptible`). What has stopped goes on
//! in the next run or window, when its plane falls below the low threshold, or when its chip is idle where
//! drives collect then (`gc.background`).

use crate::flash::PlaneId;
use crate::mapping::steering::Resumed;
use crate::mapping::{Effect, Mapping};
use crate::mutation::{Invariant, holds};
use crate::sets::SetId;
use crate::timers::Timer;
use tailcut_base::Time;

impl Mapping {
    /// The host has begun to control when the drive collects: from now on planes may have to wait.
    pub(crate) fn steer(&mut self) {
        if self.steering.begin(self.geometry.plane_count()) {
            self.effects.push_back(Effect::AddWindowTimer);
        }
    }

    /// Up to what planes of a set collect has changed.
    pub(crate) fn aim(&mut self, now: Time, set: SetId) {
        self.collection.collect_ahead(set, self.steering.collects_ahead(now, set));
    }

    // Runs

    /// Begins a run, which ends a quiet period.
    pub(crate) fn collect_until(&mut self, now: Time, set: SetId, until: Time) {
        self.steer();
        self.steering.begin_run(set, until);
        self.begin_anew(now, set);
    }

    /// Ends the run of the host in a set, if there is one.
    pub(crate) fn end_run(&mut self, now: Time, set: SetId) {
        self.steering.end_run(set);
        self.aim(now, set);
    }

    /// Ends the run of the host in a set if its time is over.
    fn end_run_in_time(&mut self, now: Time, set: SetId) {
        if self.steering.run_is_over(now, set) {
            self.end_run(now, set);
        }
    }

    // Quiet periods

    /// From now on nothing starts in a set that can be put off.
    pub(crate) fn begin_quiet(&mut self, now: Time, set: SetId) {
        self.steer();
        self.steering.begin_quiet(set);
        self.aim(now, set);
        // No window wakes a plane from now on. One that has stopped and come below the low threshold since
        // resumes now or not at all.
        self.look_at(set, None);
        self.window_opens(now, set);
    }

    /// A write or a flush has come: it ends a quiet period of its set.
    #[inline]
    pub(crate) fn write_begins(&mut self, now: Time, set: SetId) {
        let resumed = self.steering.write_begins(set);
        if resumed != Resumed::Nothing {
            self.go_on_after_quiet(now, set, resumed);
        }
    }

    /// Ends a quiet period or a deterministic window of a set, if there is one.
    pub(crate) fn end_quiet(&mut self, now: Time, set: SetId) {
        if self.steering.end_quiet(set) {
            self.go_on_after_quiet(now, set, Resumed::All);
        }
    }

    /// Resumes the work that a quiet period has held.
    #[cold]
    fn go_on_after_quiet(&mut self, now: Time, set: SetId, resumed: Resumed) {
        if resumed == Resumed::All {
            self.window_opens(now, set);
        }
        self.wake_all_luns(set);
        self.effects.push_back(Effect::WriteBack(set));
    }

    fn wake_all_luns(&mut self, set: SetId) {
        for lun in self.sets.luns(set) {
            self.wake(lun);
        }
    }

    /// A plane of a set has fallen below the low threshold: a deterministic window ends by itself. Planes
    /// that are at rest begin in an event of their own, because the present one is in the midst of a plane.
    pub(crate) fn window_exceeded(&mut self, now: Time, set: SetId) {
        if self.steering.exceed(set) {
            self.wake_all_luns(set);
            self.aim(now, set);
            self.steering.wait_all(set, self.sets.planes(set));
            self.steering.look_soon(now, set);
            self.set_window_timer();
        }
    }

    // Windows

    /// When planes of a set may collect has changed.
    pub(crate) fn begin_anew(&mut self, now: Time, set: SetId) {
        self.aim(now, set);
        self.end_quiet(now, set);
        // Every plane finds out anew whether it has to wait.
        self.look_at(set, None);
        self.steering.wait_all(set, self.sets.planes(set));
        self.window_opens(now, set);
    }

    /// The planes of a set that wait are looked at then. One timer serves all sets.
    fn look_at(&mut self, set: SetId, at: Option<Time>) {
        self.steering.look_at(set, at);
        self.set_window_timer();
    }

    fn set_window_timer(&mut self) {
        self.effects.push_back(Effect::SetTimer(Timer::Windows, self.steering.next_look()));
    }

    /// The timer of the windows has expired.
    #[cold]
    pub(crate) fn window_timer_expires(&mut self, now: Time) {
        for set in self.sets.ids() {
            if !self.steering.is_due(now, set) {
                continue;
            }
            self.look_at(set, None);
            self.window_opens(now, set);
            if self.steering.runs(now, set) {
                // A deterministic window may just have ended by itself, and with it the rest of programs.
                self.effects.push_back(Effect::WriteBack(set));
            }
        }
    }

    /// A window of a set begins: planes that have waited for it go on, all of them before any chip starts,
    /// so that they can share transactions.
    #[cold]
    pub(crate) fn window_opens(&mut self, now: Time, set: SetId) {
        for plane in self.steering.take_waiting(set) {
            self.steering.goes_on(set, plane);
            self.go_on_collecting(now, plane);
        }
        self.start_luns();
    }

    // Planes

    /// True when the collection of a plane, running or yet to start, must wait: for the next window, for the
    /// end of a quiet period, or until the host asks for it again. Jobs that cannot are counted.
    #[inline]
    pub(crate) fn must_wait(&mut self, now: Time, plane: PlaneId) -> bool {
        self.steering.is_on() && self.waits(now, plane)
    }

    #[cold]
    fn waits(&mut self, now: Time, plane: PlaneId) -> bool {
        let set = self.sets.of_plane(plane);
        let stays_hosted = self.collection.is_hosted(plane)
            && !self.steering.collects_ahead(now, set)
            && holds(Invariant::EndRun);
        if self.steering.lets_collect(now, set) && !stays_hosted
            || self.collection.cannot_stop(plane, self.config.gc.preemptible)
        {
            return false;
        }
        if self.is_below_low(plane) || !holds(Invariant::CollectInWindows) {
            self.force_collection(plane);
            return false;
        }
        if self.steering.wait(now, set, plane, self.horizon) {
            self.set_window_timer();
        }
        true
    }

    /// True when a plane has a job that continues in a quiet period.
    pub(crate) fn must_collect(&self, plane: PlaneId) -> bool {
        self.collection.is_at_work(plane)
            || self.collection.cannot_stop(plane, self.config.gc.preemptible)
            || self.collection.is_busy(plane) && !self.collection.is_paused(plane) && self.is_below_low(plane)
    }

    /// True when a plane collects in any case.
    pub(crate) fn is_below_low(&self, plane: PlaneId) -> bool {
        let low = self.collection.thresholds(self.sets.of_plane(plane)).low;
        self.ftl.free_blocks(plane) < low.max(self.config.gc_reserve() + 1)
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

    /// Its chip is idle: resumes a collection that has stopped with a run. False when there is none.
    pub(crate) fn goes_on_in_background(&mut self, now: Time, plane: PlaneId) -> bool {
        let set = self.sets.of_plane(plane);
        let stopped = self.collection.is_hosted(plane)
            && self.collection.is_paused(plane)
            && !self.steering.has_windows(set)
            && self.steering.lets_collect(now, set);
        if stopped {
            self.job(plane).is_hosted = false;
            self.resume_collection(now, plane);
        }
        stopped
    }

    /// A plane may go on with the job that it has stopped, or start the next one.
    pub(crate) fn go_on_collecting(&mut self, now: Time, plane: PlaneId) {
        let set = self.sets.of_plane(plane);
        self.end_run_in_time(now, set);
        if self.collection.is_busy(plane) {
            if self.is_erase_deferred(plane) && self.steering.has_windows(set) {
                // Windows determine now when it resumes.
                let job = self.job(plane);
                (job.deferred, job.paused) = (false, true);
            }
            return self.resume_collection(now, plane);
        }
        let is_wanted = self.collection.is_wanted(set, plane, self.ftl.free_blocks(plane));
        if is_wanted && !self.must_wait(now, plane) {
            self.start_collection(now, plane);
        }
    }

    /// Goes on with a job that has stopped, if it may.
    pub(crate) fn resume_collection(&mut self, now: Time, plane: PlaneId) {
        if !self.collection.is_paused(plane) || self.must_wait(now, plane) {
            return;
        }
        let copies = self.collection.copies();
        let job = self.job(plane);
        job.paused = false;
        let idle = copies - job.moving;
        for _ in 0..idle {
            self.next_copy(now, plane);
        }
        self.finish_if_empty(now, plane);
    }

    /// The job of a plane cannot wait for a window; one that is about to start counts itself.
    fn force_collection(&mut self, plane: PlaneId) {
        if self.collection.is_busy(plane) {
            self.job(plane).forced = true;
            self.count_forced();
        }
    }

    /// Counts a collection that could not wait.
    pub(crate) fn count_forced(&mut self) {
        self.counters.forced_collections += u64::from(holds(Invariant::CountForced));
    }
}
