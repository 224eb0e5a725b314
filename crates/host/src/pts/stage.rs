//! The parts that tests are made of.

use super::cell::Cell;
use super::figures::Metric;
use tailcut_base::Nanos;

/// A part of a test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stage {
    /// Its name, unique within the test.
    pub name: String,
    /// What is done.
    pub work: Work,
}

/// What is done in a stage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Work {
    /// The drive is brought into the state as if nothing had ever been written.
    Purge,
    /// So many bytes, however long it takes.
    Write {
        /// The load.
        cell: Cell,
        /// Bytes.
        bytes: u64,
    },
    /// Rounds of the same loads, until they are steady.
    Rounds(Rounds),
    /// The same load so often, for so long each.
    Series {
        /// The load.
        cell: Cell,
        /// How long.
        each: Nanos,
        /// How often.
        count: u32,
        /// A rest after each.
        rest: Nanos,
    },
    /// A load of which the histogram of response times is kept.
    Histogram {
        /// The load.
        cell: Cell,
        /// How long.
        time: Nanos,
    },
    /// Of the last round of the stage before three loads are chosen ([`points`](super::Point)); each is
    /// looked at in stages of its own.
    Points {
        /// How many loads of their own writes come before each.
        settle: u32,
        /// How long each of those takes.
        each: Nanos,
        /// How long the histogram takes.
        time: Nanos,
    },
}

/// Rounds until they are steady.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rounds {
    /// What is written before each round, and for how long.
    pub before: Option<(Cell, Nanos)>,
    /// The loads of a round in order.
    pub cells: Vec<Cell>,
    /// How long each takes.
    pub each: Nanos,
    /// What has to be steady: places in `cells`.
    pub tracked: Vec<(usize, Metric)>,
    /// When they end, steady or not.
    pub limits: Limits,
}

/// When rounds end, steady or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// After so many rounds.
    pub rounds: u32,
    /// After so many bytes, checked after each load.
    pub bytes: u64,
    /// After so long, checked after each load.
    pub time: Nanos,
    /// They neither count as steady nor end by their number before so many bytes are written.
    pub least: u64,
}

impl Limits {
    /// So many rounds, whatever they take.
    pub fn rounds(rounds: u32) -> Limits {
        Limits { rounds, bytes: u64::MAX, time: Nanos(u64::MAX), least: 0 }
    }
}

impl Work {
    /// The loads that are known before it, preconditioning and what comes before a round left out.
    pub fn cells(&self) -> Vec<Cell> {
        match self {
            Work::Rounds(rounds) => rounds.cells.clone(),
            Work::Series { cell, .. } | Work::Histogram { cell, .. } => vec![*cell],
            Work::Purge | Work::Write { .. } | Work::Points { .. } => Vec::new(),
        }
    }

    /// The most time that it takes, as far as that is known before it: [`Work::Write`] takes what it takes.
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

/// Of rounds without a limit of their own, so that a time can be named.
const MOST_ROUNDS: u32 = 1000;
