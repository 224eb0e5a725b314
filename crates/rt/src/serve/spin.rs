//! Looking again and again instead of sleeping, as long as it pays.

use crate::Clock;
use tailcut_base::Nanos;

/// Decides whether to look out for the next request for a while before sleeping. A look-out that finds
/// something saves a wake-up; several in vain, and there are only rare trials until one succeeds again. One
/// during which the processor was taken away has kept somebody from working, perhaps the client that was
/// looked out for: that counts as many in vain, whatever it has found in the end.
#[derive(Clone, Copy, Debug)]
pub struct Spin {
    limit: Nanos,
    credit: u32,
    sleeps: u32,
    /// It looks out at idle priority.
    is_yielding: bool,
}

impl Spin {
    /// For at most `limit` at a time; zero for never.
    pub fn new(limit: Nanos) -> Spin {
        Spin { limit, credit: MOST_CREDIT, sleeps: 0, is_yielding: false }
    }

    /// How long to look out now, before a sleep.
    pub fn patience(&mut self) -> Nanos {
        if self.limit == Nanos::ZERO {
            return Nanos::ZERO;
        }
        self.sleeps += 1;
        let is_trial = self.sleeps.is_multiple_of(TRIAL_EVERY);
        if self.credit > 0 || is_trial { self.limit } else { Nanos::ZERO }
    }

    /// Whether the thread should run at idle priority from now on; none while nothing changes. Where long
    /// look-outs pay, a client that is woken then gets the core of the looker at once, and its next request
    /// finds that core awake: nobody is woken across cores. Where they do not pay, or others want the core,
    /// an idle priority would starve all clients.
    pub fn turn_priority(&mut self) -> Option<bool> {
        let wants = self.limit > WHAT_A_SLEEP_COSTS && self.credit == MOST_CREDIT;
        let must_end = self.credit < MOST_CREDIT / 2;
        let changes = if self.is_yielding { must_end } else { wants };
        changes.then(|| {
            self.is_yielding = !self.is_yielding;
            self.is_yielding
        })
    }

    /// True while it looks out at idle priority.
    #[inline]
    pub fn is_yielding(&self) -> bool {
        self.is_yielding
    }

    /// Somebody else had the processor in the middle of the thread's work.
    pub fn was_away(&mut self) {
        self.credit = 0;
    }

    /// A look-out ended like that.
    pub fn judge(&mut self, end: LookOut) {
        self.credit = match end {
            LookOut::Found => (self.credit + 2).min(MOST_CREDIT),
            LookOut::InVain => self.credit.saturating_sub(1),
            LookOut::Away => self.credit.saturating_sub(MOST_CREDIT / 4),
        };
    }
}

/// What a look has seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// There is something to do.
    Work,
    /// There is nothing yet.
    Nothing,
    /// There is nobody who could want something.
    Nobody,
}

/// Looks again and again, for at most `patience`.
pub fn look_out(clock: Clock, patience: Nanos, mut look: impl FnMut() -> Look) -> LookOut {
    let mut before = clock.now();
    let until = before.0 + patience.0;
    let mut was_away = false;
    loop {
        let seen = look();
        let now = clock.now();
        was_away |= now.since(before) > AWAY;
        before = now;
        if seen != Look::Nothing || now.0 >= until {
            return match (was_away, seen) {
                (true, _) => LookOut::Away,
                (false, Look::Work) => LookOut::Found,
                (false, _) => LookOut::InVain,
            };
        }
        std::hint::spin_loop();
    }
}

/// How a look-out ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LookOut {
    /// There is something to do.
    Found,
    /// There was nothing.
    InVain,
    /// The processor was taken away meanwhile.
    Away,
}

/// Between two looks of a look-out it is at the most so long: somebody else had the processor if it was
/// longer. Looks take some microseconds, interruptions by the system tens (see
/// `docs/decisions/real-time-drives.md`); whoever gets a processor keeps it for a good part of a millisecond
/// at least.
pub const AWAY: Nanos = Nanos::micros(200);

/// What a sleep and its end cost, both sides together (measured: 7 to 12 µs each,
/// `docs/decisions/real-time-drives.md`): who looks out for as long before sleeping loses at the most twice
/// what he would have, had he known how long it takes (Karlin, Manasse, McGeoch and Owicki 1994).
pub const WHAT_A_SLEEP_COSTS: Nanos = Nanos::micros(20);
/// Look-outs in vain before it gives up.
const MOST_CREDIT: u32 = 32;
/// Of the sleeps after that, every this many-th is preceded by a trial.
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
                spin.judge(LookOut::InVain);
            }
        }
        assert!(spent < 50, "{spent} look-outs in vain");
        while spin.patience() == Nanos::ZERO {}
        spin.judge(LookOut::Found);
        assert_eq!(spin.patience(), Nanos::micros(50));
        assert_eq!(Spin::new(Nanos::ZERO).patience(), Nanos::ZERO);
    }

    #[test]
    fn it_gives_up_sooner_where_others_need_the_processor() {
        let mut spin = Spin::new(Nanos::micros(50));
        (0..4).for_each(|_| spin.judge(LookOut::Away));
        assert_eq!(spin.patience(), Nanos::ZERO);
        // What it finds is worth less than what it costs when every fourth look-out is in somebody's way.
        for round in 0..400 {
            spin.judge(if round % 4 == 0 { LookOut::Away } else { LookOut::Found });
        }
        (0..2).for_each(|_| spin.judge(LookOut::Away));
        assert_eq!(spin.patience(), Nanos::ZERO);
    }

    #[test]
    fn only_who_looks_out_for_long_and_finds_does_so_at_idle_priority() {
        let mut spin = Spin::new(WHAT_A_SLEEP_COSTS);
        assert_eq!(spin.turn_priority(), None);
        let mut spin = Spin::new(Nanos::micros(200));
        assert_eq!((spin.turn_priority(), spin.turn_priority()), (Some(true), None));
        spin.judge(LookOut::InVain);
        assert_eq!(spin.turn_priority(), None, "once in vain is no reason");
        spin.was_away();
        assert_eq!((spin.turn_priority(), spin.turn_priority()), (Some(false), None));
        (0..15).for_each(|_| spin.judge(LookOut::Found));
        assert_eq!(spin.turn_priority(), None);
        (0..15).for_each(|_| spin.judge(LookOut::Found));
        assert_eq!(spin.turn_priority(), Some(true));
    }
}
