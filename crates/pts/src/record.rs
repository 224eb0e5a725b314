//! Results of a test so far.

use crate::cell::Cell;
use crate::figures::{Figures, Metric};
use crate::mutation::{Invariant, holds};
use std::ops::Range;
use tailcut_base::cast::to_u32;
use tailcut_base::histogram::LatencyHistogram;
use tailcut_base::steady::Window;

/// Result of one load.
#[derive(Clone, Debug)]
pub struct Record {
    /// Index of the stage, from 0.
    pub stage: usize,
    /// Round of the stage, or number within a series, from 0.
    pub round: u32,
    /// Index of the load in its round; `None` for writes before the round.
    pub place: Option<usize>,
    /// The load that was applied.
    pub cell: Cell,
    /// I/Os, bytes and response times of the load.
    pub figures: Figures,
    /// Histogram of the load's response times, if the step required it.
    pub latency: Option<LatencyHistogram>,
}

/// Why rounds ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The rounds have become steady.
    Steady,
    /// The maximum number of rounds without steady state.
    Rounds,
    /// The limit of written bytes was reached.
    Bytes,
    /// The time limit was reached.
    Time,
}

/// Convergence of the rounds of a stage to steady state.
#[derive(Clone, Debug)]
pub struct Convergence {
    /// Index of the stage, from 0.
    pub stage: usize,
    /// The metrics that must be steady, with their values by round.
    pub tracks: Vec<Track>,
    /// Why the rounds ended; None while they continue.
    pub ending: Option<Ending>,
}

/// A metric that must be steady.
#[derive(Clone, Debug)]
pub struct Track {
    /// The load whose metric is judged.
    pub cell: Cell,
    /// The metric of the load that is judged.
    pub metric: Metric,
    /// Value of the metric in each round: see [`Figures::metric`].
    pub values: Vec<u64>,
}

impl Convergence {
    /// The measurement window: the last five rounds, or all if there are fewer.
    pub fn window(&self) -> Range<u32> {
        let rounds = to_u32(self.tracks.first().map_or(0, |track| track.values.len()));
        rounds.saturating_sub(to_u32(tailcut_base::steady::ROUNDS))..rounds
    }

    /// True if all tracked metrics are steady.
    pub fn is_steady(&self) -> bool {
        let mut steady = self.tracks.iter().map(Track::is_steady);
        if holds(Invariant::AllTracksAreSteady) { steady.all(|one| one) } else { steady.any(|one| one) }
    }
}

impl Track {
    /// The rounds that determine steady state; None if there are too few.
    pub fn window(&self) -> Option<Window> {
        if holds(Invariant::TheWindowMoves) {
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
    /// Mean of the rounds' bytes per second.
    pub throughput: f64,
    /// Mean of the rounds' mean response times, in ns.
    pub mean: f64,
    /// Mean of the rounds' 99.999th percentiles of response times, in ns.
    pub five_nines: f64,
    /// Maximum response time over all rounds, in ns.
    pub longest: f64,
}

impl Averages {
    /// Averages over some rounds; None if there are none.
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
