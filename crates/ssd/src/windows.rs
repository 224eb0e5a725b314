//! Windows of collection (IODA's PL_Win; SOSP 2021): a drive that has been given windows does its own
//! work within them, so that the host knows when reads may have to wait, and elsewhere only what cannot
//! be put off.
//!
//! Within a window every plane collects ahead, up to the high threshold. When the window closes, a
//! collection stops between two page copies, or before its erase, and goes on in the next one. What has
//! been handed to a chip by then is carried to its end, and so is a collection that is not preemptible
//! (`gc.preemptible`). Outside of windows a plane collects only below the low threshold, as a drive
//! without windows does: that is *forced*, and counted, and such a job goes on until its block is erased. So
//! a drive that is written more than its windows can make room for is as fast as one that has none, and what
//! lies between the thresholds is the room that windows have to keep.

use crate::flash::PlaneId;
use crate::planted::{Rule, holds};
use crate::probe::Probe;
use crate::sets::SetId;
use crate::ssd::Ssd;
use tailcut_base::control::{ControlReply, Windows};
use tailcut_base::ids::IdVec;
use tailcut_base::{Nanos, Time};

/// The windows of a set, and the planes that wait for the next one.
#[derive(Debug, Default)]
pub(crate) struct WindowSchedule {
    windows: Option<Windows>,
    /// Planes with work that was put off, each once.
    waiting: Vec<PlaneId>,
    /// For each plane of the drive whether it stands in `waiting`; empty until the host says when to collect.
    is_waiting: IdVec<PlaneId, bool>,
    /// When those that wait are looked at.
    due: Option<Time>,
}

impl WindowSchedule {
    /// True when the set has windows.
    #[inline]
    pub(crate) fn are_set(&self) -> bool {
        self.windows.is_some()
    }

    /// True when collection may start: within a window, and always where there are none.
    pub(crate) fn lets_start(&self, now: Time) -> bool {
        self.windows.is_none_or(|windows| windows.is_open(now))
    }

    /// Enters a plane into the line; true when it is the first there.
    fn wait(&mut self, plane: PlaneId) -> bool {
        if !std::mem::replace(&mut self.is_waiting[plane], true) {
            self.waiting.push(plane);
        }
        self.waiting.len() == 1
    }
}

impl<P: Probe> Ssd<P> {
    /// The slot behind all others is the one of the windows: drives without windows have none.
    fn window_timer(&self) -> usize {
        self.timers.slots() - 1
    }

    /// Gives a set windows. Refused where they are none, and where collection has no time of its own
    /// that could be put off.
    pub(crate) fn set_windows(&mut self, now: Time, set: SetId, windows: Windows) -> ControlReply {
        if self.block_mapped.is_some() || self.config.gc.ideal {
            return ControlReply::Unsupported;
        }
        let horizon = self.horizon();
        if !windows.are_valid() || windows.from >= horizon || windows.period.0 >= horizon.0 {
            return ControlReply::Invalid;
        }
        self.steer();
        self.set_mut(set).windows.windows = Some(windows);
        self.begin_anew(now, set);
        ControlReply::Done
    }

    /// Takes the windows away: what waits for one goes on.
    pub(crate) fn clear_windows(&mut self, now: Time, set: SetId) -> ControlReply {
        if self.set(set).windows.are_set() {
            self.set_mut(set).windows.windows = None;
            self.begin_anew(now, set);
        }
        ControlReply::Done
    }

    /// When planes of a set may collect has changed.
    pub(crate) fn begin_anew(&mut self, now: Time, set: SetId) {
        self.aim(now, set);
        self.end_rest(now, set);
        self.look_at_all_planes(now, set);
    }

    /// The host has begun to say when the drive collects: from now on planes may have to wait.
    pub(crate) fn steer(&mut self) {
        if !self.is_steered {
            self.is_steered = true;
            let planes = self.geometry.plane_count() as usize;
            for set in &mut self.states {
                set.windows.is_waiting = IdVec::filled(planes, false);
            }
            self.timers = self.timers.with_one_more();
        }
    }

    /// Up to what planes of a set collect has changed.
    pub(crate) fn aim(&mut self, now: Time, set: SetId) {
        let state = self.set(set);
        let ahead = state.windows.are_set() || state.run.is_on(now);
        self.collection.collect_ahead(set, ahead);
    }

    /// What planes of a set may do has changed: every one of them finds out anew whether it has to wait.
    pub(crate) fn look_at_all_planes(&mut self, now: Time, set: SetId) {
        self.stop_window_timer(set);
        self.enter_all_planes(set);
        self.window_opens(now, set);
    }

    /// No plane of a set is looked at until one waits.
    pub(crate) fn stop_window_timer(&mut self, set: SetId) {
        self.look_at(set, None);
    }

