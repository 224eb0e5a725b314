//! Steady state: five rounds that neither vary nor drift too much.
//!
//! The rule of the SNIA Solid State Storage Performance Test Specification 2.0.2, section 2.1.4: over five
//! consecutive rounds the largest and the smallest value differ by at most 20 % of their mean, and the
//! best-fit line (least squares) changes by at most 10 % of it from the first round to the last. The test
//! uses integers, so a value exactly on the limit passes on every machine.

/// Number of consecutive rounds that are judged together.
pub const ROUNDS: usize = 5;

/// Five consecutive rounds: one value of each, in any unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// The value of each round, oldest first.
    pub figures: [u64; ROUNDS],
}

impl Window {
    /// The last five values; `None` if there are fewer.
    pub fn last(figures: &[u64]) -> Option<Window> {
        figures.last_chunk().map(|&figures| Window { figures })
    }

    /// True if the rounds are in steady state. Rounds without any activity are not.
    pub fn is_steady(&self) -> bool {
        let sum = self.sum();
        // Relative to the mean, sum / 5: the excursion within 1/5, and the change of the line, 4 * (moment /
        // 10), within 1/10.
        sum > 0 && 25 * self.range() <= sum && 20 * self.moment().unsigned_abs() <= sum
    }

    /// Mean of the five values.
    pub fn mean(&self) -> f64 {
        self.figures.iter().map(|&figure| figure as f64).sum::<f64>() / ROUNDS as f64
    }

    /// Largest minus smallest, as a share of the mean; steady up to 0.2. 0 if all are 0.
    pub fn excursion(&self) -> f64 {
        self.share(self.range() as f64)
    }

    /// Change of the best-fit line from the first round to the last, as a share of the mean, negative if it
    /// falls; steady from -0.1 to 0.1. 0 if all are 0.
    pub fn drift(&self) -> f64 {
        self.share(self.moment() as f64 / 10.0 * 4.0)
    }

    /// The best-fit line at the first and at the last round.
    pub fn line(&self) -> (f64, f64) {
        // The sum of the squared distances of the rounds from the middle one is 10.
        let (mean, half) = (self.mean(), self.moment() as f64 / 5.0);
        (mean - half, mean + half)
    }

    fn share(&self, of: f64) -> f64 {
        let mean = self.mean();
        if mean == 0.0 { 0.0 } else { of / mean }
    }

    fn sum(&self) -> u128 {
        self.figures.iter().map(|&figure| u128::from(figure)).sum()
    }

    fn range(&self) -> u128 {
        let (least, most) =
            self.figures.iter().fold((u64::MAX, 0), |(least, most), &one| (least.min(one), most.max(one)));
        u128::from(most - least)
    }

    /// Sum of the values, each times its distance from the middle round: ten times the slope per round.
    fn moment(&self) -> i128 {
        let at = |index: usize| i128::from(self.figures[index]);
        2 * (at(4) - at(0)) + at(3) - at(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn is_steady(figures: [u64; ROUNDS]) -> bool {
        Window { figures }.is_steady()
    }

    #[test]
    fn an_excursion_of_a_fifth_of_the_mean_is_the_border() {
        assert!(is_steady([100, 90, 110, 100, 100]), "exactly 20 %");
        assert!(!is_steady([1000, 900, 1101, 1000, 1000]), "a little more");
    }

    #[test]
    fn a_line_that_changes_by_a_tenth_of_the_mean_is_the_border() {
        assert!(is_steady([950, 975, 1000, 1025, 1050]), "exactly 10 %");
        assert!(!is_steady([9499, 9750, 10_000, 10_250, 10_501]), "a little more");
        assert!(is_steady([1050, 1025, 1000, 975, 950]), "falling, exactly 10 %");
        assert!(!is_steady([10_501, 10_250, 10_000, 9750, 9499]), "falling, a little more");
    }

    #[test]
    fn nothing_is_not_steady_and_the_largest_figures_are_judged() {
        assert!(!is_steady([0; ROUNDS]));
        assert!(is_steady([u64::MAX; ROUNDS]));
        assert!(!is_steady([0, u64::MAX, 0, u64::MAX, 0]));
        assert_eq!(Window::last(&[1; 4]), None);
        assert_eq!(Window::last(&[9, 1, 2, 3, 4, 5]), Some(Window { figures: [1, 2, 3, 4, 5] }));
    }

    /// The same rule, with fractions and the formula of the normal equations:
    /// slope = (n Σxy - Σx Σy) / (n Σx² - (Σx)²), with rounds numbered from 1.
    fn by_normal_equations(figures: [u64; ROUNDS]) -> bool {
        let (n, mut x, mut y, mut xy, mut xx) = (ROUNDS as i128, 0, 0, 0, 0);
        for (index, &figure) in figures.iter().enumerate() {
            let (round, figure) = (index as i128 + 1, i128::from(figure));
            (x, y, xy, xx) = (x + round, y + figure, xy + round * figure, xx + round * round);
        }
        let (rise, run) = (n * xy - x * y, n * xx - x * x);
        let most = i128::from(*figures.iter().max().expect("five"));
        let least = i128::from(*figures.iter().min().expect("five"));
        let is_level = (rise * (n - 1)).abs() * 10 * n <= y * run;
        y > 0 && is_level && (most - least) * 5 * n <= y
    }

    proptest! {
        #[test]
        fn it_is_what_the_normal_equations_say(base in 0u64..2000, off in prop::array::uniform5(0u64..400)) {
            let figures = off.map(|off| base + off);
            prop_assert_eq!(is_steady(figures), by_normal_equations(figures));
        }

        #[test]
        fn the_line_has_the_least_squares(
            figures in prop::array::uniform5(0u64..10_000),
            tilt in -50.0f64..50.0,
            lift in -50.0f64..50.0,
        ) {
            let (first, last) = Window { figures }.line();
            let deviation = |first: f64, last: f64| -> f64 {
                let at = |index: usize| first + (last - first) * index as f64 / 4.0;
                figures.iter().enumerate().map(|(index, &one)| (one as f64 - at(index)).powi(2)).sum()
            };
            prop_assert!(deviation(first, last) <= deviation(first + lift - tilt, last + lift + tilt) + 1e-3);
        }
    }
}
