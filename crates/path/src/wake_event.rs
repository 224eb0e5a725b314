//! An event on which one thread sleeps until another posts work.
//!
//! The sleeper *arms* the event, polls for work, then sleeps; a waker *posts* work, then wakes. Both write
//! one word, and one of them is second: if it is the waker, it finds the word armed and wakes the sleeper; if
//! it is the sleeper, its poll sees the work posted before. So no wake-up is lost, and waking a thread that
//! is awake makes no system call. Polling before arming would lose a wake-up: `tests/model` shows it.

use super::sync::{Futex, Invariant, holds};
use std::time::Instant;

const QUIET: u32 = 0;
const ARMED: u32 = 1;

/// An event for one sleeper and any number of wakers, a futex. It has a pair of cache lines to itself,
/// because wakers are often on other cores.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct WakeEvent {
    word: Futex,
}

impl WakeEvent {
    /// Sleeps until `look` returns true; the work that it polls for is posted before the event is woken.
    pub fn wait_for(&self, mut look: impl FnMut() -> bool) {
        if look() {
            return;
        }
        while !self.arm_and(&mut look) {
            self.word.wait(ARMED);
        }
    }

    /// Polls, and sleeps once if there is no work, until the event is woken or at `until`.
    pub fn wait_once(&self, until: Option<Instant>, mut look: impl FnMut() -> bool) {
        if self.arm_and(&mut look) {
            return;
        }
        match until {
            Some(until) => self.word.wait_until(ARMED, until),
            None => self.word.wait(ARMED),
        }
        self.word.swap(QUIET);
    }

    /// Arms the event and polls. Returns true, with the event disarmed again, if there is work.
    #[inline]
    fn arm_and(&self, look: &mut impl FnMut() -> bool) -> bool {
        let found = if holds(Invariant::ArmsBeforeItLooks) {
            self.word.swap(ARMED);
            look()
        } else {
            let found = look();
            self.word.swap(ARMED);
            found
        };
        if found {
            self.word.swap(QUIET);
        }
        found
    }

    /// Wakes the sleeper; returns false if none was armed.
    #[inline]
    pub fn wake(&self) -> bool {
        let was_armed = self.word.swap(QUIET) == ARMED;
        if was_armed {
            self.word.wake();
        }
        was_armed
    }
}
