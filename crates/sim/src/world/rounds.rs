//! Rounds, and whether they show steady state.

use tailcut_base::steady::{self, Window};
use tailcut_base::{Nanos, Time};

/// What happened in one round.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Round {
    /// Requests that completed in the round.
    pub requests: u64,
    /// Sectors of 512 bytes that these requests moved.
    pub sectors: u64,
    /// Sum of the latencies of the requests that completed in the round, in ns.
    pub latency_sum: u128,
}

/// The judgement on five consecutive rounds (SNIA Solid State Storage Performance Test
/// Specification 2.0.2, section 2.1.4): the largest excursion from their mean is within 20 % of
/// it, and the best-fit line moves by no more than 10 % of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SteadyState {
    /// Number of the first of the five rounds, from 0.
    pub first: usize,
    /// Mean number of requests per round.
    pub mean: f64,
    /// Largest minus smallest round, as a share of the mean.
    pub excursion: f64,
    /// Change of the best-fit line over the five rounds, up or down, as a share of the mean.
    pub slope: f64,
}

/// Rounds judged together.
pub(super) const WINDOW: usize = steady::ROUNDS;

/// Consecutive rounds of equal length.
#[derive(Clone, Debug)]
pub struct Rounds {
    length: Nanos,
    present: Round,
    end: Time,
    finished: Vec<Round>,
    announced: bool,
}

impl Rounds {
    /// Rounds of `length`; zero for none.
    pub fn new(length: Nanos) -> Rounds {
        let end = if length == Nanos::ZERO { Time::NEVER } else { Time::ZERO + length };
        Rounds { length, present: Round::default(), end, finished: Vec::new(), announced: false }
    }

    /// The first round begins at `now`; what was before counts nowhere.
    pub fn begin(&mut self, now: Time) {
        self.present = Round::default();
        self.finished.clear();
        self.announced = false;
        if self.length > Nanos::ZERO {
            self.end = now + self.length;
        }
    }

    /// Counts a request that completed at `now`.
    #[inline]
    pub fn record(&mut self, now: Time, latency: Nanos, sectors: u64) {
        if now >= self.end {
            self.turn(now);
        }
        self.present.requests += 1;
        self.present.sectors += sectors;
        self.present.latency_sum += u128::from(latency.0);
    }

    #[cold]
    fn turn(&mut self, now: Time) {
        while now >= self.end {
            self.finished.push(std::mem::take(&mut self.present));
            self.end += self.length;
        }
    }

    /// The rounds that are over.
    pub fn finished(&self) -> &[Round] {
        &self.finished
    }

    /// Length of a round.
    pub fn length(&self) -> Nanos {
        self.length
    }

    /// The first five consecutive rounds in steady state.
    pub fn steady(&self) -> Option<SteadyState> {
        let counts: Vec<u64> = self.finished.iter().map(|round| round.requests).collect();
        (0..counts.len().saturating_sub(WINDOW - 1))
            .find_map(|first| judge(first, &counts[first..first + WINDOW]))
    }

    /// True once, after the round that completed steady state.
    #[inline]
    pub fn has_just_become_steady(&mut self) -> bool {
        if self.announced || self.finished.len() < WINDOW || self.present.requests != 1 {
            return false;
        }
        let last = self.finished.len() - WINDOW;
        let counts: Vec<u64> = self.finished[last..].iter().map(|round| round.requests).collect();
        self.announced = judge(last, &counts).is_some();
        self.announced
    }
}

fn judge(first: usize, counts: &[u64]) -> Option<SteadyState> {
    let window = Window::last(counts).expect("five rounds");
    let (mean, excursion, slope) = (window.mean(), window.excursion(), window.drift().abs());
    window.is_steady().then_some(SteadyState { first, mean, excursion, slope })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rounds(counts: &[u64]) -> Rounds {
        let mut rounds = Rounds::new(Nanos(1000));
        for (i, &count) in counts.iter().enumerate() {
            for _ in 0..count {
                rounds.record(Time(i as u64 * 1000), Nanos(1), 8);
            }
        }
        rounds.record(Time(counts.len() as u64 * 1000), Nanos(1), 8);
        rounds
    }

    #[test]
    fn steady_state_needs_five_level_rounds() {
        assert!(rounds(&[100, 100, 100, 100]).steady().is_none());
        assert_eq!(rounds(&[300, 200, 100, 101, 99, 102, 100]).steady().map(|s| s.first), Some(2));
    }

    #[test]
    fn a_slope_or_an_outlier_is_not_steady() {
        assert!(rounds(&[100, 104, 108, 112, 116]).steady().is_none(), "a slope of 15 %");
        assert!(rounds(&[100, 100, 125, 100, 100]).steady().is_none(), "an excursion of 24 %");
    }
}
