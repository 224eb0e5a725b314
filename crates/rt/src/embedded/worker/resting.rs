//! Idle worker: it sleeps.

use super::{Ending, Worker};
use crate::ctl::Steered;
use crate::serve::poll::poll;
use std::mem::MaybeUninit;
use tailcut_base::{Nanos, Time};

impl<D: Steered> Worker<D> {
    /// Sleeps until there is work.
    pub(super) fn rest(&mut self) {
        if self.next_event() <= self.clock.now() || !self.arm() {
            return;
        }
        let until = self.next_event();
        let patience = (until != Time::NEVER).then(|| Nanos(until.0.saturating_sub(self.clock.now().0)));
        let mut events = [MaybeUninit::uninit(); 2];
        // The next iteration polls all sources.
        poll(&self.epoll, patience, &mut events);
        self.inbox.0.disarm();
    }

    /// Arms the inbox and the drive to wake the thread; false if there is work already. During shutdown, no
    /// messages arrive.
    fn arm(&mut self) -> bool {
        let is_quiet = self.ending != Ending::Not || self.inbox.0.arm();
        is_quiet && self.drive.as_mut().is_none_or(|drive| drive.arm())
    }

    /// When work is due without a wakeup.
    fn next_event(&self) -> Time {
        let of_drive = self.drive.as_ref().map_or(Time::NEVER, |drive| drive.next_event());
        of_drive.min(self.engine.next_event()).min(self.ending.deadline())
    }
}
