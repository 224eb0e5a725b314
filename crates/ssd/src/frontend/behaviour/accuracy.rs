//! How well something was predicted.

use tailcut_base::Nanos;

/// Times of one kind, and how well they were predicted.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Accuracy {
    /// Number of times observed, whether they had been predicted or not.
    pub observed: u64,
    /// Number of observed times that had been predicted.
    pub predicted: u64,
    /// Sum of the observed times in ns.
    pub sum: f64,
    /// Sum of the squares of the observed times, in ns².
    pub squares: f64,
    /// Sum of the predicted times.
    predicted_sum: f64,
    /// Sum of the squares of the differences.
    error_squares: f64,
}

impl Accuracy {
    /// Mean observed time in ns; 0 if there is none.
    pub fn mean(&self) -> f64 {
        self.sum / self.observed.max(1) as f64
    }

    /// Standard deviation of the observed times in ns; 0 if there is none.
    pub fn deviation(&self) -> f64 {
        (self.squares / self.observed.max(1) as f64 - self.mean() * self.mean()).max(0.0).sqrt()
    }

    /// Mean predicted time in ns; 0 if there is none.
    pub fn predicted_mean(&self) -> f64 {
        self.predicted_sum / self.predicted.max(1) as f64
    }

    /// Root mean square of the differences of predicted and observed times, in ns; 0 if nothing was
    /// predicted.
    pub fn error(&self) -> f64 {
        (self.error_squares / self.predicted.max(1) as f64).sqrt()
    }

    pub(super) fn note(&mut self, observed: Nanos, predicted: Option<Nanos>) {
        let observed = observed.0 as f64;
        self.observed += 1;
        self.sum += observed;
        self.squares += observed * observed;
        if let Some(predicted) = predicted {
            let predicted = predicted.0 as f64;
            self.predicted += 1;
            self.predicted_sum += predicted;
            self.error_squares += (predicted - observed) * (predicted - observed);
        }
    }
}

/// The last three times of one kind.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LastThree {
    times: [Nanos; 3],
    count: u64,
}

impl LastThree {
    pub(super) fn add(&mut self, time: Nanos) {
        self.times[(self.count % 3) as usize] = time;
        self.count += 1;
    }

    /// Their mean, rounded down, once there are three.
    pub(super) fn mean(&self) -> Option<Nanos> {
        (self.count >= 3).then(|| self.times.iter().copied().sum::<Nanos>() / 3)
    }
}
