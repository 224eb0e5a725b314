//! The debt of a thread to its competitors.
//!
//! A fair scheduler lets a thread that has slept go first, and takes back later what it was ahead by: how
//! long others have waited for it shows in its own latency only when it is behind them, up to a period later.
//! So a debt is kept: it grows while the thread runs and competitors stand in its queue, by the time that
//! they will need to catch up, and shrinks while competitors have its core. It is never less than nothing,
//! because a thread that sleeps for long is not owed more for it (`place_entity` in Linux's
//! `kernel/sched_fair.c`). A host can keep it as well: Linux's `schedstats` have the parts.

use super::Machine;
use crate::cpu::costs;
use crate::cpu::runqueue::ThreadId;
use tailcut_base::{Nanos, Time};

/// By how much a thread that has slept is ahead of others at most (see [`Machine::wake`]).
pub(super) const HEAD_START: Nanos = Nanos(costs::SCHED_LATENCY.0 / 2);

#[derive(Clone, Copy, Debug)]
pub(super) struct Debt {
    owed: Nanos,
    /// What competitors had had of the thread's core when this was last paid off.
    paid: Nanos,
}

impl Debt {
    /// Of a new thread: what it will be ahead by when it has slept, it is not yet.
    pub(super) const NEW: Debt = Debt { owed: HEAD_START, paid: Nanos::ZERO };

    /// The thread has run for so long while competitors of this total weight were ready. Rounded down.
    #[inline]
    pub(super) fn grow(&mut self, elapsed: Nanos, competing: u64, weight: u64) {
        if competing > 0 {
            self.owed += Nanos((u128::from(elapsed.0) * u128::from(competing) / u128::from(weight)) as u64);
        }
    }

    /// Competitors have had the thread's core for `competed` by now.
    #[inline]
    pub(super) fn repay(&mut self, competed: Nanos) {
        *self = Debt { owed: self.left(competed), paid: competed };
    }

    /// The thread goes to a core that competitors have had for `competed`.
    #[inline]
    pub(super) fn move_to(&mut self, competed: Nanos) {
        self.paid = competed;
    }

    #[inline]
    fn left(&self, competed: Nanos) -> Nanos {
        self.owed.saturating_sub(competed - self.paid)
    }
}

impl Machine {
    /// Makes a thread one that others compete with, and do not work together with.
    pub fn set_competitor(&mut self, thread: ThreadId) {
        self.threads[thread as usize].competes = true;
        self.has_competitors = true;
    }

    /// The debt of a thread to its competitors: how long they will run before they have caught up with it.
    pub fn owes(&mut self, now: Time, thread: ThreadId) -> Nanos {
        if !self.has_competitors {
            return Nanos::ZERO;
        }
        let cpu = self.threads[thread as usize].cpu;
        self.settle(now, cpu);
        self.threads[thread as usize].debt.left(self.cpus[cpu].competed)
    }
}
