//! Measurements as rows of a study.

use serde_json::Value;
use tailcut::format::figure as show;
use tailcut::terminal::{self, Align, ColorMode};
use tailcut_study::{Row, Table};

/// The bench as a study: cases that have targets and no paper.
#[derive(Debug)]
pub struct Study(Table);

impl Study {
    /// A table of the benchmark `study`, without rows.
    pub fn new(study: &'static str) -> Study {
        Study(Table::new(study, 1, false, Vec::new()))
    }

    /// Adds the median of some figures and returns it.
    pub fn add_row(
        &mut self,
        case: String,
        quantity: &'static str,
        unit: &'static str,
        mut figures: Vec<f64>,
        target: Option<f64>,
    ) -> Option<f64> {
        figures.sort_by(f64::total_cmp);
        let note = match (figures.first(), figures.last()) {
            (Some(&least), Some(&most)) => {
                format!("median of {}; {} to {}", figures.len(), show(least, unit), show(most, unit))
            }
            _ => String::from("the system does not tell"),
        };
        let median = figures.get(figures.len() / 2).copied();
        self.0.rows.push(Row::new(case, quantity, unit, median).limit(target).note(note));
        median
    }

    /// Adds a figure that follows from others.
    pub fn derived(
        &mut self,
        case: String,
        quantity: &'static str,
        unit: &'static str,
        figure: Option<f64>,
        note: &str,
    ) {
        self.0.rows.push(Row::new(case, quantity, unit, figure).note(note));
    }

    /// The rows as a table.
    pub fn show(&self, tone: ColorMode) -> String {
        let right = |title| (title, Align::Right);
        let head = [
            ("case", Align::Left),
            ("quantity", Align::Left),
            right("median"),
            right("target"),
            right("range"),
        ];
        let mut table = terminal::Table::new(&head, tone);
        for row in &self.0.rows {
            let figure = |figure: Option<f64>| figure.map_or(String::from("-"), |x| show(x, &row.unit));
            let note = row.note.as_deref().unwrap_or_default();
            let range = note.split_once("; ").map_or(note, |(_, range)| range);
            table.row(&[
                row.case.clone(),
                row.quantity.replace("per second", "/ s"),
                figure(row.measured),
                figure(row.limit),
                range.to_string(),
            ]);
        }
        format!("{table}\n")
    }

    /// The rows of the study as JSON.
    #[expect(clippy::missing_panics_doc, reason = "rows are plain data, which always serialises")]
    pub fn to_json(&self) -> Value {
        serde_json::to_value(&self.0).expect("plain data")
    }
}
