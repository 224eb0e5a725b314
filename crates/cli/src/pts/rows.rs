//! The results of a test as the rows that studies have.

use tailcut_base::histogram::LatencyHistogram;
use tailcut_base::steady::Window;
use tailcut_pts::{Averages, Cell, Convergence, Metric, Procedure, Record, Test, Work};
use tailcut_study::Row;

/// All results of a test, as far as it came. A row is known by its test, case and quantity.
pub(super) fn rows(test: &Procedure) -> Vec<Row> {
    match test.test {
        Test::Iops | Test::Throughput | Test::Latency => matrices(test).chain(histograms(test)).collect(),
        Test::WriteSaturation => saturation(test).into_iter().chain(histograms(test)).collect(),
        Test::HostIdleRecovery => precondition(test).into_iter().chain(idle(test)).collect(),
        Test::CrossStimulusRecovery => cross(test),
        Test::CompositeBlockSize | Test::DemandIntensity => {
            precondition(test).into_iter().chain(matrices(test)).chain(histograms(test)).collect()
        }
    }
}

/// The name of a case: with threads and queue where the test varies them.
pub(super) fn case(test: Test, cell: &Cell) -> String {
    match test {
        Test::CompositeBlockSize | Test::DemandIntensity => format!("{} {cell}", cell.demand()),
        _ => cell.to_string(),
    }
}

/// A quantity that is shown for each cell of a matrix.
type Quantity = (&'static str, &'static str, fn(&Averages) -> f64);

const IOPS: Quantity = ("IOPS", "1/s", |of| of.iops);
const THROUGHPUT: Quantity = ("throughput", "B/s", |of| of.throughput);
const MEAN: Quantity = ("average latency", "s", |of| of.mean / 1e9);
const FIVE_NINES: Quantity = ("99.999% latency", "s", |of| of.five_nines / 1e9);
const LONGEST: Quantity = ("maximum latency", "s", |of| of.longest / 1e9);

/// The quantities that a test reports for each cell of its rounds.
pub(super) fn quantities(test: Test) -> &'static [Quantity] {
    match test {
        Test::Iops => &[IOPS],
        Test::Throughput => &[THROUGHPUT],
        Test::Latency => &[MEAN, FIVE_NINES, LONGEST, IOPS],
        _ => &[IOPS, MEAN],
    }
}

/// Stages with rounds of different loads; others have one load again and again.
pub(super) fn matrix_stages(test: &Procedure) -> impl Iterator<Item = (&Convergence, &[Cell])> {
    test.convergences().iter().filter_map(|convergence| {
        let Work::Rounds(rounds) = &test.stages()[convergence.stage].work else {
            unreachable!("it has rounds")
        };
        let is_matrix = rounds.cells.iter().any(|cell| *cell != rounds.cells[0]);
        is_matrix.then_some((convergence, rounds.cells.as_slice()))
    })
}

fn matrices(test: &Procedure) -> impl Iterator<Item = Row> {
    matrix_stages(test).flat_map(move |(convergence, cells)| {
        let of = |quantity: &'static Quantity| {
            cells.iter().enumerate().filter_map(move |(place, cell)| {
                let averages = test.averages(convergence, place)?;
                let &(name, unit, of) = quantity;
                Some(Row::new(case(test.test, cell), name, unit, of(&averages)))
            })
        };
        quantities(test.test).iter().flat_map(of).collect::<Vec<Row>>()
    })
}

/// Percentiles of a histogram.
pub(super) const PERCENTILES: [f64; 6] = [50.0, 99.0, 99.9, 99.99, 99.999, 99.9999];

fn histograms(test: &Procedure) -> impl Iterator<Item = Row> {
    test.records().iter().filter_map(|record| Some((record, record.latency.as_ref()?))).flat_map(
        move |(record, latency)| {
            let name = &test.stages()[record.stage].name;
            let case = format!("{name} {} {}", record.cell.demand(), record.cell);
            of_histogram(case, record, latency)
        },
    )
}

fn of_histogram(case: String, record: &Record, latency: &LatencyHistogram) -> Vec<Row> {
    let row = |quantity: String, unit, figure: f64| Row::new(case.clone(), quantity, unit, figure);
    let percentile =
        |&percent: &f64| row(format!("{percent}% latency"), "s", latency.percentile(percent).0 as f64 / 1e9);
    let mut rows = vec![
        row("IOPS".into(), "1/s", record.figures.iops()),
        row("average latency".into(), "s", record.figures.mean() / 1e9),
    ];
    rows.extend(PERCENTILES.iter().map(percentile));
    rows.push(row("maximum latency".into(), "s", latency.max().0 as f64 / 1e9));
    rows
}

/// I/Os per second of the measurement window of rounds of one load.
fn settled(test: &Procedure, stage: &str) -> Option<(String, f64, f64)> {
    let convergence = test.convergences().iter().find(|one| test.stages()[one.stage].name == stage)?;
    let track = convergence.tracks.first()?;
    let mean = match Window::last(&track.values) {
        Some(window) => window.mean(),
        // What ends before its fifth round has its last sample.
        None => test.of_stage(convergence.stage).last()?.figures.metric(track.metric) as f64,
    };
    let written = test.of_stage(convergence.stage).map(|record| record.figures.bytes as f64).sum();
    Some((track.cell.to_string(), Metric::Iops.shown(mean), written))
}

