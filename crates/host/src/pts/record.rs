//! What a test has found so far.

use super::cell::Cell;
use super::figures::{Figures, Metric};
use crate::planted::{Rule, holds};
use std::ops::Range;
use tailcut_base::histogram::LatencyHistogram;
use tailcut_base::steady::Window;

/// What came of one load.
#[derive(Clone, Debug)]
pub struct Record {
    /// The stage, counted from 0.
    pub stage: usize,
    /// The round of that stage, or the number within a series, counted from 0.
    pub round: u32,
    /// Place in the round; none for what is written before one.
    pub place: Option<usize>,
    /// The load.
    pub cell: Cell,
    /// What came of it.
    pub figures: Figures,
    /// The response times, where they were to be kept.
    pub latency: Option<LatencyHistogram>,
}

/// How rounds ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Steady.
    Steady,
    /// Not steady after the most rounds.
    Rounds,
    /// So much was written.
    Bytes,
    /// So much time went by.
    Time,
}

/// How the rounds of a stage came to be steady, or did not.
#[derive(Clone, Debug)]
pub struct Convergence {
    /// The stage.
    pub stage: usize,
    /// What was judged.
    pub tracks: Vec<Track>,
    /// How they ended; none while they go on.
    pub ending: Option<Ending>,
}

/// A figure by which rounds were judged.
#[derive(Clone, Debug)]
pub struct Track {
    /// The load.
    pub cell: Cell,
    /// Which figure of it.
    pub metric: Metric,
    /// Its value in each round: see [`Figures::metric`].
    pub values: Vec<u64>,
}

impl Convergence {
    /// The measurement window: the last five rounds, or those that there are.
    pub fn window(&self) -> Range<u32> {
        let rounds = self.tracks.first().map_or(0, |track| track.values.len()) as u32;
        rounds.saturating_sub(tailcut_base::steady::ROUNDS as u32)..rounds
    }

    /// True when all that is judged is steady.
    pub fn is_steady(&self) -> bool {
        let mut steady = self.tracks.iter().map(Track::is_steady);
        if holds(Rule::AllTracksAreSteady) { steady.all(|one| one) } else { steady.any(|one| one) }
    }
}

impl Track {
    /// The rounds by which it is judged, if there are enough.
    pub fn window(&self) -> Option<Window> {
        if holds(Rule::TheWindowMoves) {
            return Window::last(&self.values);
        }
        self.values.first_chunk().map(|&figures| Window { figures })
    }

    fn is_steady(&self) -> bool {
        self.window().is_some_and(|window| window.is_steady())
    }
}

/// The figures of one load over the measurement window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Averages {
    /// Mean of the rounds' I/Os per second.
    pub iops: f64,
    /// Mean of their bytes per second.
    pub throughput: f64,
    /// Mean of their mean response times, in ns.
    pub mean: f64,
    /// Mean of their 99.999th percentiles, in ns.
    pub five_nines: f64,
    /// The longest response time of all, in ns.
    pub longest: f64,
}

impl Averages {
    /// Of some rounds; none of none.
    pub fn of<'a>(figures: impl Iterator<Item = &'a Figures>) -> Option<Averages> {
        let all: Vec<&Figures> = figures.collect();
        let mean = |of: fn(&Figures) -> f64| all.iter().map(|one| of(one)).sum::<f64>() / all.len() as f64;
        (!all.is_empty()).then(|| Averages {
            iops: mean(Figures::iops),
            throughput: mean(Figures::throughput),
            mean: mean(Figures::mean),
            five_nines: mean(|one| one.five_nines.0 as f64),
            longest: all.iter().map(|one| one.longest.0).max().unwrap_or(0) as f64,
        })
    }
}
