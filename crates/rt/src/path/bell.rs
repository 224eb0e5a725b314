//! How one thread sleeps until another has something for it.
//!
//! The sleeper *arms*, then looks, then sleeps; who has something *posts* it, then rings. Both write one word, and one
//! of them is second: if it is the ringer, it finds the word armed and wakes the sleeper; if it is the sleeper, its look
//! sees what was posted before the ring. So no wake-up is lost, and who rings for a thread that is awake asks nothing
//! of the operating system. Looking before arming would lose one: `tests/model` shows it.

use super::sync::{Futex, Rule, holds};
use std::time::Instant;

const QUIET: u32 = 0;
const ARMED: u32 = 1;

/// A bell for one sleeper and any number of ringers. On cache lines of its own (a pair, as processors fetch them),
/// because ringers are often on other cores.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct Bell {
    word: Futex,
}

impl Bell {
    /// Sleeps until `look` says that there is something; what it looks at is posted before the bell is rung.
    pub fn wait_for(&self, mut look: impl FnMut() -> bool) {
        if look() {
            return;
        }
        while !self.arm_and(&mut look) {
            self.word.wait(ARMED);
        }
    }

    /// Looks, and sleeps once if there is nothing, until the bell rings or `until` has come.
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

    /// Arms and looks. True, and disarmed again, if there is something.
    #[inline]
    fn arm_and(&self, look: &mut impl FnMut() -> bool) -> bool {
        let found = if holds(Rule::ArmsBeforeItLooks) {
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

    /// Wakes the sleeper, if there is one, and says whether there was.
    #[inline]
    pub fn ring(&self) -> bool {
        let was_armed = self.word.swap(QUIET) == ARMED;
        if was_armed {
            self.word.wake();
        }
        was_armed
    }
}
