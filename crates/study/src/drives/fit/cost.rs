//! How far a prediction is from a measured row.

use crate::drives::comparison::{Quantity, quantities};
use crate::drives::{MeasuredRow, Measurement, PERCENTILES};

/// A prediction beside a measured row.
#[derive(Clone, Debug, PartialEq)]
pub struct RowFit {
    /// Quantity, predicted and measured figure, for each that both have.
    pub figures: Vec<(Quantity, f64, f64)>,
    /// What a search minimises: the mean of capped |ln(predicted ÷ measured)| of reads and of writes, and
    /// three times that of rates or write amplification. 0 is perfect; the least of cap and error counts.
    pub cost: f64,
}

impl RowFit {
    /// Of a prediction; of a drive that could not be run the cost is the greatest.
    pub fn of(row: &MeasuredRow, found: Option<&Measurement>) -> RowFit {
        let figures: Vec<(Quantity, f64, f64)> = quantities()
            .filter_map(|quantity| {
                Some((quantity, quantity.predicted_from(found?, LEAST_BEYOND)?, quantity.measured(row)?))
            })
            .filter(|(quantity, ..)| !is_of_one_request(*quantity))
            .collect();
        let mean = |belongs: fn(&Quantity) -> bool| {
            let errors: Vec<f64> = figures
                .iter()
                .filter(|(quantity, ..)| belongs(quantity))
                .map(|&(quantity, predicted, measured)| quantity.error(predicted, measured).min(CAP))
                .collect();
            (!errors.is_empty()).then(|| errors.iter().sum::<f64>() / errors.len() as f64)
        };
        let latencies = [
            mean(|quantity| matches!(quantity, Quantity::Read(_))),
            mean(|quantity| matches!(quantity, Quantity::Write(_))),
        ];
        let rates = mean(|quantity| !matches!(quantity, Quantity::Read(_) | Quantity::Write(_)));
        let count = latencies.iter().flatten().count().max(1) as f64;
        let cost = match found {
            None => CAP * (1.0 + RATE_WEIGHT),
            Some(_) => latencies.iter().flatten().sum::<f64>() / count + rates.unwrap_or(0.0) * RATE_WEIGHT,
        };
        RowFit { figures, cost }
    }

    /// The median of |predicted ÷ measured − 1| over its figures, where it has some; 2 µs of writes count as
    /// nothing.
    pub fn median_error(&self, belongs: impl Fn(&Quantity) -> bool) -> Option<f64> {
        let mut errors: Vec<f64> = self
            .figures
            .iter()
            .filter(|(quantity, ..)| belongs(quantity))
            .map(|&(quantity, predicted, measured)| {
                let error = quantity.error(predicted, measured);
                let signed = if predicted > measured { error } else { -error };
                (signed.exp() - 1.0).abs()
            })
            .collect();
        errors.sort_by(f64::total_cmp);
        errors.get(errors.len() / 2).copied()
    }
}

/// True of the slowest request and the percentile next to it: another seed has others.
fn is_of_one_request(quantity: Quantity) -> bool {
    let last = &PERCENTILES[PERCENTILES.len() - 2..];
    matches!(quantity, Quantity::Read(of) | Quantity::Write(of) if last.contains(&of))
}

/// A percentile counts with that many requests of a trial beyond it: p99.99 of a trial of five seconds. It is
/// noisy, but a search sees it some hundred times; without it nothing pins what decides p99.99 alone.
const LEAST_BEYOND: f64 = 2.4;
/// An error beyond a factor of 4 counts as that: one percentile shall not decide over all others.
const CAP: f64 = 2.0 * std::f64::consts::LN_2;
/// The sustained rate is wanted within 5 %, and percentiles within 15 %.
const RATE_WEIGHT: f64 = 3.0;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drives::{Latencies, Load, RandomWrites, RequestRate};

    fn found(read: f64, write: f64, writes_per_s: f64) -> Measurement {
        let latencies = |micros| Latencies { requests: 10_000_000, micros: [micros; PERCENTILES.len()] };
        Measurement {
            reads: latencies(read),
            writes: latencies(write),
            writes_per_s,
            ..Measurement::default()
        }
    }

    fn row() -> MeasuredRow {
        MeasuredRow {
            drive: "x".into(),
            load: Load::RandomWrites(RandomWrites { offered: RequestRate(100_000) }),
            reads: [Some(100.0); PERCENTILES.len()],
            writes: [Some(10.0); PERCENTILES.len()],
            reads_per_s: None,
            writes_per_s: Some(50_000.0),
            write_amplification: None,
            filled_ppm: None,
        }
    }

    fn cost(read: f64, write: f64, writes_per_s: f64) -> f64 {
        RowFit::of(&row(), Some(&found(read, write, writes_per_s))).cost
    }

    #[test]
    fn reads_writes_and_rates_count_apart_and_two_microseconds_of_writes_not_at_all() {
        assert_eq!(cost(100.0, 11.9, 50_000.0), 0.0);
        assert!((cost(200.0, 10.0, 50_000.0) - 2f64.ln() / 2.0).abs() < 1e-9);
        assert!(
            (cost(50.0, 10.0, 50_000.0) - 2f64.ln() / 2.0).abs() < 1e-9,
            "too fast is as wrong as too slow"
        );
        assert!((cost(100.0, 22.0, 50_000.0) - 2f64.ln() / 2.0).abs() < 1e-9);
        assert!((cost(100.0, 10.0, 25_000.0) - 3.0 * 2f64.ln()).abs() < 1e-9);
    }

    #[test]
    fn errors_are_capped_and_a_drive_that_cannot_run_is_the_worst() {
        assert_eq!(cost(1e9, 10.0, 50_000.0), CAP / 2.0);
        assert!(RowFit::of(&row(), None).cost > cost(1e9, 1e9, 40_000.0));
    }

    #[test]
    fn a_figure_that_either_side_does_not_have_is_left_out() {
        let mut found = found(100.0, 10.0, 50_000.0);
        found.reads.requests = 1_000;
        let fit = RowFit::of(&row(), Some(&found));
        let reads = fit.figures.iter().filter(|(quantity, ..)| matches!(quantity, Quantity::Read(_))).count();
        assert_eq!(reads, 6, "p10 to p99.5 have five requests beyond");
        assert_eq!(fit.median_error(|_| true), Some(0.0));
    }
}
