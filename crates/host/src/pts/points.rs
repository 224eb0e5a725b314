//! Which loads of a matrix are looked at closer: the one with the most I/Os per second, the one with the fewest, and one between.

use super::cell::Cell;
use super::figures::Figures;
use tailcut_base::Nanos;

/// A load that is looked at closer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Point {
    /// The most I/Os per second with a mean response time below 5 ms.
    Most,
    /// The one whose I/Os per second are nearest to the middle between the most and the fewest.
    Middle,
    /// One thread with one I/O.
    Fewest,
}

/// The mean response time below which a point may be the one with the most I/Os per second.
pub const PATIENCE: Nanos = Nanos::millis(5);

impl Point {
    /// In the order in which they are looked at.
    pub const ALL: [Point; 3] = [Point::Most, Point::Middle, Point::Fewest];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Point::Most => "max IOPS",
            Point::Middle => "mid IOPS",
            Point::Fewest => "min IOPS",
        }
    }

    /// The load of a round that is this point; none if there is no round. Of equal ones it is the first. Where none is quick enough
    /// to be [`Point::Most`], patience is given up.
    pub fn choose(self, round: &[(Cell, Figures)]) -> Option<Cell> {
        let rate = |figures: &Figures| figures.metric(super::Metric::Iops);
        let fewest = round.iter().min_by_key(|(cell, _)| cell.load().depth)?;
        let quick = |(_, figures): &&(Cell, Figures)| {
            figures.ios > 0 && figures.latency_sum < u128::from(figures.ios) * u128::from(PATIENCE.0)
        };
        let first_most = |all: &mut dyn Iterator<Item = &(Cell, Figures)>| -> Option<(Cell, Figures)> {
            all.fold(None, |best: Option<(Cell, Figures)>, &one| match best {
                Some(best) if rate(&best.1) >= rate(&one.1) => Some(best),
                _ => Some(one),
            })
        };
        let most = first_most(&mut round.iter().filter(quick)).or_else(|| first_most(&mut round.iter()))?;
        match self {
            Point::Most => Some(most.0),
            Point::Fewest => Some(fewest.0),
            Point::Middle => {
                let middle = rate(&most.1) / 2 + rate(&fewest.1) / 2;
                let off = |figures: &Figures| rate(figures).abs_diff(middle);
                let pool: Vec<&(Cell, Figures)> = round.iter().filter(quick).collect();
                pool.iter().min_by_key(|(_, figures)| off(figures)).map_or(Some(most.0), |one| Some(one.0))
            }
        }
    }
}
