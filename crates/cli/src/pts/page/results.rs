//! The results of a test: matrices, courses over time, and histograms.

use super::super::rows::{PERCENTILES, matrix_stages, quantities};
use crate::terminal::{Align, Bars, ColorMode, Table};
use tailcut_base::histogram::LatencyHistogram;
use tailcut_base::quantity::{show_bytes, show_count, show_rate, show_time};
use tailcut_pts::{Averages, Cell, Convergence, Procedure, Record, Test, Work};

/// The parts of the results, each with its title.
pub(super) fn results(test: &Procedure, tone: ColorMode) -> Vec<(String, String)> {
    let mut parts = Vec::new();
    for (convergence, cells) in matrix_stages(test) {
        parts.extend(matrices(test, convergence, cells, tone));
    }
    let named = |number: usize| test.stages()[number].name.clone();
    for (number, stage) in test.stages().iter().enumerate() {
        let records: Vec<&Record> = test.of_stage(number).collect();
        let is_course = match &stage.work {
            Work::Series { .. } => true,
            Work::Rounds(rounds) => rounds.cells.iter().all(|cell| *cell == rounds.cells[0]),
            _ => false,
        };
        if is_course && !records.is_empty() {
            parts.push((format!("{}: course", named(number)), course(&records, tone)));
        }
        for (record, latency) in records.iter().filter_map(|one| Some((one, one.latency.as_ref()?))) {
            let title = format!("{}: {} at {}", named(number), record.cell, record.cell.demand());
            parts.push((title, histogram(record, latency, tone)));
        }
    }
    parts
}

/// Rows and columns of the matrix of a test, and which a cell is in.
type Axis = fn(&Cell) -> String;

fn axes(test: Test) -> (&'static str, Axis, Axis) {
    match test {
        Test::CompositeBlockSize | Test::DemandIntensity => (
            "threads, by queue depth",
            |cell| format!("T{}", cell.threads),
            |cell| format!("Q{}", cell.queue),
        ),
        _ => ("size, by reads/writes", Cell::size, Cell::mix),
    }
}

/// One matrix for each quantity.
fn matrices(
    test: &Procedure,
    convergence: &Convergence,
    cells: &[Cell],
    tone: ColorMode,
) -> Vec<(String, String)> {
    let (what, row_of, column_of) = axes(test.test);
    let averages: Vec<(Cell, Averages)> = cells
        .iter()
        .enumerate()
        .filter_map(|(place, &cell)| Some((cell, test.averages(convergence, place)?)))
        .collect();
    if averages.is_empty() {
        return Vec::new();
    }
    let stage = &test.stages()[convergence.stage].name;
    let shown = |&(name, unit, of): &(&'static str, &'static str, fn(&Averages) -> f64)| {
        let figure = |averages: &Averages| super::figure(Some(of(averages)), unit);
        (format!("{stage}: {name}, {what}"), matrix(&averages, row_of, column_of, figure, tone))
    };
    quantities(test.test).iter().map(shown).collect()
}

/// Each name once, in the order in which they come.
fn names(averages: &[(Cell, Averages)], of: Axis) -> Vec<String> {
    let mut names = Vec::new();
    for (cell, _) in averages {
        let name = of(cell);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

fn matrix(
    averages: &[(Cell, Averages)],
    row_of: Axis,
    column_of: Axis,
    figure: impl Fn(&Averages) -> String,
    tone: ColorMode,
) -> String {
    let columns = names(averages, column_of);
    let mut head = vec![("", Align::Right)];
    head.extend(columns.iter().map(|name| (name.as_str(), Align::Right)));
    let mut table = Table::new(&head, tone);
    for name in names(averages, row_of) {
        let at = |column: &String| {
            let is_it = |(cell, _): &&(Cell, Averages)| row_of(cell) == name && column_of(cell) == *column;
            averages.iter().find(is_it).map_or(String::from("-"), |(_, averages)| figure(averages))
        };
        let figures: Vec<String> = columns.iter().map(at).collect();
        table.row(&[vec![name.clone()], figures].concat());
    }
    format!("{table}\n")
}

/// Lines of a course, at the most.
const LINES: usize = 16;

/// How a load went on over time: some of its samples, evenly spaced, with the first and the last.
fn course(records: &[&Record], tone: ColorMode) -> String {
    let right = |title| (title, Align::Right);
    let head = [
        right("sample"),
        right("written"),
        right("IOPS"),
        right("throughput"),
        right("average"),
        right("longest"),
    ];
    let mut table = Table::new(&head, tone);
    let mut written = 0.0;
    let lines = records.len().min(LINES);
    let mut shown = (0..lines).map(|line| line * (records.len() - 1) / (lines - 1).max(1)).peekable();
    for (number, record) in records.iter().enumerate() {
        let figures = &record.figures;
        written += figures.bytes as f64;
        if shown.next_if_eq(&number).is_none() {
            continue;
        }
        table.row(&[
            (number + 1).to_string(),
            show_bytes(written),
            show_count(figures.iops()),
            show_rate(figures.throughput()),
            show_time(figures.mean()),
            show_time(figures.longest.0 as f64),
        ]);
    }
    format!("{table}\n")
}

/// Percentiles, and how many response times lie between powers of two.
fn histogram(record: &Record, latency: &LatencyHistogram, tone: ColorMode) -> String {
    let right = |title: String| (title, Align::Right);
    let mut head = vec![right("IOPS".into()), right("average".into())];
    head.extend(PERCENTILES.iter().map(|percent| right(format!("{percent}%"))));
    head.push(right("longest".into()));
    let head: Vec<(&str, Align)> = head.iter().map(|(title, align)| (title.as_str(), *align)).collect();
    let mut row = vec![show_count(record.figures.iops()), show_time(record.figures.mean())];
    row.extend(PERCENTILES.iter().map(|&percent| show_time(latency.percentile(percent).0 as f64)));
    row.push(show_time(latency.max().0 as f64));
    let mut table = Table::new(&head, tone);
    table.row(&row);
    let mut bars = Bars::new();
    for (power, count) in octaves(latency) {
        let share = count as f64 / latency.count().max(1) as f64;
        bars.add(format!("below {}", show_time(f64::from(power).exp2())), share, show_count(count as f64));
    }
    format!("{table}\n{}", bars.render(super::width(), tone))
}

/// How many lie below each power of two of ns and not below the one before.
fn octaves(latency: &LatencyHistogram) -> Vec<(u32, u64)> {
    let mut octaves: Vec<(u32, u64)> = Vec::new();
    for (bucket, count) in latency.buckets() {
        let power = 64 - bucket.0.leading_zeros();
        match octaves.last_mut() {
            Some(last) if last.0 == power => last.1 += count,
            _ => octaves.push((power, count)),
        }
    }
    octaves
}
