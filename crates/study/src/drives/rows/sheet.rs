//! A CSV file with named columns.

use std::fmt;
use std::ops::RangeInclusive;

/// What is wrong with a file of rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowError {
    /// The line, from 1; `None` for the file as a whole.
    pub line: Option<u64>,
    /// What is wrong, as a clause for a message.
    pub reason: String,
    /// What would be right, as a clause for a message.
    pub remedy: String,
}

impl fmt::Display for RowError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(f, "line {line}: ")?;
        }
        write!(f, "{}; {}", self.reason, self.remedy)
    }
}

/// Everything that is wrong with a file of rows; at least one error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowErrors(pub Vec<RowError>);

impl fmt::Display for RowErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, error) in self.0.iter().enumerate() {
            write!(f, "{}{error}", if number == 0 { "" } else { "\n" })?;
        }
        Ok(())
    }
}

impl std::error::Error for RowErrors {}

/// The lines of a file, and the errors found in it so far.
pub(super) struct Sheet {
    columns: Vec<String>,
    lines: Vec<(u64, csv::StringRecord)>,
    errors: Vec<RowError>,
}

/// A line of a [`Sheet`].
#[derive(Clone, Copy)]
pub(super) struct Line(usize);

impl Sheet {
    /// Reads the text of a file that needs the columns `needed`; `unit_of` is what numbers in it are in, for
    /// the remedy where a column's name ends in another unit.
    pub(super) fn parse(text: &str, needed: &[&str]) -> Result<Sheet, RowErrors> {
        let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(text.as_bytes());
        let mut errors = Vec::new();
        let columns = match reader.headers() {
            Ok(header) => header.iter().map(|name| name.trim_start_matches('\u{feff}').to_string()).collect(),
            Err(error) => return Err(RowErrors(vec![broken(&error)])),
        };
        let mut lines = Vec::new();
        for record in reader.records() {
            match record {
                Ok(record) => {
                    let line = record.position().map_or(0, csv::Position::line);
                    lines.push((line, record));
                }
                Err(error) => errors.push(broken(&error)),
            }
        }
        let mut sheet = Sheet { columns, lines, errors };
        if sheet.columns.iter().all(String::is_empty) {
            sheet.complain(
                None,
                "the file is empty".into(),
                "write the names of columns, and a line for each row".into(),
            );
            return Err(RowErrors(sheet.errors));
        }
        sheet.require(needed);
        if sheet.lines.is_empty() {
            sheet.complain(None, "there is no row".into(), "add a line for each measurement".into());
        }
        sheet.errors.is_empty().then_some(()).ok_or_else(|| RowErrors(sheet.errors.clone()))?;
        Ok(sheet)
    }

    /// Complains of columns that are not there: of each that is there in another unit, and at once of all
    /// others.
    fn require(&mut self, columns: &[&str]) {
        let mut missing = Vec::new();
        for column in columns {
            if self.has(column) {
                continue;
            }
            let unit = self.columns.iter().find(|name| {
                let rest = name.strip_prefix(column).and_then(|rest| rest.strip_prefix('_'));
                rest.is_some_and(|unit| ["ns", "ms", "s", "usec", "msec", "sec"].contains(&unit))
            });
            let Some(other) = unit else {
                missing.push(format!("'{column}'"));
                continue;
            };
            let reason = format!("the column '{other}' is in another unit");
            self.complain(Some(1), reason, format!("convert it to microseconds and call it '{column}'"));
        }
        let (reason, it) = match missing.as_slice() {
            [] => return,
            [only] => (format!("the column {only} is missing"), "it"),
            all => (format!("the columns {} are missing", all.join(", ")), "them"),
        };
        let there = self.columns.join(", ");
        self.complain(Some(1), reason, format!("name {it} in the first line; the columns there are {there}"));
    }

    pub(super) fn has(&self, column: &str) -> bool {
        self.columns.iter().any(|name| name == column)
    }

    pub(super) fn lines(&self) -> impl Iterator<Item = Line> + use<> {
        (0..self.lines.len()).map(Line)
    }

    /// The number of a line in the file, from 1.
    pub(super) fn number(&self, line: Line) -> u64 {
        self.lines[line.0].0
    }

    /// The text of a cell; `None` where it is empty or there is no such column.
    pub(super) fn text(&self, line: Line, column: &str) -> Option<&str> {
        let index = self.columns.iter().position(|name| name == column)?;
        self.lines[line.0].1.get(index).filter(|text| !text.is_empty())
    }

    /// The text of a cell that may not be empty; empty after an error.
    pub(super) fn needed_text(&mut self, line: Line, column: &str) -> String {
        match self.text(line, column) {
            Some(text) => text.to_string(),
            None => {
                self.add_error(line, format!("'{column}' is empty"), "fill the cell".into());
                String::new()
            }
        }
    }

    /// A number of at least 0; `None` where the cell is empty, or after an error.
    pub(super) fn number_in(&mut self, line: Line, column: &str) -> Option<f64> {
        let text = self.text(line, column)?;
        match text.parse::<f64>() {
            Ok(number) if number.is_finite() && number >= 0.0 => Some(number),
            _ => {
                let reason = format!("'{text}' in '{column}' is not a number of at least 0");
                self.add_error(
                    line,
                    reason,
                    "write it like 64 or 0.5, without a unit, or leave the cell empty".into(),
                );
                None
            }
        }
    }

    /// A number that may not be missing; `None` after an error.
    pub(super) fn needed_number(&mut self, line: Line, column: &str) -> Option<f64> {
        if self.text(line, column).is_none() {
            self.needed_text(line, column);
            return None;
        }
        self.number_in(line, column)
    }

    /// A whole number within `range` that may not be missing; the first of the range after an error.
    pub(super) fn needed_count(&mut self, line: Line, column: &str, range: RangeInclusive<u32>) -> u32 {
        let Some(number) = self.needed_number(line, column) else { return *range.start() };
        let bounds = f64::from(*range.start())..=f64::from(*range.end());
        if bounds.contains(&number) && number.fract() == 0.0 {
            return number as u32;
        }
        let remedy = format!("it can be a whole number, {} to {}", range.start(), range.end());
        self.add_error(line, format!("'{column}' is {number}"), remedy);
        *range.start()
    }

    /// Adds an error in a line.
    pub(super) fn add_error(&mut self, line: Line, reason: String, remedy: String) {
        let number = self.number(line);
        self.complain(Some(number), reason, remedy);
    }

    pub(super) fn complain(&mut self, line: Option<u64>, reason: String, remedy: String) {
        self.errors.push(RowError { line, reason, remedy });
    }

    /// `rows`, if nothing was wrong with them.
    pub(super) fn finish<R>(self, rows: Vec<R>) -> Result<Vec<R>, RowErrors> {
        if self.errors.is_empty() { Ok(rows) } else { Err(RowErrors(self.errors)) }
    }
}

fn broken(error: &csv::Error) -> RowError {
    let line = error.position().map(csv::Position::line);
    let reason = match error.kind() {
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
            format!("the line has {len} cells, and the first line names {expected_len} columns")
        }
        _ => format!("this is no CSV: {error}"),
    };
    let remedy = "put texts with commas into double quotes, and leave cells empty that were not measured";
    RowError { line, reason, remedy: remedy.into() }
}