    /// The planes of a set that wait are looked at then. One timer serves all sets.
    fn look_at(&mut self, set: SetId, at: Option<Time>) {
        self.set_mut(set).windows.due = at;
        let first = self.states.iter().filter_map(|set| set.windows.due).min();
        self.timers.set_or_clear(self.window_timer(), first.unwrap_or(Time::NEVER));
    }

    /// The timer of the windows has expired.
    #[cold]
    pub(crate) fn window_timer_expires(&mut self, now: Time) {
        for set in self.sets.ids() {
            if self.set(set).windows.due.is_none_or(|due| due > now) {
                continue;
            }
            self.stop_window_timer(set);
            self.window_opens(now, set);
            if self.set(set).run.is_on(now) {
                // A deterministic window may just have ended by itself, and with it the rest of programs.
                self.write_back(now, set);
            }
        }
    }

    fn enter_all_planes(&mut self, set: SetId) {
        let planes = self.sets.planes(set);
        let windows = &mut self.set_mut(set).windows;
        windows.waiting.clear();
        windows.waiting.extend(planes.clone());
        planes.for_each(|plane| windows.is_waiting[plane] = true);
    }

    /// As [`Ssd::look_at_all_planes`], but in an event of its own, because the present one is in the midst
    /// of a plane.
    pub(crate) fn look_at_all_planes_soon(&mut self, now: Time, set: SetId) {
        self.enter_all_planes(set);
        self.look_at(set, Some(now + Nanos(1)));
    }

    /// A window of a set begins: planes that have waited for it go on, all of them before any chip starts,
    /// so that they can share transactions.
    #[cold]
    pub(crate) fn window_opens(&mut self, now: Time, set: SetId) {
        let mut waiting = std::mem::take(&mut self.set_mut(set).windows.waiting);
        for plane in waiting.drain(..) {
            self.set_mut(set).windows.is_waiting[plane] = false;
            self.go_on_collecting(now, plane);
        }
        let windows = &mut self.set_mut(set).windows;
        if windows.waiting.is_empty() {
            windows.waiting = waiting;
        }
        self.wake(now);
    }

    /// True when the collection of a plane, running or yet to start, must wait: for the next window, for the
    /// end of a quiet period, or until the host asks for it again. Jobs that cannot are counted.
    #[inline]
    pub(crate) fn must_wait(&mut self, now: Time, plane: PlaneId) -> bool {
        self.is_steered && self.waits(now, plane)
    }

    #[cold]
    fn waits(&mut self, now: Time, plane: PlaneId) -> bool {
        let set = self.sets.of_plane(plane);
        let state = self.set(set);
        let stays_hosted = self.collection.is_hosted(plane)
            && !state.run.is_on(now)
            && !state.windows.are_set()
            && holds(Rule::EndRun);
        if self.collection_is_free(now, set) && !stays_hosted
            || self.collection.cannot_stop(plane, self.config.gc.preemptible)
        {
            return false;
        }
        if self.is_below_low(plane) || !holds(Rule::CollectInWindows) {
            self.force_collection(plane);
            return false;
        }
        self.wait(now, set, plane);
        true
    }

    /// True when collection in a set that can be put off may start now. A quiet period goes before windows,
    /// and so does what the host asks for.
    pub(crate) fn collection_is_free(&self, now: Time, set: SetId) -> bool {
        let state = self.set(set);
        !state.quiet.rests_collection() && (state.run.is_on(now) || state.windows.lets_start(now))
    }

    /// True when a plane collects in any case.
    pub(crate) fn is_below_low(&self, plane: PlaneId) -> bool {
        let low = self.collection.thresholds(self.sets.of_plane(plane)).low;
        self.ftl.free_blocks(plane) < low.max(self.config.gc_reserve() + 1)
    }

    /// Has a plane looked at again when the next window begins, or a quiet period ends.
    fn wait(&mut self, now: Time, set: SetId, plane: PlaneId) {
        let state = self.set_mut(set);
        let is_first = state.windows.wait(plane);
        let Some(windows) = state.windows.windows.filter(|_| !state.quiet.rests_collection()) else { return };
        let next = windows.next_after(now);
        if is_first && next < self.horizon() {
            self.look_at(set, Some(next));
        }
    }

    /// A plane may go on with the job that it has stopped, or start the next one.
    pub(crate) fn go_on_collecting(&mut self, now: Time, plane: PlaneId) {
        let set = self.sets.of_plane(plane);
        self.end_run_in_time(now, set);
        if self.collection.is_busy(plane) {
            if self.is_erase_deferred(plane) && self.set(set).windows.are_set() {
                // Windows say now when it goes on.
                let job = self.job(plane);
                (job.deferred, job.paused) = (false, true);
            }
            return self.resume_collection(now, plane);
        }
        let is_wanted = self.collection.is_wanted(set, plane, self.ftl.free_blocks(plane));
        if is_wanted && !self.must_wait(now, plane) {
            self.start_collection(now, plane, false);
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
        self.counters.forced_collections += u64::from(holds(Rule::CountForced));
    }
}
