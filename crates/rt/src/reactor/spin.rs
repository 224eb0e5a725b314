//! Adaptive busy-polling before sleeping.

use crate::system;
use tailcut_base::Nanos;

/// Decides whether to busy-poll for the next request before sleeping. A poll phase that finds work saves a
/// wakeup; after several in vain, there are only rare trials until one succeeds again. A phase during which
/// the thread was preempted has kept another thread from running, perhaps the client whose request was
/// expected: it counts as many in vain, whatever it has found in the end.
#[derive(Clone, Copy, Debug)]
pub struct Spin {
    limit: Nanos,
    credit: u32,
    sleeps: u32,
    /// Long poll phases that pay may run at idle priority.
    may_yield: bool,
    /// The thread busy-polls at idle priority.
    is_yielding: bool,
}

impl Spin {
    /// Busy-polls for at most `limit` at a time, at the usual priority; zero disables it.
    pub fn new(limit: Nanos) -> Spin {
        Spin { limit, credit: MOST_CREDIT, sleeps: 0, may_yield: false, is_yielding: false }
    }

    /// Busy-polls for at most `limit` at a time, at idle priority where long poll phases pay.
    pub fn at_idle_priority(limit: Nanos) -> Spin {
        Spin { may_yield: true, ..Spin::new(limit) }
    }

    /// How long to busy-poll now, before sleeping; zero to sleep at once.
    pub fn patience(&mut self) -> Nanos {
        if self.limit == Nanos::ZERO {
            return Nanos::ZERO;
        }
        self.sleeps += 1;
        let is_trial = self.sleeps.is_multiple_of(TRIAL_EVERY);
        if self.credit > 0 || is_trial { self.limit } else { Nanos::ZERO }
    }

    /// Whether the thread should run at idle priority from now on; `None` if nothing changes. Where long poll
    /// phases pay, a client that is woken then gets the polling core at once, and its next request finds that
    /// core awake: no wakeup crosses cores. Where they do not pay, or other threads want the core, idle
    /// priority would starve all clients.
    fn turn_priority(&mut self) -> Option<bool> {
        let wants = self.may_yield && self.limit > WHAT_A_SLEEP_COSTS && self.credit == MOST_CREDIT;
        let must_end = self.credit < MOST_CREDIT / 2;
        let changes = if self.is_yielding { must_end } else { wants };
        changes.then(|| {
            self.is_yielding = !self.is_yielding;
            self.is_yielding
        })
    }

    /// Gives the calling thread the priority that it should have from now on.
    pub fn apply_priority(&mut self) {
        // If the system refuses, the priority stays the same.
        let _ = match self.turn_priority() {
            Some(true) => system::yield_to_all(),
            Some(false) => system::yield_to_none(),
            None => Ok(()),
        };
    }

    /// True while the thread busy-polls at idle priority.
    #[inline]
    pub fn is_yielding(&self) -> bool {
        self.is_yielding
    }

    /// The thread was preempted in the middle of its work.
    pub fn was_preempted(&mut self) {
        self.credit = 0;
    }

    /// The thread is about to sleep: at idle priority its wakeup would wait for all other threads.
    pub fn before_sleep(&mut self) {
        self.credit = self.credit.min(MOST_CREDIT / 2 - 1);
    }

    /// Adapts to the result of a poll phase.
    pub fn judge(&mut self, end: PollResult) {
        self.credit = match end {
            PollResult::Found => (self.credit + 2).min(MOST_CREDIT),
            PollResult::InVain => self.credit.saturating_sub(1),
            PollResult::Preempted => self.credit.saturating_sub(MOST_CREDIT / 4),
        };
    }
}

/// Result of a poll phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PollResult {
    /// The poll found work.
    Found,
    /// It found no work.
    InVain,
    /// The thread was preempted meanwhile.
    Preempted,
}

/// Maximum time between two polls of a phase; after a longer gap the thread counts as preempted. Polls take
/// some microseconds, interrupts tens (see `docs/decisions/real-time-drives.md`); a thread that gets a core
/// keeps it for a good part of a millisecond at least.
pub(super) const PREEMPTED: Nanos = Nanos::micros(200);

/// Cost of a sleep and its wakeup, both sides together (measured: 7 to 12 µs each,
/// `docs/decisions/real-time-drives.md`): polling that long before sleeping costs at most twice as much as
/// the optimum with knowledge of the waiting time (Karlin, Manasse, McGeoch and Owicki 1994).
pub(super) const WHAT_A_SLEEP_COSTS: Nanos = Nanos::micros(20);
/// Number of poll phases in vain after which polling stops.
const MOST_CREDIT: u32 = 32;
/// After that, one of this many sleeps is preceded by a trial.
const TRIAL_EVERY: u32 = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_gives_up_and_comes_back() {
        let mut spin = Spin::new(Nanos::micros(50));
        let mut spent = 0;
        for _ in 0..640 {
            if spin.patience() > Nanos::ZERO {
                spent += 1;
                spin.judge(PollResult::InVain);
            }
        }
        assert!(spent < 50, "{spent} look-outs in vain");
        while spin.patience() == Nanos::ZERO {}
        spin.judge(PollResult::Found);
        assert_eq!(spin.patience(), Nanos::micros(50));
        assert_eq!(Spin::new(Nanos::ZERO).patience(), Nanos::ZERO);
    }

    #[test]
    fn it_gives_up_sooner_where_others_need_the_processor() {
        let mut spin = Spin::new(Nanos::micros(50));
        (0..4).for_each(|_| spin.judge(PollResult::Preempted));
        assert_eq!(spin.patience(), Nanos::ZERO);
        // Successes are worth less than the cost when every fourth poll phase preempts another thread's work.
        for round in 0..400 {
            spin.judge(if round % 4 == 0 { PollResult::Preempted } else { PollResult::Found });
        }
        (0..2).for_each(|_| spin.judge(PollResult::Preempted));
        assert_eq!(spin.patience(), Nanos::ZERO);
    }

    #[test]
    fn only_who_looks_out_for_long_and_finds_does_so_at_idle_priority() {
        for mut spin in [Spin::at_idle_priority(WHAT_A_SLEEP_COSTS), Spin::new(Nanos::micros(200))] {
            assert_eq!(spin.turn_priority(), None);
        }
        let mut spin = Spin::at_idle_priority(Nanos::micros(200));
        assert_eq!((spin.turn_priority(), spin.turn_priority()), (Some(true), None));
        spin.judge(PollResult::InVain);
        assert_eq!(spin.turn_priority(), None, "once in vain is no reason");
        spin.before_sleep();
        assert_eq!((spin.turn_priority(), spin.turn_priority()), (Some(false), None));
        (0..9).for_each(|_| spin.judge(PollResult::Found));
        assert_eq!(spin.turn_priority(), Some(true));
        spin.was_preempted();
        assert_eq!((spin.turn_priority(), spin.turn_priority()), (Some(false), None));
        (0..15).for_each(|_| spin.judge(PollResult::Found));
        assert_eq!(spin.turn_priority(), None);
        (0..15).for_each(|_| spin.judge(PollResult::Found));
        assert_eq!(spin.turn_priority(), Some(true));
    }
}
