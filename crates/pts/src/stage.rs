//! The stages of tests.

use crate::cell::Cell;
use crate::figures::Metric;
use tailcut_base::Nanos;

/// A stage of a test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stage {
    /// Name of the stage, unique within the test.
    pub name: String,
    /// What the stage does to the drive.
    pub work: Work,
}

/// Work of a stage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Work {
    /// Purge the drive: restore the state in which nothing was ever written.
    Purge,
    /// Transfer a number of bytes, however long it takes.
    Write {
        /// The load.
        cell: Cell,
        /// Number of bytes.
        bytes: u64,
    },
    /// Repeat rounds of the same loads until they are steady.
    Rounds(Rounds),
    /// Repeat the same load.
    Series {
        /// The load.
        cell: Cell,
        /// Duration of each.
        each: Nanos,
        /// Number of repetitions.
        count: u32,
        /// Idle time after each.
        rest: Nanos,
    },
    /// Apply a load and keep the histogram of response times.
    Histogram {
        /// The load.
        cell: Cell,
        /// Duration.
        time: Nanos,
    },
    /// Select three loads of the last round of the previous stage ([`points`](super::Point)); each is
    /// examined in stages of its own.
    Points {
        /// Number of repetitions of their own writes before each.
        settle: u32,
        /// Duration of each repetition.
        each: Nanos,
        /// Duration of the histogram.
        time: Nanos,
    },
}

/// Rounds that repeat until they are steady.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rounds {
    /// The load before each round, and its duration; `None` for none.
    pub before: Option<(Cell, Nanos)>,
    /// The loads of a round, in the order in which they are applied.
    pub cells: Vec<Cell>,
    /// Duration of each load of a round.
    pub each: Nanos,
    /// Metrics that must be steady: index in `cells`, and metric.
    pub tracked: Vec<(usize, Metric)>,
    /// When the rounds end, steady or not.
    pub limits: Limits,
}

/// When rounds end, steady or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximum number of rounds, steady or not.
    pub rounds: u32,
    /// Number of bytes after which the rounds end, checked after each load.
    pub bytes: u64,
    /// Time after which the rounds end, checked after each load.
    pub time: Nanos,
    /// Number of bytes to be written before rounds count as steady or end by their number.
    pub least: u64,
}

impl Limits {
    /// At most `rounds` rounds, without other limits.
    pub fn rounds(rounds: u32) -> Limits {
        Limits { rounds, bytes: u64::MAX, time: Nanos(u64::MAX), least: 0 }
    }
}

impl Work {
    /// The loads known in advance, without preconditioning and the loads before rounds.
    pub fn cells(&self) -> Vec<Cell> {
        match self {
            Work::Rounds(rounds) => rounds.cells.clone(),
            Work::Series { cell, .. } | Work::Histogram { cell, .. } => vec![*cell],
            Work::Purge | Work::Write { .. } | Work::Points { .. } => Vec::new(),
        }
    }

    /// Upper bound of the duration, as far as it is known in advance: zero for [`Work::Write`].
    pub fn time(&self) -> Nanos {
        match self {
            Work::Purge | Work::Write { .. } => Nanos::ZERO,
            Work::Rounds(rounds) => {
                let before = rounds.before.map_or(Nanos::ZERO, |(_, time)| time);
                let one = before + rounds.each * rounds.cells.len() as u64;
                (one * u64::from(rounds.limits.rounds.min(MOST_ROUNDS))).min(rounds.limits.time)
            }
            Work::Series { each, count, rest, .. } => (*each + *rest) * u64::from(*count),
            Work::Histogram { time, .. } => *time,
            Work::Points { settle, each, time } => (*each * u64::from(*settle) + *time) * 3,
        }
    }
}

/// Assumed maximum of rounds that have no limit, to bound their duration.
const MOST_ROUNDS: u32 = 1000;
