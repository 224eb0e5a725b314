//! Measurements as rows of a study.

use super::case::Case;
use super::measure::Measured;
use crate::terminal::{Align, Table, Tone};
use serde::Serialize;
use serde_json::Value;
use tailcut_base::quantity::{show_bytes, show_count, show_time};

/// A study: the shape that all studies share.
#[derive(Debug, Serialize)]
pub struct Study {
    study: &'static str,
    version: &'static str,
    seed: u64,
    quick: bool,
    rows: Vec<Row>,
}

/// One figure; null where there is none.
#[derive(Debug, Serialize)]
struct Row {
    case: &'static str,
    quantity: &'static str,
    unit: &'static str,
    paper: Option<f64>,
    measured: Option<f64>,
    ratio: Option<f64>,
    /// The target.
    limit: Option<f64>,
    note: String,
}

impl Study {
    /// An empty one.
    pub fn new(study: &'static str) -> Study {
        Study { study, version: env!("CARGO_PKG_VERSION"), seed: 1, quick: false, rows: Vec::new() }
    }

    /// Adds the figures of a case.
    pub fn add(&mut self, case: Case, runs: &[Measured]) {
        let seconds = |run: &Measured| Some(run.seconds);
        let peak = |run: &Measured| run.peak_bytes.map(|bytes| bytes as f64);
        if case.is_load() {
            let requests = |run: &Measured| Some(run.requests as f64 / run.seconds);
            let commands = |run: &Measured| Some(run.flash_commands as f64 / run.seconds);
            self.row(case, "requests per second", "1/s", runs, &requests);
            self.row(case, "flash commands per second", "1/s", runs, &commands);
        } else {
            self.row(case, "seconds", "s", runs, &seconds);
        }
        self.row(case, "peak memory", "B", runs, &peak);
    }

    fn row(
        &mut self,
        case: Case,
        quantity: &'static str,
        unit: &'static str,
        runs: &[Measured],
        figure: &dyn Fn(&Measured) -> Option<f64>,
    ) {
        let mut figures: Vec<f64> = runs.iter().filter_map(figure).collect();
        figures.sort_by(f64::total_cmp);
        let note = match (figures.first(), figures.last()) {
            (Some(&least), Some(&most)) => {
                format!("median of {}; {} to {}", figures.len(), show(least, unit), show(most, unit))
            }
            _ => String::from("the system does not tell"),
        };
        self.rows.push(Row {
            case: tailcut_base::config::Choice::name(case),
            quantity,
            unit,
            paper: None,
            measured: figures.get(figures.len() / 2).copied(),
            ratio: None,
            limit: case.target(quantity),
            note,
        });
    }

    /// The rows as a table.
    pub fn show(&self, tone: Tone) -> String {
        let right = |title| (title, Align::Right);
        let head = [
            ("case", Align::Left),
            ("quantity", Align::Left),
            right("median"),
            right("target"),
            right("range"),
        ];
        let mut table = Table::new(&head, tone);
        for row in &self.rows {
            let figure = |figure: Option<f64>| figure.map_or(String::from("-"), |x| show(x, row.unit));
            let range = row.note.split_once("; ").map_or(row.note.as_str(), |(_, range)| range);
            table.row(&[
                row.case.to_string(),
                row.quantity.replace("per second", "/ s"),
                figure(row.measured),
                figure(row.limit),
                range.to_string(),
            ]);
        }
        format!("{table}\n")
    }

    /// The study as JSON.
    pub fn to_json(&self) -> Value {
        serde_json::to_value(self).expect("plain data")
    }
}

fn show(figure: f64, unit: &str) -> String {
    match unit {
        "B" => show_bytes(figure),
        "s" => show_time(figure * 1e9),
        _ => show_count(figure),
    }
}
