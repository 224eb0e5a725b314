//! A strategy that moves between others by load (Shin 2017, section 3.3.3, leaves it to future work, and
//! names occupied queue depth with the rate of requests as what might decide).
//!
//! Nothing is assumed of the machine: each mode is measured. Its *price* is, per read, what the host adds to
//! its latency plus the time of cores that it takes, and what its thread comes to owe to others; how long
//! drives take is left out, since no mode changes that. The mode of the least price stays until the load has
//! changed, which shows in how many requests are under way or in the price itself. Then all are measured
//! again, one after the other. From time to time one that is hardly dearer is tried, the less often the more
//! often that was in vain; what is known of both is a mean over what has been measured since the load
//! changed. Only reads are measured: a host that never reads stays in the mode in which it begins.
//!
//! Spinning from the beginning is measured only where it can win: it takes the core for as long as the drive
//! takes, and for the thread's own work, which is at most the least that the host has been seen to add to a
//! latency.
//!
//! What is owed is the part of a price that comes later. A fair scheduler lets a thread that has slept go
//! first, and lets others catch up with it when it has used up what it was ahead by: in `beyond-completion`
//! for 12 ms in every quarter of a second, which no trial of a millisecond sees. So the debt that a read
//! leaves behind counts as its latency when it is made, and what it pays back of older debts does not: over
//! both, nothing counts twice or never.

mod measure;

pub use measure::{Took, Used};

use super::strategy::{Strategy, StrategyName};
use measure::{Measure, SAME_LOAD};
use tailcut_base::{Nanos, Time};

/// How requests are waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Mode {
    /// Asleep until an interrupt.
    Sleep,
    /// Asleep; threads look for completions of others, and while any of them is awake, interrupts are off.
    Gather,
    /// Asleep until the drive announces the end.
    Notice,
    /// Awake.
    Spin,
}

impl Mode {
    /// All, in the order in which they are measured.
    pub const ALL: [Mode; 4] = [Mode::Sleep, Mode::Gather, Mode::Notice, Mode::Spin];

    /// What requests of this mode do.
    pub fn strategy(self) -> Strategy {
        let strategy = match self {
            Mode::Notice => Strategy::of(StrategyName::Lazy).with(StrategyName::Precomplete),
            Mode::Sleep => Strategy::of(StrategyName::Lazy),
            Mode::Gather => Strategy { rests_interrupts: true, ..Strategy::of(StrategyName::Coop) },
            // Whoever spins is quiet by itself; interrupts stay on for the others.
            Mode::Spin => Strategy { interrupts: true, ..Strategy::of(StrategyName::Spin) },
        };
        Strategy { adapts: true, ..strategy }
    }
}

/// How long a mode runs before it is measured, so that requests of the mode before have ended.
const SETTLE: Nanos = Nanos::micros(250);

/// How long it is measured at least.
const PERIOD: Nanos = Nanos::millis(1);

/// How many reads that takes at least.
const LEAST_READS: u64 = 4;

/// A mode must win by this to take another's place, in per cent.
const MARGIN: u64 = 3;

/// When another is tried for the first time, and the longest between two trials: a trial of 1.25 ms then
/// takes 2 % and 0.13 % of the time.
const TRIALS: (Nanos, Nanos) = (Nanos::millis(64), Nanos::secs(1));

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Measuring one mode after the other.
    Exploring,
    /// In the best one.
    Resting,
    /// Trying another; the best one so far.
    Trying(Mode),
}

/// From so many requests under way on, latency follows from their number and rate (Little's law): of many,
/// those that begin and end within a measurement are the quick ones.
const MANY: u64 = 8;

/// What the requests of the present measurement have come to.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    /// Reads of the mode.
    reads: u64,
    latency: u64,
    wait: u64,
    owed: i64,
    /// Requests of any mode that ended.
    ended: u64,
    /// Time that all requests together were under way.
    under_way: u64,
}

/// Decides on the mode.
#[derive(Clone, Debug)]
pub struct Hybrid {
    mode: Mode,
    phase: Phase,
    since: Time,
    /// Where the present measurement began, and what had been used by then; none while the mode settles.
    from: Option<(Time, Used)>,
    sums: Sums,
    /// Requests under way, and until when their time has been added.
    under_way: u64,
    added: Time,
    known: [Option<Measure>; Mode::ALL.len()],
    /// How often each has been tried.
    trials: [u32; Mode::ALL.len()],
    /// What the load was like when measuring began, or when this mode was chosen.
    reference: Option<Measure>,
    /// Measurements running that were unlike it; while exploring, how often that has begun anew.
    unlike: u32,
    /// When all modes had been measured.
    explored: Time,
    next_trial: Time,
    trial_gap: Nanos,
    changes: u64,
}

