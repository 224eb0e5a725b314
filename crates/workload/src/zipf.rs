//! Ranks of a Zipf distribution: rank `k` of `1..=n` with a probability proportional to `k^-theta`.
//!
//! Logarithms and exponentials come from `libm` and not from the platform: the platform's differ
//! in the last bit between machines, and a run must draw the same requests everywhere.

use tailcut_base::random::Stream;

/// The exact Zipf distribution, by rejection-inversion: W. Hörmann and G. Derflinger,
/// "Rejection-inversion to generate variates from monotone discrete distributions", ACM TOMACS
/// 6(3), 1996. Constant memory; less than 1.2 draws per rank on average.
#[derive(Clone, Debug)]
pub struct Zipf {
    n: f64,
    theta: f64,
    /// The integral of the hat at the left end, one below its value at 1.5.
    low: f64,
    /// The integral of the hat at `n + 0.5`.
    high: f64,
    /// Distance from the rounded rank below which no test is needed.
    shortcut: f64,
}

impl Zipf {
    /// Over the ranks `1..=n`, with exponent `theta`.
    ///
    /// # Panics
    /// Unless `1 <= n <= 2^52` and `theta` is finite and above 0: a [`super::Recipe`] is checked before.
    pub fn new(n: u64, theta: f64) -> Zipf {
        assert!((1..=1 << 52).contains(&n) && theta.is_finite() && theta > 0.0);
        let n = n as f64;
        let shortcut = 2.0 - inverse(theta, integral(theta, 2.5) - density(theta, 2.0));
        Zipf { n, theta, low: integral(theta, 1.5) - 1.0, high: integral(theta, n + 0.5), shortcut }
    }

    /// The next rank, counted from 0, the most popular one.
    pub fn draw(&self, stream: &mut Stream) -> u64 {
        loop {
            let u = self.high + stream.unit() * (self.low - self.high);
            let x = inverse(self.theta, u);
            let rank = libm::floor(x + 0.5).clamp(1.0, self.n);
            if rank - x <= self.shortcut || u >= integral(self.theta, rank + 0.5) - density(self.theta, rank)
            {
                return rank as u64 - 1;
            }
        }
    }
}

/// `x^-theta`.
fn density(theta: f64, x: f64) -> f64 {
    libm::exp(-theta * libm::log(x))
}

/// The integral of the density from 1 to `x`: `(x^(1-theta) - 1) / (1 - theta)`, which becomes
/// `ln x` at `theta = 1`.
fn integral(theta: f64, x: f64) -> f64 {
    let log = libm::log(x);
    let t = (1.0 - theta) * log;
    // (e^t - 1) / t, by its series where the quotient would lose its digits.
    let factor = if t.abs() > 1e-8 { libm::expm1(t) / t } else { 1.0 + t * 0.5 };
    factor * log
}

/// The inverse of [`integral`].
fn inverse(theta: f64, y: f64) -> f64 {
    // Rounding may carry the product past the pole at -1, where the answer is the largest rank.
    let t = ((1.0 - theta) * y).max(-1.0);
    let factor = if t.abs() > 1e-8 { libm::log1p(t) / t } else { 1.0 - t * 0.5 };
    libm::exp(factor * y)
}

/// The generator of YCSB's `ZipfianGenerator`, which is that of J. Gray et al., "Quickly generating
/// billion-record synthetic databases", SIGMOD 1994, section 3.
///
/// It is an approximation: ranks 1 and 2 are right, the ranks behind them are drawn from a
/// continuous curve, which gives rank 3 and its neighbours up to half a percentage point too much
/// or too little. Kept so that a YCSB run can be repeated as YCSB does it; use [`Zipf`] otherwise.
#[derive(Clone, Debug)]
pub struct YcsbZipf {
    n: f64,
    alpha: f64,
    zeta_n: f64,
    eta: f64,
    /// The sum of the weights of the first two ranks.
    two: f64,
}

impl YcsbZipf {
    /// Over `n` ranks, with exponent `theta`.
    ///
    /// # Panics
    /// Unless `n >= 1` and `0 < theta < 1`, the range of the formula.
    pub fn new(n: u64, theta: f64) -> YcsbZipf {
        assert!(n >= 1 && theta > 0.0 && theta < 1.0);
        let two = 1.0 + libm::pow(0.5, theta);
        let zeta_n = zeta(n, theta);
        let n = n as f64;
        let eta = (1.0 - libm::pow(2.0 / n, 1.0 - theta)) / (1.0 - two / zeta_n);
        YcsbZipf { n, alpha: 1.0 / (1.0 - theta), zeta_n, eta, two }
    }

    /// The next rank, counted from 0, the most popular one.
    pub fn draw(&self, stream: &mut Stream) -> u64 {
        let u = stream.unit();
        let scaled = u * self.zeta_n;
        if scaled < 1.0 {
            return 0;
        }
        if scaled < self.two {
            return 1;
        }
        let rank = libm::floor(self.n * libm::pow(self.eta * u - self.eta + 1.0, self.alpha));
        rank.clamp(0.0, self.n - 1.0) as u64
    }
}

/// The sum of `k^-theta` over `1..=n` for `0 < theta < 1`: the head term by term, the rest by the
/// Euler–Maclaurin formula, with an error below 1e-12. Term by term throughout would take seconds
/// for a large drive.
pub fn zeta(n: u64, theta: f64) -> f64 {
    let head = n.min(HEAD);
    let sum: f64 = (1..=head).map(|k| density(theta, k as f64)).sum();
    if n == head {
        return sum;
    }
    let (a, b) = (head as f64, n as f64);
    let (at_a, at_b) = (density(theta, a), density(theta, b));
    let area = integral(theta, b) - integral(theta, a);
    let slopes = theta * (at_a / a - at_b / b);
    sum + area + (at_b - at_a) / 2.0 + slopes / 12.0
}

/// How many terms [`zeta`] adds one by one.
const HEAD: u64 = 1000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_closed_form_of_zeta_equals_the_sum() {
        for theta in [0.2, 0.5, 0.99] {
            let sum: f64 = (1..=50_000).map(|k| density(theta, f64::from(k))).sum();
            assert!((zeta(50_000, theta) / sum - 1.0).abs() < 1e-11, "theta {theta}");
        }
    }

    #[test]
    fn integral_and_inverse_undo_each_other_on_both_sides_of_one() {
        for theta in [0.1, 0.999_999_999, 1.0, 1.000_000_001, 1.5, 4.0] {
            for x in [0.6, 1.0, 1.5, 7.0, 1e3] {
                let back = inverse(theta, integral(theta, x));
                assert!((back / x - 1.0).abs() < 1e-6, "theta {theta}, x {x}: {back}");
            }
        }
    }

    #[test]
    fn a_single_rank_and_extreme_exponents_stay_in_range() {
        let mut stream = Stream::new(1, "test");
        for n in [1, 2, 3, 1 << 40] {
            for theta in [1e-6, 0.5, 1.0, 3.0, 20.0] {
                let zipf = Zipf::new(n, theta);
                assert!((0..1000).all(|_| zipf.draw(&mut stream) < n), "n {n}, theta {theta}");
            }
            let ycsb = YcsbZipf::new(n, 0.99);
            assert!((0..1000).all(|_| ycsb.draw(&mut stream) < n), "n {n}");
        }
    }
}
