//! Selection of the loads of a matrix that are examined in detail: those with the most and the fewest I/Os
//! per second, and one between.

use crate::cell::Cell;
use crate::figures::{Figures, Metric};
use tailcut_base::Nanos;

/// A load that is examined in detail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Point {
    /// The most I/Os per second with a mean response time below 5 ms.
    Most,
    /// The load whose I/Os per second are closest to the middle between the most and the fewest.
    Middle,
    /// One thread with one I/O.
    Fewest,
}

/// Largest mean response time of the point with the most I/Os per second.
pub(crate) const PATIENCE: Nanos = Nanos::millis(5);

impl Point {
    /// All points, in the order of measurement.
    pub const ALL: [Point; 3] = [Point::Most, Point::Middle, Point::Fewest];

    /// Name of the point in tables, such as `max IOPS`.
    pub fn name(self) -> &'static str {
        match self {
            Point::Most => "max IOPS",
            Point::Middle => "mid IOPS",
            Point::Fewest => "min IOPS",
        }
    }

    /// The load of a round that is this point, the first of equal ones; None if there is no round. If no load
    /// is fast enough for [`Point::Most`], the limit is ignored.
    pub fn choose(self, round: &[(Cell, Figures)]) -> Option<Cell> {
        let quick: Vec<(Cell, Figures)> = round.iter().copied().filter(is_quick).collect();
        let pool = if quick.is_empty() { round } else { &quick };
        let most = pool.iter().rev().max_by_key(|(_, figures)| rate(figures))?;
        let fewest = round.iter().min_by_key(|(cell, _)| cell.load().depth)?;
        let middle = rate(&most.1) / 2 + rate(&fewest.1) / 2;
        let chosen = match self {
            Point::Most => most,
            Point::Fewest => fewest,
            Point::Middle => pool.iter().min_by_key(|(_, figures)| rate(figures).abs_diff(middle))?,
        };
        Some(chosen.0)
    }
}

fn rate(figures: &Figures) -> u64 {
    figures.metric(Metric::Iops)
}

fn is_quick((_, figures): &(Cell, Figures)) -> bool {
    figures.ios > 0 && figures.latency_sum < u128::from(figures.ios) * u128::from(PATIENCE.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Loads, each given as depth, IOPS, and mean response time in ms.
    fn round(of: &[(u32, u64, u64)]) -> Vec<(Cell, Figures)> {
        let one = |&(depth, ios, mean): &(u32, u64, u64)| {
            let figures = Figures {
                ios,
                took: Nanos::secs(1),
                latency_sum: u128::from(ios) * u128::from(mean) * 1_000_000,
                ..Figures::default()
            };
            (Cell::random(65, 8192, (1, depth)), figures)
        };
        of.iter().map(one).collect()
    }

    fn chosen(of: &[(u32, u64, u64)]) -> [Option<u32>; 3] {
        Point::ALL.map(|point| point.choose(&round(of)).map(|cell| cell.queue))
    }

    #[test]
    fn the_most_are_those_that_come_quickly_enough() {
        assert_eq!(
            chosen(&[(32, 900, 5), (8, 800, 4), (4, 450, 1), (1, 100, 1)]),
            [Some(8), Some(4), Some(1)]
        );
        assert_eq!(
            chosen(&[(8, 800, 1), (4, 800, 1), (1, 800, 1)]),
            [Some(8), Some(8), Some(1)],
            "the first"
        );
    }

    #[test]
    fn where_none_is_quick_the_most_are_taken_all_the_same() {
        assert_eq!(chosen(&[(8, 700, 9), (4, 800, 8), (1, 10, 7)]), [Some(4), Some(8), Some(1)]);
        assert_eq!(chosen(&[]), [None; 3]);
    }
}