impl Default for Hybrid {
    fn default() -> Hybrid {
        Hybrid {
            mode: Mode::ALL[0],
            phase: Phase::Exploring,
            since: Time::ZERO,
            from: None,
            sums: Sums::default(),
            under_way: 0,
            added: Time::ZERO,
            known: [None; Mode::ALL.len()],
            trials: [0; Mode::ALL.len()],
            reference: None,
            unlike: 0,
            explored: Time::ZERO,
            next_trial: Time::ZERO,
            trial_gap: TRIALS.0,
            changes: 0,
        }
    }
}

impl Hybrid {
    /// How often [`Hybrid::tick`] wants to be called.
    pub const TICK: Nanos = Nanos::micros(250);

    /// The least time between two changes.
    pub const DWELL: Nanos = Nanos(SETTLE.0 + PERIOD.0);

    /// The mode of requests that begin now.
    #[inline]
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// How often it has changed.
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// A thread asks for something.
    #[inline]
    pub fn began(&mut self, now: Time) {
        self.add(now);
        self.under_way += 1;
    }

    /// It has its answer.
    #[inline]
    pub fn ended(&mut self, now: Time) {
        self.add(now);
        self.under_way -= 1;
        self.sums.ended += 1;
    }

    #[inline]
    fn add(&mut self, now: Time) {
        self.sums.under_way += self.under_way * now.since(self.added).0;
        self.added = now;
    }

    /// A read that began in `mode` is over.
    #[inline]
    pub fn observe(&mut self, mode: Mode, took: Took) {
        if mode == self.mode && self.from.is_some() {
            self.sums.reads += 1;
            self.sums.latency += took.latency.0;
            self.sums.wait += took.wait.0;
            self.sums.owed += took.owed;
        }
    }

    /// Decides. True when the mode has changed.
    pub fn tick(&mut self, now: Time, used: Used) -> bool {
        let before = self.mode;
        self.add(now);
        match self.from {
            None if now < self.since + SETTLE => {}
            None => self.begin(now, used),
            Some((from, _)) if now < from + PERIOD || self.sums.reads < LEAST_READS => {}
            Some((from, before)) => {
                let measure = self.measured(now.since(from), before, used);
                self.begin(now, used);
                self.decide(now, measure);
            }
        }
        self.changes += u64::from(self.mode != before);
        self.mode != before
    }

    fn begin(&mut self, now: Time, used: Used) {
        self.from = Some((now, used));
        self.sums = Sums::default();
    }

    /// Means, rounded down.
    fn measured(&self, elapsed: Nanos, before: Used, used: Used) -> Measure {
        let Sums { reads, latency, wait, owed, ended, under_way } = self.sums;
        let are_many = under_way >= MANY * elapsed.0;
        let (latency, owed) = if are_many {
            // A thread that waits for its competitors pays while it waits, as it is counted while it waits.
            (under_way / ended, (used.owed.0 as i64 - before.owed.0 as i64) / ended as i64)
        } else {
            (latency / reads, owed / reads as i64)
        };
        let wait = wait / reads;
        Measure {
            requests: ended,
            host: latency.saturating_sub(wait),
            core: (used.core - before.core).0 / ended,
            owed,
            wait,
            parallelism: under_way * 1000 / elapsed.0,
        }
    }

    fn decide(&mut self, now: Time, measure: Measure) {
        match self.phase {
            Phase::Exploring => {
                self.known[self.mode as usize] = Some(measure);
                let first = *self.reference.get_or_insert(measure);
                if !measure.has_parallelism_of(&first) && self.unlike < 2 {
                    // The load has changed meanwhile.
                    self.forget(measure);
                    self.unlike += 1;
                }
                self.explore(now);
            }
            Phase::Trying(best) => self.conclude(now, measure, best),
            Phase::Resting => self.rest(now, measure),
        }
    }

    /// Adds to what is known of the mode in force.
    fn learn(&mut self, measure: Measure) {
        let known = &mut self.known[self.mode as usize];
        *known = Some(known.map_or(measure, |before| before.joined(&measure)));
    }

    /// Goes on to the next mode that may be the best, or to the best.
    fn explore(&mut self, now: Time) {
        let next =
            Mode::ALL.into_iter().find(|&mode| self.known[mode as usize].is_none() && self.may_win(mode));
        if let Some(mode) = next {
            return self.turn_to(now, mode);
        }
        self.trial_gap = TRIALS.0;
        self.explored = now;
        let best = self.best(|_| true).expect("this one is known");
        self.settle_on(now, best);
    }

