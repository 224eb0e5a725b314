//! Steady state in a report.

use crate::world::Rounds;
use serde::{Deserialize, Serialize};
use tailcut_base::Nanos;

/// Rounds and the judgement on them (SNIA Solid State Storage Performance Test Specification
/// 2.0.2, section 2.1.4).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SteadyReport {
    /// Length of a round in ns.
    round_ns: u64,
    /// Requests completed in each round, in order.
    pub requests: Vec<u64>,
    /// The first of five consecutive rounds in steady state, counted from 0.
    pub first: Option<usize>,
    /// Largest minus smallest of these five, as a share of their mean; at most 0.2.
    pub excursion: Option<f64>,
    /// Change of the best-fit line over these five, as a share of their mean; at most 0.1.
    pub slope: Option<f64>,
}

impl SteadyReport {
    /// The judgement, where there were rounds.
    pub(super) fn of(rounds: &Rounds) -> Option<SteadyReport> {
        if rounds.length() == Nanos::ZERO {
            return None;
        }
        let steady = rounds.steady();
        Some(SteadyReport {
            round_ns: rounds.length().0,
            requests: rounds.finished().iter().map(|round| round.requests).collect(),
            first: steady.map(|s| s.first),
            excursion: steady.map(|s| s.excursion),
            slope: steady.map(|s| s.slope),
        })
    }
}
