//! A strategy that switches between others by load (Shin 2017, section 3.3.3, leaves this to future work, and
//! suggests occupied queue depth and request rate as criteria).
//!
//! No assumptions about the machine are made: each mode is measured. Its *price* per read is the latency
//! added by the host, plus the core time used, plus the debt of its thread to others; the drive's latency is
//! excluded, since no mode affects it. The cheapest mode stays in force until the load changes, which shows
//! in the number of requests in flight or in the price itself. Then all modes are measured again in turn.
//! From time to time a mode that is hardly dearer is tried, the less often the more trials failed; the known
//! price of a mode is a mean over all measurements since the load changed. Only reads are measured: a host
//! that never reads stays in its first mode.
//!
//! Spinning from the start is measured only where it can win: it occupies the core for the drive's latency
//! and for the thread's own work, which is at most the smallest host latency measured so far.
//!
//! Debt is the deferred part of a price. A fair scheduler runs a thread that has slept first, and lets others
//! catch up once its credit is used up: in `beyond-completion` for 12 ms in every quarter of a second, too
//! rare for a trial of a millisecond to see. So the debt that a read incurs counts as its latency at once,
//! and the repayment of older debt does not: over both, nothing counts twice or never.

mod measure;

pub use measure::{ReadTiming, Used};

use super::strategy::{Strategy, StrategyName};
use measure::{Measure, SAME_LOAD};
use tailcut_base::{Nanos, Time};

/// How threads wait for their requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Mode {
    /// Sleep until an interrupt.
    Sleep,
    /// Sleep; awake threads poll for completions of others, and interrupts are off while any is awake.
    Gather,
    /// Sleep until the drive announces the completion.
    Notice,
    /// Spin.
    Spin,
}

impl Mode {
    /// All modes, in the order of measurement.
    pub const ALL: [Mode; 4] = [Mode::Sleep, Mode::Gather, Mode::Notice, Mode::Spin];

    /// The strategy of requests in this mode.
    pub fn strategy(self) -> Strategy {
        let strategy = match self {
            Mode::Notice => Strategy::of(StrategyName::Lazy).with(StrategyName::Precomplete),
            Mode::Sleep => Strategy::of(StrategyName::Lazy),
            Mode::Gather => Strategy { rests_interrupts: true, ..Strategy::of(StrategyName::Coop) },
            // A spinning thread raises no interrupt; interrupts stay on for the others.
            Mode::Spin => Strategy { interrupts: true, ..Strategy::of(StrategyName::Spin) },
        };
        Strategy { adapts: true, ..strategy }
    }
}

/// Settling time of a mode before its measurement, in which requests of the previous mode end.
const SETTLE: Nanos = Nanos::micros(250);

/// Least duration of a measurement.
const PERIOD: Nanos = Nanos::millis(1);

/// Least number of reads in a measurement.
const LEAST_READS: u64 = 4;

/// Margin in per cent by which a mode must be cheaper to replace another.
const MARGIN: u64 = 3;

/// Time to the first trial of another mode, and longest time between two trials: a trial of 1.25 ms then
/// takes 2 % and 0.13 % of the time.
const TRIALS: (Nanos, Nanos) = (Nanos::millis(64), Nanos::secs(1));

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Measuring the modes in turn.
    Exploring,
    /// Running the best mode.
    Resting,
    /// Trying another mode; holds the best one so far.
    Trying(Mode),
}

/// With this many requests in flight or more, latency is derived from their number and rate (Little's law):
/// of many, only the fast ones begin and end within one measurement.
const MANY: u64 = 8;

/// Totals of the current measurement; times in ns.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    /// Reads in the measured mode.
    reads: u64,
    latency: u64,
    wait: u64,
    owed: i64,
    /// Completed requests of any mode.
    ended: u64,
    /// Sum of the time in flight of all requests.
    under_way: u64,
}

