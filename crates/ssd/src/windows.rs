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

use crate::planted::{Rule, holds};
use crate::probe::Probe;
use crate::ssd::Ssd;
use tailcut_base::control::{ControlReply, Windows};
use tailcut_base::{Nanos, Time};

/// The windows of a drive, and the planes that wait for the next one.
#[derive(Debug, Default)]
pub(crate) struct WindowSchedule {
    windows: Option<Windows>,
    /// Planes with work that was put off, each once.
    waiting: Vec<u32>,
    /// For each plane whether it stands in `waiting`.
    is_waiting: Vec<bool>,
}

impl WindowSchedule {
    /// True when the drive has windows.
    #[inline]
    pub(crate) fn are_set(&self) -> bool {
        self.windows.is_some()
    }

    /// True once the host has said anything of when the drive collects.
    #[inline]
    pub(crate) fn is_steered(&self) -> bool {
        !self.is_waiting.is_empty()
    }

    /// True when collection may start: within a window, and always where there are none.
    pub(crate) fn lets_start(&self, now: Time) -> bool {
        self.windows.is_none_or(|windows| windows.is_open(now))
    }

    /// Enters a plane into the line; true when it is the first there.
    fn wait(&mut self, plane: u32) -> bool {
        if !std::mem::replace(&mut self.is_waiting[plane as usize], true) {
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

    /// Gives the drive windows. Refused where they are none, and where collection has no time of its own
    /// that could be put off.
    pub(crate) fn set_windows(&mut self, now: Time, windows: Windows) -> ControlReply {
        if self.block_mapped.is_some() || self.config.gc.ideal {
            return ControlReply::Unsupported;
        }
        let horizon = self.horizon();
        if !windows.are_valid() || windows.from >= horizon || windows.period.0 >= horizon.0 {
            return ControlReply::Invalid;
        }
        self.steer();
        self.windows.windows = Some(windows);
        self.aim(now);
        self.end_rest(now);
        self.look_at_all_planes(now);
        ControlReply::Done
    }

    /// Takes the windows away: what waits for one goes on.
    pub(crate) fn clear_windows(&mut self, now: Time) -> ControlReply {
        if self.windows.are_set() {
            self.windows.windows = None;
            self.aim(now);
            self.end_rest(now);
            self.look_at_all_planes(now);
        }
        ControlReply::Done
    }

    /// The host has begun to say when the drive collects: from now on planes may have to wait.
    pub(crate) fn steer(&mut self) {
        if !self.windows.is_steered() {
            self.windows.is_waiting = vec![false; self.geometry.plane_count() as usize];
            self.timers = self.timers.with_one_more();
        }
    }

    /// Up to what planes collect has changed.
    pub(crate) fn aim(&mut self, now: Time) {
        self.collection.collect_ahead(self.windows.are_set() || self.run.is_on(now));
    }

    /// What planes may do has changed: every one of them finds out anew whether it has to wait.
    pub(crate) fn look_at_all_planes(&mut self, now: Time) {
        self.stop_window_timer();
        self.enter_all_planes();
        self.window_opens(now);
    }

    /// No plane is looked at until one waits.
    pub(crate) fn stop_window_timer(&mut self) {
        self.timers.clear(self.window_timer());
    }

    fn enter_all_planes(&mut self) {
        self.windows.waiting.clear();
        self.windows.waiting.extend(0..self.geometry.plane_count());
        self.windows.is_waiting.fill(true);
    }

    /// As [`Ssd::look_at_all_planes`], but in an event of its own, because the present one is in the midst
    /// of a plane.
    pub(crate) fn look_at_all_planes_soon(&mut self, now: Time) {
        self.enter_all_planes();
        let slot = self.window_timer();
        self.timers.set(slot, now + Nanos(1));
    }

    /// A window begins: planes that have waited for it go on, all of them before any chip starts, so
    /// that they can share transactions.
    #[cold]
    pub(crate) fn window_opens(&mut self, now: Time) {
        let mut waiting = std::mem::take(&mut self.windows.waiting);
        for plane in waiting.drain(..) {
            self.windows.is_waiting[plane as usize] = false;
            self.go_on_collecting(now, plane);
        }
        if self.windows.waiting.is_empty() {
            self.windows.waiting = waiting;
        }
        self.wake(now);
    }

    /// True when the collection of a plane, running or yet to start, must wait: for the next window, for the
    /// end of a quiet period, or until the host asks for it again. Jobs that cannot are counted.
    #[inline]
    pub(crate) fn must_wait(&mut self, now: Time, plane: u32) -> bool {
        self.windows.is_steered() && self.waits(now, plane)
    }

    #[cold]
    fn waits(&mut self, now: Time, plane: u32) -> bool {
        let stays_hosted = self.collection.is_hosted(plane)
            && !self.run.is_on(now)
            && !self.windows.are_set()
            && holds(Rule::EndRun);
        if self.collection_is_free(now) && !stays_hosted
            || self.collection.cannot_stop(plane, self.config.gc.preemptible)
        {
            return false;
        }
        if self.is_below_low(plane) || !holds(Rule::CollectInWindows) {
            self.force_collection(plane);
            return false;
        }
        self.wait(now, plane);
        true
    }

    /// True when collection that can be put off may start now. A quiet period goes before windows, and so
    /// does what the host asks for.
    pub(crate) fn collection_is_free(&self, now: Time) -> bool {
        !self.quiet.rests_collection() && (self.run.is_on(now) || self.windows.lets_start(now))
    }

    /// True when a plane collects in any case.
    pub(crate) fn is_below_low(&self, plane: u32) -> bool {
        self.ftl.free_blocks(plane) < self.collection.thresholds().low.max(self.config.gc_reserve() + 1)
    }

    /// Has a plane looked at again when the next window begins, or a quiet period ends.
    fn wait(&mut self, now: Time, plane: u32) {
        let is_first = self.windows.wait(plane);
        let Some(windows) = self.windows.windows.filter(|_| !self.quiet.rests_collection()) else { return };
        let next = windows.next_after(now);
        if is_first && next < self.horizon() {
            let slot = self.window_timer();
            self.timers.set(slot, next);
        }
    }

    /// A plane may go on with the job that it has stopped, or start the next one.
    pub(crate) fn go_on_collecting(&mut self, now: Time, plane: u32) {
        self.end_run_in_time(now);
        if self.collection.is_busy(plane) {
            if self.is_erase_deferred(plane) && self.windows.are_set() {
                // Windows say now when it goes on.
                let job = self.job(plane);
                (job.deferred, job.paused) = (false, true);
            }
            return self.resume_collection(now, plane);
        }
        let is_wanted = self.collection.is_wanted(plane, self.ftl.free_blocks(plane));
        if is_wanted && !self.must_wait(now, plane) {
            self.start_collection(now, plane, false);
        }
    }

    /// Goes on with a job that has stopped, if it may.
    pub(crate) fn resume_collection(&mut self, now: Time, plane: u32) {
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
    fn force_collection(&mut self, plane: u32) {
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
