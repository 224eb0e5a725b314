//! Windows of collection (IODA's PL_Win; SOSP 2021): a drive that has been given windows does its own
//! work within them, so that the host knows when reads may have to wait, and elsewhere only what cannot
//! be put off.
//!
//! Within a window every plane collects ahead, up to the high threshold. When the window closes, a
//! collection stops between two page copies, or before its erase, and resumes in the next one. Work already
//! issued to a chip is completed, and so is a collection that is not preemptible (`gc.preemptible`).
//! Outside of windows a plane collects only below the low threshold, as a drive without windows does: that
//! is *forced*, and counted, and such a job continues until its block is erased. So a drive that is written
//! more than its windows can make room for is as fast as one that has none, and the windows have to keep
//! the room between the thresholds.

use crate::flash::PlaneId;
use tailcut_base::Time;
use tailcut_base::control::Windows;
use tailcut_base::ids::IdVec;

/// The windows of a set, and the planes that wait for the next one.
#[derive(Debug, Default)]
pub(super) struct WindowSchedule {
    windows: Option<Windows>,
    /// Planes with work that was put off, each once.
    waiting: Vec<PlaneId>,
    /// For each plane of the drive whether it waits; empty until the host controls when to collect.
    is_waiting: IdVec<PlaneId, bool>,
    /// When those that wait are looked at.
    due: Option<Time>,
}

impl WindowSchedule {
    /// Sizes the state for a drive of `planes` planes, any of which may have to wait from now on.
    pub(super) fn set_planes(&mut self, planes: u32) {
        self.is_waiting = IdVec::filled(planes as usize, false);
    }

    pub(super) fn set(&mut self, windows: Option<Windows>) {
        self.windows = windows;
    }

    #[inline]
    pub(super) fn are_set(&self) -> bool {
        self.windows.is_some()
    }

    /// True when collection may start: within a window, and always where there are none.
    pub(super) fn let_start(&self, now: Time) -> bool {
        self.windows.is_none_or(|windows| windows.is_open(now))
    }

    /// Enters a plane into the line. The first one has the line looked at when the next window begins, if
    /// that is before `horizon` and collection does not rest in any case. True if it has.
    pub(super) fn wait(&mut self, now: Time, plane: PlaneId, rests: bool, horizon: Time) -> bool {
        if !std::mem::replace(&mut self.is_waiting[plane], true) {
            self.waiting.push(plane);
        }
        let is_first = self.waiting.len() == 1;
        let next = self.windows.filter(|_| is_first && !rests).map(|windows| windows.next_after(now));
        let is_looked_at = next.is_some_and(|next| next < horizon);
        if is_looked_at {
            self.due = next;
        }
        is_looked_at
    }

    pub(super) fn wait_all(&mut self, planes: impl Iterator<Item = PlaneId> + Clone) {
        self.waiting.clear();
        self.waiting.extend(planes.clone());
        planes.for_each(|plane| self.is_waiting[plane] = true);
    }

    pub(super) fn take_waiting(&mut self) -> Vec<PlaneId> {
        std::mem::take(&mut self.waiting)
    }

    pub(super) fn goes_on(&mut self, plane: PlaneId) {
        self.is_waiting[plane] = false;
    }

    pub(super) fn look_at(&mut self, at: Option<Time>) {
        self.due = at;
    }

    pub(super) fn due(&self) -> Option<Time> {
        self.due
    }

    /// Every plane in the line is known to wait.
    pub(super) fn check(&self) {
        assert!(self.waiting.iter().all(|&plane| self.is_waiting[plane]), "a plane in the line waits");
    }
}