fn precondition(test: &Procedure) -> Option<Row> {
    let (case, rate, _) = settled(test, "precondition")?;
    Some(Row::new(format!("precondition {case}"), "IOPS", "1/s", rate))
}

fn saturation(test: &Procedure) -> Vec<Row> {
    let (Some((case, rate, written)), Some(first)) = (settled(test, "saturation"), test.of_stage(1).next())
    else {
        return Vec::new();
    };
    let fresh = first.figures.iops();
    vec![
        Row::new(case.clone(), "IOPS, first sample", "1/s", fresh),
        Row::new(case.clone(), "IOPS, saturated", "1/s", rate),
        Row::new(case.clone(), "saturated over first sample", "x", (fresh > 0.0).then(|| rate / fresh)),
        Row::new(case, "written until saturated", "B", written),
    ]
}

/// A series, in words and figures.
fn series(test: &Procedure) -> impl Iterator<Item = (&str, Vec<&Record>)> {
    let is_series = |work: &Work| matches!(work, Work::Series { .. });
    test.stages().iter().enumerate().filter(move |(_, stage)| is_series(&stage.work)).filter_map(
        |(number, stage)| {
            let records: Vec<&Record> = test.of_stage(number).collect();
            (!records.is_empty()).then_some((stage.name.as_str(), records))
        },
    )
}

fn idle(test: &Procedure) -> Vec<Row> {
    let of = |(name, records): (&str, Vec<&Record>)| {
        let mean = records.iter().map(|record| record.figures.iops()).sum::<f64>() / records.len() as f64;
        let longest = records.iter().map(|record| record.figures.longest.0).max().unwrap_or(0);
        [Row::new(name, "IOPS", "1/s", mean), Row::new(name, "maximum latency", "s", longest as f64 / 1e9)]
    };
    series(test).flat_map(of).collect()
}

fn cross(test: &Procedure) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    for (name, records) in series(test) {
        let last = records.last().expect("a series that has begun").figures;
        let mean_of =
            |of: fn(&Record) -> f64| records.iter().map(|one| of(one)).sum::<f64>() / records.len() as f64;
        let peak = |of: fn(&Record) -> f64| records.iter().map(|one| of(one)).fold(0.0, f64::max);
        rows.push(Row::new(name, "throughput", "B/s", mean_of(|one| one.figures.throughput())));
        rows.push(Row::new(name, "throughput, last sample", "B/s", last.throughput()));
        rows.push(Row::new(name, "average latency, peak", "s", peak(|one| one.figures.mean()) / 1e9));
        rows.push(Row::new(name, "maximum latency", "s", peak(|one| one.figures.longest.0 as f64) / 1e9));
    }
    if let Some(row) = recovery(test) {
        rows.push(row);
    }
    rows
}

/// How long the third group takes to come back to the mean of the first.
fn recovery(test: &Procedure) -> Option<Row> {
    let groups: Vec<Vec<&Record>> = series(test).map(|(_, records)| records).collect();
    let [first, _, third] = groups.as_slice() else { return None };
    let mean = first.iter().map(|record| record.figures.throughput()).sum::<f64>() / first.len() as f64;
    // To a hundredth: a mean is above half of what it is made of.
    let is_quick = |record: &&&Record| record.figures.throughput() >= 0.99 * mean;
    let mut spent = 0.0;
    let mut samples = third.iter();
    let back = samples.find(|record| {
        spent += record.figures.took.as_secs_f64();
        is_quick(record)
    });
    let row = Row::new("recovery", "until group 3 is as quick as group 1", "s", back.map(|_| spent));
    Some(match back {
        None => row.note("not within the group"),
        Some(_) if samples.any(|record| !is_quick(&record)) => {
            row.note("for the first time: later samples are slower again")
        }
        Some(_) => row,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailcut_base::Nanos;
    use tailcut_pts::{Figures, Form, Outcome, Settings, Step};

    /// The recovery of a third group with these bytes in its samples; the first group had 100 bytes in each.
    fn recovered(third: [u64; 8]) -> Row {
        let mut test = Procedure::new(Test::CrossStimulusRecovery, Settings::quick(Form::Client, 1 << 30));
        let samples = [100; 8].into_iter().chain([10; 6]).chain(third);
        let mut bytes = samples.map(|bytes| Figures { bytes, took: Nanos::secs(1), ..Figures::default() });
        while let Some(step) = test.next() {
            test.told(match step {
                Step::Load(_) => {
                    Outcome::Measured { figures: bytes.next().expect("22 samples"), latency: None }
                }
                Step::Purge | Step::Rest(_) => Outcome::Done,
            });
        }
        rows(&test).pop().expect("it has rows")
    }

    #[test]
    fn a_recovery_that_does_not_last_says_so() {
        let lasting = recovered([50, 80, 100, 99, 101, 100, 100, 100]);
        assert_eq!((lasting.measured, lasting.note), (Some(3.0), None));
        let passing = recovered([50, 100, 100, 60, 100, 100, 100, 100]);
        assert_eq!(passing.measured, Some(2.0));
        assert!(passing.note.is_some_and(|note| note.ends_with("slower again")));
        let none = recovered([50; 8]);
        assert_eq!((none.measured, none.note.as_deref()), (None, Some("not within the group")));
    }
}