/// Selects the mode of waiting by the load, from measurements of each mode.
#[derive(Clone, Debug)]
pub struct Hybrid {
    mode: Mode,
    phase: Phase,
    since: Time,
    /// Start of the current measurement and usage until then; None while the mode settles.
    from: Option<(Time, Used)>,
    sums: Sums,
    /// Requests in flight; their time is included up to `added`.
    under_way: u64,
    added: Time,
    known: [Option<Measure>; Mode::ALL.len()],
    /// Number of trials of each mode.
    trials: [u32; Mode::ALL.len()],
    /// The load when measuring began, or when this mode was selected.
    reference: Option<Measure>,
    /// Consecutive measurements unlike the reference; while exploring, number of restarts.
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
    /// Interval at which to call [`Hybrid::tick`].
    pub const TICK: Nanos = Nanos::micros(250);

    /// Least time between two changes of mode.
    pub const DWELL: Nanos = Nanos(SETTLE.0 + PERIOD.0);

    /// Mode of requests that begin now.
    #[inline]
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// Number of times that the mode has changed since the start.
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// Counts a request that begins at `now`.
    #[inline]
    pub fn began(&mut self, now: Time) {
        self.add(now);
        self.under_way += 1;
    }

    /// Counts the end of a request at `now`.
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

    /// A read that began in `mode` has ended.
    #[inline]
    pub fn observe(&mut self, mode: Mode, took: ReadTiming) {
        if mode == self.mode && self.from.is_some() {
            self.sums.reads += 1;
            self.sums.latency += took.latency.0;
            self.sums.wait += took.wait.0;
            self.sums.owed += took.owed;
        }
    }

    /// Re-evaluates the mode. True if it has changed.
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

    /// Means of the current measurement, rounded down.
    fn measured(&self, elapsed: Nanos, before: Used, used: Used) -> Measure {
        let Sums { reads, latency, wait, owed, ended, under_way } = self.sums;
        let are_many = under_way >= MANY * elapsed.0;
        let (latency, owed) = if are_many {
            // A thread that waits for competitors repays debt meanwhile; the wait is counted as it happens.
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

    /// Adds a measurement to the known price of the current mode.
    fn learn(&mut self, measure: Measure) {
        let known = &mut self.known[self.mode as usize];
        *known = Some(known.map_or(measure, |before| before.joined(&measure)));
    }

    /// Switches to the next mode that may be the best, or to the best.
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

    /// The load has changed: drops all measurements but the last.
    fn forget(&mut self, measure: Measure) {
        self.known = [None; Mode::ALL.len()];
        self.trials = [0; Mode::ALL.len()];
        self.known[self.mode as usize] = Some(measure);
        self.reference = Some(measure);
    }

    /// Measures the current mode repeatedly: the load may have changed, or another trial may be due.
    fn rest(&mut self, now: Time, measure: Measure) {
        let reference = self.reference.expect("it has been chosen by its measure");
        self.unlike = if measure.is_like(&reference) { 0 } else { self.unlike + 1 };
        if self.unlike >= 2 {
            let is_other_load = !measure.has_parallelism_of(&reference);
            if is_other_load || now >= self.explored + TRIALS.0 {
                return self.explore_anew(now, measure);
            }
            // The mode performs worse than measured before.
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

    /// The mode measured least among those hardly dearer than the current one.
    fn rival(&self, mode: Mode) -> Option<Mode> {
        let limit = self.known[mode as usize]?.price() * SAME_LOAD.end() / 100;
        let known = |other: &Mode| self.known[*other as usize].filter(|known| known.price() <= limit);
        let others = Mode::ALL.into_iter().filter(|&other| other != mode);
        others
            .filter_map(|other| Some((self.trials[other as usize], known(&other)?.price(), other)))
            .min()
            .map(|(.., other)| other)
    }

    /// True if one mode is cheaper than another by the margin.
    fn wins(&self, mode: Mode, over: Mode) -> bool {
        let price = |mode: Mode| self.known[mode as usize].map_or(u64::MAX / 100, |known| known.price());
        price(mode) * 100 < price(over) * (100 - MARGIN)
    }

    /// The cheapest of the allowed modes with a known price.
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
