//! Results as a table of runs: a row for each, for spreadsheets and data frames.

use super::results::{Point, Results, RunOf};

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
    /// Nothing is known.
    Unknown,
}

impl Runs<'_> {
    /// The runs of `results`.
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
        let mut text = line(self.head().iter().map(|name| quoted(name)));
        for row in self.rows() {
            text += &line(row.iter().map(Value::field));
        }
        text
    }
}

impl Value {
    fn field(&self) -> String {
        match self {
            Value::Text(text) => quoted(text),
            Value::Number(number) => number.to_string(),
            Value::Count(count) => count.to_string(),
            Value::Unknown => String::new(),
        }
    }
}

fn line(fields: impl Iterator<Item = String>) -> String {
    fields.collect::<Vec<String>>().join(",") + "\n"
}

fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        return format!("\"{}\"", text.replace('"', "\"\""));
    }
    text.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_with_commas_and_quotes_are_quoted() {
        assert_eq!(quoted("[60us, 90us]"), "\"[60us, 90us]\"");
        assert_eq!(quoted("say \"b\""), "\"say \"\"b\"\"\"");
        assert_eq!(quoted("plain"), "plain");
    }
}
