//! Results as a table of runs: a row for each, for spreadsheets and data frames.

use super::results::{Point, Results, RunOf};
use crate::output;

/// A table of runs: a column for each factor, then what identifies the run, its quantities, and its error.
pub struct Runs<'r> {
    results: &'r Results,
}

/// A value of a table.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A text.
    Text(String),
    /// A number.
    Number(f64),
    /// A whole number.
    Count(u64),
    /// There is no value.
    Unknown,
}

impl Runs<'_> {
    /// The runs of all points of `results`, as rows.
    pub fn of(results: &Results) -> Runs<'_> {
        Runs { results }
    }

    /// The names of the columns: those of quantities end with their unit, as in `p99.99(read) [ns]`.
    pub fn head(&self) -> Vec<String> {
        let factors = self.results.factors.iter().map(|factor| factor.name.clone());
        let quantities = self.results.quantities.iter().map(|head| match head.unit.as_str() {
            "" => head.name.clone(),
            unit => format!("{} [{unit}]", head.name),
        });
        let own = ["seed", "rank", "pareto", "digest", "history"].map(str::to_owned);
        factors.chain(own).chain(quantities).chain(["error".to_owned()]).collect()
    }

    /// The rows, in the order of the grid, each with as many values as the head.
    pub fn rows(&self) -> impl Iterator<Item = Vec<Value>> {
        let points = self.results.points.iter();
        points.flat_map(move |point| point.runs.iter().map(move |run| self.row(point, run)))
    }

    fn row(&self, point: &Point, run: &RunOf) -> Vec<Value> {
        let text = |text: &Option<String>| text.clone().map_or(Value::Unknown, Value::Text);
        let names = self.results.factors.iter().zip(&point.levels);
        let mut row: Vec<Value> =
            names.map(|(factor, &level)| Value::Text(factor.levels[level].name.clone())).collect();
        row.push(Value::Count(run.seed));
        row.push(point.rank.map_or(Value::Unknown, |rank| Value::Count(rank as u64)));
        row.push(Value::Count(u64::from(point.pareto)));
        row.push(Value::Text(run.digest.clone()));
        row.push(text(&run.history));
        let figure = |name: &String| run.quantities.get(name).copied().flatten();
        let figures = self.results.quantities.iter().map(|head| figure(&head.name));
        row.extend(figures.map(|figure| figure.map_or(Value::Unknown, Value::Number)));
        row.push(text(&run.error));
        row
    }

    /// The table as CSV (RFC 4180, lines end with a line feed): nothing is an empty field.
    pub fn to_csv(&self) -> String {
        let rows = self.rows().map(|row| row.iter().map(Value::field).collect());
        output::csv(std::iter::once(self.head()).chain(rows))
    }
}

impl Value {
    fn field(&self) -> String {
        match self {
            Value::Text(text) => text.clone(),
            Value::Number(number) => number.to_string(),
            Value::Count(count) => count.to_string(),
            Value::Unknown => String::new(),
        }
    }
}
