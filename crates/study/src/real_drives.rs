//! Drives that can be bought under the tests that were published of them, point by point.
//!
//! No [`Study`](super::Study): its runs are tests of [`drives`](crate::drives) and no scenarios, and its
//! points may come from a file.

use super::Row;
use crate::drives::catalogue::{DRIVES, RealDrive};
use crate::drives::{Load, MeasuredRow, Measurement, PERCENTILES, Point, Quantity, comparison};
use std::collections::BTreeMap;

/// The name of the study on the command line.
pub const ID: &str = "real-drives";

/// The title of the study.
pub const TITLE: &str = "Drives that can be bought: latency percentiles and rates at each point";

/// The works that published the measurements.
pub const SOURCE: &str =
    "Haas et al., SSD-iq, PVLDB 18 (2025); Doekemeijer et al., CLUSTER 2023; figures only from --measured";

/// The points of the study where no file names others: every drive at the rates that its preset was fitted
/// to; of the quick form, at the two lowest.
pub fn default_points(quick: bool) -> Vec<Point> {
    let points = |drive: &'static RealDrive| {
        let rates = drive.fitted.iter().filter(|load| matches!(load, Load::RandomWrites(_)));
        rates
            .take(if quick { 2 } else { usize::MAX })
            .map(|&load| Point { drive: drive.id.to_string(), load })
    };
    DRIVES.iter().flat_map(points).collect()
}

/// Whether points that a drive was fitted to are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fitted {
    /// The drives are presets: their fitted points are marked, and count in no error.
    Marked,
    /// The drives are others.
    Unknown,
}

/// The rows of one point after another: each figure the median of the point's runs (one for each seed),
/// beside what `measured` has of the same drive and load. Drives with measured rows end with their median
/// errors, over points that their preset was fitted to and over others.
pub fn rows(
    points: &[Point],
    found: &[Vec<Measurement>],
    measured: &[MeasuredRow],
    fitted: Fitted,
) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut errors = Errors { fitted, of: BTreeMap::new(), saturated: Vec::new() };
    for (point, runs) in points.iter().zip(found) {
        let real = measured.iter().find(|row| is_same(point, row));
        let is_fitted = fitted == Fitted::Marked && is_fitted(point);
        let counts = real.is_some_and(|row| errors.counts((point, is_fitted), row));
        for quantity in comparison::quantities() {
            let Some(predicted) = median(runs.iter().filter_map(|run| quantity.predicted(run)).collect())
            else {
                continue;
            };
            let paper = real.and_then(|row| quantity.measured(row));
            if counts && let Some(paper) = paper {
                errors.add((point, is_fitted), quantity, predicted, paper);
            }
            let row = Row::new(case(point), quantity.to_string(), quantity.unit(), predicted).paper(paper);
            rows.push(match is_fitted {
                true => row.note("fitted"),
                false => row.explain("An error of the model at this point."),
            });
        }
    }
    rows.extend(errors.rows());
    rows
}

/// `DRIVE LOAD`, without the drive where the point does not name it.
pub fn case(point: &Point) -> String {
    format!("{} {}", point.drive, point.load).trim().to_string()
}

/// Whether a row was measured at the point. A drive may be called by its short name or its preset.
fn is_same(point: &Point, row: &MeasuredRow) -> bool {
    point.load == row.load && is_same_drive(&point.drive, &row.drive)
}

/// Whether two names are of one drive: its short name, or that of its preset.
pub fn is_same_drive(a: &str, b: &str) -> bool {
    let id =
        |name: &str| RealDrive::by_name(name).map_or_else(|| name.to_string(), |drive| drive.id.to_string());
    id(a) == id(b)
}

fn is_fitted(point: &Point) -> bool {
    RealDrive::by_name(&point.drive).is_some_and(|drive| drive.fitted.contains(&point.load))
}

/// The middle one; of an even number the mean of both in the middle.
fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let upper = values.get(values.len() / 2)?;
    let lower = values[(values.len() - 1) / 2];
    Some((lower + upper) / 2.0)
}

/// The errors |predicted ÷ measured − 1| of each drive.
struct Errors {
    fitted: Fitted,
    /// By drive, whether its preset was fitted to the points, and quantities.
    of: BTreeMap<(String, bool, &'static str), Vec<f64>>,
    /// Drives of which a saturated row counts already, fitted or not: its copies at higher rates add nothing.
    saturated: Vec<(String, bool)>,
}

impl Errors {
    /// Whether a measured row counts.
    fn counts(&mut self, (point, is_fitted): (&Point, bool), row: &MeasuredRow) -> bool {
        let is_random_writes = matches!(row.load, Load::RandomWrites(_));
        if !is_random_writes || !row.is_saturated() {
            return true;
        }
        let of_drive = (point.drive.clone(), is_fitted);
        let is_first = !self.saturated.contains(&of_drive);
        self.saturated.push(of_drive);
        is_first
    }