    fn settle_on(&mut self, now: Time, mode: Mode) {
        self.phase = Phase::Resting;
        self.next_trial = now + self.trial_gap;
        self.reference = self.known[mode as usize];
        self.unlike = 0;
        self.turn_to(now, mode);
    }

    fn explore_anew(&mut self, now: Time, measure: Measure) {
        self.forget(measure);
        self.unlike = 0;
        self.phase = Phase::Exploring;
        self.explore(now);
    }

    /// All but the last measure was of another load.
    fn forget(&mut self, measure: Measure) {
        self.known = [None; Mode::ALL.len()];
        self.trials = [0; Mode::ALL.len()];
        self.known[self.mode as usize] = Some(measure);
        self.reference = Some(measure);
    }

    /// The mode in force is measured again and again: the load may have changed, or it may be time to try
    /// another.
    fn rest(&mut self, now: Time, measure: Measure) {
        let reference = self.reference.expect("it has been chosen by its measure");
        self.unlike = if measure.is_like(&reference) { 0 } else { self.unlike + 1 };
        if self.unlike >= 2 {
            let is_other_load = !measure.has_parallelism_of(&reference);
            if is_other_load || now >= self.explored + TRIALS.0 {
                return self.explore_anew(now, measure);
            }
            // The mode has not held what it promised.
            self.known[self.mode as usize] = Some(measure);
            self.reference = Some(measure);
            self.unlike = 0;
        }
        self.learn(measure);
        let mode = self.mode;
        if self.unlike > 0 {
            return;
        }
        let Some(second) = self.best(|other| other != mode) else { return };
        if self.wins(second, mode) {
            return self.settle_on(now, second);
        }
        if let Some(next) = self.rival(mode).filter(|_| now >= self.next_trial) {
            self.phase = Phase::Trying(mode);
            self.turn_to(now, next);
        }
    }

    fn conclude(&mut self, now: Time, measure: Measure, best: Mode) {
        let reference = self.reference.expect("the best has been chosen by its measure");
        if !measure.has_parallelism_of(&reference) {
            // The load has changed meanwhile.
            return self.explore_anew(now, measure);
        }
        self.learn(measure);
        self.trials[self.mode as usize] += 1;
        let wins = self.wins(self.mode, best);
        self.trial_gap = if wins { TRIALS.0 } else { (self.trial_gap * 2).min(TRIALS.1) };
        self.settle_on(now, if wins { self.mode } else { best });
    }

    /// Of the modes that are hardly dearer than the one in force, the one of which the least has been
    /// measured.
    fn rival(&self, mode: Mode) -> Option<Mode> {
        let limit = self.known[mode as usize]?.price() * SAME_LOAD.end() / 100;
        let known = |other: &Mode| self.known[*other as usize].filter(|known| known.price() <= limit);
        let others = Mode::ALL.into_iter().filter(|&other| other != mode);
        others
            .filter_map(|other| Some((self.trials[other as usize], known(&other)?.price(), other)))
            .min()
            .map(|(.., other)| other)
    }

    /// True when one mode is cheaper than another by the margin.
    fn wins(&self, mode: Mode, over: Mode) -> bool {
        let price = |mode: Mode| self.known[mode as usize].map_or(u64::MAX / 100, |known| known.price());
        price(mode) * 100 < price(over) * (100 - MARGIN)
    }

    /// The cheapest of the modes that are known and allowed.
    fn best(&self, is_allowed: impl Fn(Mode) -> bool) -> Option<Mode> {
        let price = |mode: &Mode| self.known[*mode as usize].map(|measure| measure.price());
        let known = Mode::ALL.into_iter().filter(|&mode| is_allowed(mode));
        known
            .filter_map(|mode| price(&mode).map(|price| (price, mode)))
            .min_by_key(|&(price, _)| price)
            .map(|(_, mode)| mode)
    }

    fn may_win(&self, mode: Mode) -> bool {
        if mode != Mode::Spin {
            return true;
        }
        let best = self.best(|_| true).and_then(|best| self.known[best as usize]);
        let own = self.known.iter().flatten().map(|measure| measure.host).min().unwrap_or(0);
        best.is_some_and(|best| (best.wait + 2 * own) * 100 < best.price() * (100 - MARGIN))
    }

    fn turn_to(&mut self, now: Time, mode: Mode) {
        if mode != self.mode {
            self.mode = mode;
            self.since = now;
            self.from = None;
        }
    }
}

#[cfg(test)]
mod tests;
