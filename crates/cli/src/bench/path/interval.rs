//! The median of a few figures, and how far it can be trusted.

/// A median with its confidence interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Interval {
    /// Number of figures that the median is of.
    pub count: usize,
    /// The median; of an even number the upper one.
    pub median: f64,
    /// Lower end of the confidence interval.
    pub low: f64,
    /// Upper end of the confidence interval.
    pub high: f64,
    /// The chance that the true median lies between the ends is at least 95 %. With fewer than six figures
    /// that is impossible: the ends are then the least and the most.
    pub is_certain: bool,
}

impl Interval {
    /// Of some figures; `None` without figures. The ends are figures themselves, the innermost between
    /// which the median lies with 95 % under any distribution (order statistics: David and Nagaraja 2003,
    /// section 7.1).
    pub(super) fn of(mut figures: Vec<f64>) -> Option<Interval> {
        figures.sort_by(f64::total_cmp);
        let count = figures.len();
        let inner = (0..count.div_ceil(2)).take_while(|&outside| tails(count, outside) <= 0.05).last();
        let outside = inner.unwrap_or(0);
        Some(Interval {
            count,
            median: *figures.get(count / 2)?,
            low: figures[outside],
            high: figures[count - 1 - outside],
            is_certain: inner.is_some(),
        })
    }

    /// In another unit.
    pub(super) fn scaled(self, by: f64) -> Interval {
        Interval { median: self.median * by, low: self.low * by, high: self.high * by, ..self }
    }
}

/// The chance that of `count` figures at most `outside` lie below the median, or at most `outside` above
/// it.
fn tails(count: usize, outside: usize) -> f64 {
    let mut ways = 1.0;
    let mut sum = 0.0;
    for below in 0..=outside {
        sum += ways;
        ways *= (count - below) as f64 / (below + 1) as f64;
    }
    2.0 * sum / 2f64.powi(count as i32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ends_are_those_of_the_tables() {
        let of = |count: u32| {
            let interval = Interval::of((1..=count).map(f64::from).collect()).expect("there are figures");
            (interval.low, interval.high, interval.is_certain)
        };
        assert_eq!(of(5), (1.0, 5.0, false), "2 / 2^5 is more than 5 %");
        assert_eq!(of(6), (1.0, 6.0, true));
        assert_eq!(of(7), (1.0, 7.0, true));
        assert_eq!(of(9), (2.0, 8.0, true), "2 × (1 + 9) / 2^9");
        assert_eq!(of(20), (6.0, 15.0, true));
    }

    #[test]
    fn nothing_has_no_median() {
        assert_eq!(Interval::of(Vec::new()), None);
        assert_eq!(Interval::of(vec![3.0, 1.0, 2.0]).map(|it| it.median), Some(2.0));
    }
}