    fn add(&mut self, (point, is_fitted): (&Point, bool), quantity: Quantity, predicted: f64, measured: f64) {
        let group = match quantity {
            Quantity::Read(of) if JUDGED.contains(&of.percent) => "median error of reads up to p99.9",
            Quantity::Read(of) if of.percent == 99.99 => "median error of reads at p99.99",
            Quantity::Write(of) if JUDGED.contains(&of.percent) => "median error of writes up to p99.9",
            Quantity::Write(of) if of.percent == 99.99 => "median error of writes at p99.99",
            Quantity::Reads | Quantity::Writes => "median error of rates",
            Quantity::Amplification => "median error of write amplification",
            Quantity::Read(_) | Quantity::Write(_) => return,
        };
        let error = quantity.error(predicted, measured);
        let signed = if predicted > measured { error } else { -error };
        self.of.entry((point.drive.clone(), is_fitted, group)).or_default().push((signed.exp() - 1.0).abs());
    }

    fn rows(self) -> impl Iterator<Item = Row> {
        let of_others = if self.fitted == Fitted::Marked { " that were not fitted" } else { "" };
        self.of.into_iter().map(move |((drive, is_fitted, group), errors)| {
            let (which, points) = if is_fitted { (" that were fitted", ", fitted") } else { (of_others, "") };
            let note = format!("of {} figures{which}", errors.len());
            Row::new(drive, format!("{group}{points}"), "share", median(errors)).note(note)
        })
    }
}

/// Percentiles that count in one median, in per cent.
const JUDGED: std::ops::RangeInclusive<f64> = 50.0..=99.9;

/// How many figures a point has at the most, for readers of tables.
pub const FIGURES: usize = 2 * PERCENTILES.len() + 3;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drives::{Latencies, RandomWrites, RequestRate};

    fn point(drive: &str, offered: u64) -> Point {
        Point {
            drive: drive.into(),
            load: Load::RandomWrites(RandomWrites { offered: RequestRate(offered) }),
        }
    }

    fn found(micros: f64) -> Measurement {
        let latencies = Latencies { requests: 1_000_000, micros: [micros; PERCENTILES.len()] };
        Measurement { reads: latencies.clone(), writes: latencies, ..Measurement::default() }
    }

    fn measured(drive: &str, offered: u64, micros: f64, writes_per_s: f64) -> MeasuredRow {
        let Point { drive, load } = point(drive, offered);
        MeasuredRow {
            drive,
            load,
            reads: [Some(micros); PERCENTILES.len()],
            writes: [Some(micros); PERCENTILES.len()],
            reads_per_s: None,
            writes_per_s: Some(writes_per_s),
            write_amplification: None,
            filled_ppm: None,
        }
    }

    #[test]
    fn fitted_points_are_marked_and_have_errors_of_their_own() {
        let points = [point("s0", 10_000), point("s0", 20_000)];
        let runs = [vec![found(100.0)], vec![found(110.0)]];
        let real = [measured("s0", 10_000, 50.0, 9_950.0), measured("s0", 20_000, 100.0, 19_850.0)];
        let rows = rows(&points, &runs, &real, Fitted::Marked);
        let of = |case: &str, quantity: &str| {
            rows.iter().find(|row| row.case == case && row.quantity == quantity).expect("a row")
        };
        assert_eq!(of("s0 10000", "read p50").note.as_deref(), Some("fitted"));
        assert_eq!(of("s0 20000", "read p50").ratio, Some(1.1));
        let error = of("s0", "median error of reads up to p99.9").measured.expect("a figure");
        assert!((error - 0.1).abs() < 1e-9, "{error}");
        let error = of("s0", "median error of reads up to p99.9, fitted").measured.expect("a figure");
        assert!((error - 1.0).abs() < 1e-9, "{error}");
        // 2 of 10 µs are no error of a write.
        let error = of("s0", "median error of writes up to p99.9").measured.expect("a figure");
        assert!((error - 0.08).abs() < 1e-9, "{error}");
    }

    #[test]
    fn a_preset_is_the_drive_of_its_id_and_a_second_saturated_row_is_a_copy() {
        let points = [point("pm9a3-960", 150_000), point("pm9a3-960", 300_000)];
        let runs = [vec![found(100.0)], vec![found(500.0)]];
        let real = [measured("s0", 150_000, 100.0, 70_000.0), measured("s0", 300_000, 100.0, 70_000.0)];
        let rows = rows(&points, &runs, &real, Fitted::Marked);
        let error =
            rows.iter().find(|row| row.quantity == "median error of reads up to p99.9").expect("a row");
        assert_eq!(error.measured, Some(0.0));
    }

    #[test]
    fn a_fitted_saturated_row_leaves_its_place_to_one_that_was_not_fitted() {
        let points = [point("s0", 200_000), point("s0", 150_000)];
        let runs = [vec![found(100.0)], vec![found(110.0)]];
        let real = [measured("s0", 200_000, 100.0, 70_000.0), measured("s0", 150_000, 100.0, 70_000.0)];
        let rows = rows(&points, &runs, &real, Fitted::Marked);
        let of =
            |quantity: &str| rows.iter().find(|row| row.quantity == quantity).and_then(|row| row.measured);
        assert_eq!(of("median error of reads up to p99.9, fitted"), Some(0.0));
        let error = of("median error of reads up to p99.9").expect("it counts");
        assert!((error - 0.1).abs() < 1e-9, "{error}");
    }

    #[test]
    fn the_median_of_seeds_is_given() {
        let runs = vec![found(90.0), found(200.0), found(100.0)];
        let rows = rows(&[point("k4", 10_000)], &[runs], &[], Fitted::Marked);
        assert_eq!((rows[0].measured, rows[0].paper), (Some(100.0), None));
        assert!(rows.len() <= FIGURES);
    }
}
