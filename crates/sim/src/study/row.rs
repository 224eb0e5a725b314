//! The rows of a study: the paper's figure, ours, their ratio, and why they differ.

use serde::{Deserialize, Serialize};

/// A finished study, in the one shape that all studies share.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Table {
    /// Its name.
    pub study: String,
    /// Version of the program.
    pub version: &'static str,
    /// Seed of all runs.
    pub seed: u64,
    /// Whether this is the short form.
    pub quick: bool,
    /// Notes on all rows, each as a sentence; left out where there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// The rows.
    pub rows: Vec<Row>,
}

impl Table {
    /// A table with these rows.
    pub fn new(study: &str, seed: u64, quick: bool, rows: Vec<Row>) -> Table {
        let (study, version) = (study.to_string(), env!("CARGO_PKG_VERSION"));
        Table { study, version, seed, quick, notes: Vec::new(), rows }
    }

    /// With remarks on all rows.
    pub fn notes(mut self, notes: Vec<String>) -> Table {
        self.notes = notes;
        self
    }

    /// The rows that differ from the paper by more than a quarter without an explanation.
    pub fn unexplained(&self) -> Vec<&Row> {
        self.rows.iter().filter(|row| row.is_off() && !row.is_remarked).collect()
    }
}

/// One figure, in the paper and here; null where there is none.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// The case that was run, in words.
    pub case: String,
    /// The measured quantity.
    pub quantity: String,
    /// Its unit: "B/s", "1/s", "B", "s", "us", "share" (1 is all), "x" (a factor).
    pub unit: &'static str,
    /// The figure of the paper.
    pub paper: Option<f64>,
    /// Where that figure comes from, if the paper does not print it; left out where it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub basis: Option<Basis>,
    /// Our figure.
    pub measured: Option<f64>,
    /// Ours over the paper's.
    pub ratio: Option<f64>,
    /// What physics allows for the case, where that is known.
    pub limit: Option<f64>,
    /// Why the figures differ, or what a reader should know.
    pub note: Option<String>,
    /// Whether the note gives more than the basis of the paper's figure.
    #[serde(skip)]
    is_remarked: bool,
}

impl Row {
    /// A figure that was measured.
    pub fn new(
        case: impl Into<String>,
        quantity: impl Into<String>,
        unit: &'static str,
        measured: impl Into<Option<f64>>,
    ) -> Row {
        Row {
            case: case.into(),
            quantity: quantity.into(),
            unit,
            paper: None,
            basis: None,
            measured: measured.into(),
            ratio: None,
            limit: None,
            note: None,
            is_remarked: false,
        }
    }

    /// With the paper's figure; `None` where the paper gives none.
    pub fn paper(mut self, paper: impl Into<Option<f64>>) -> Row {
        self.paper = paper.into();
        let ratio = self.measured.zip(self.paper).map(|(measured, paper)| measured / paper);
        self.ratio = ratio.filter(|ratio| ratio.is_finite());
        self
    }

    /// Marks the paper's figure as one that the paper does not print, or that the scenario was made from;
    /// `how` is a clause that describes how it was obtained ("the middle of 8 to 9 ms"). Comes after
    /// [`Row::paper`]; without effect on a row that has no figure of the paper.
    pub fn basis(mut self, basis: Basis, how: &str) -> Row {
        if self.paper.is_none() {
            return self;
        }
        self.basis = Some(basis);
        self.remark(&format!("The paper's figure is {how}."))
    }

    /// With what physics allows; `None` where that is not known.
    pub fn limit(mut self, limit: impl Into<Option<f64>>) -> Row {
        self.limit = limit.into();
        self
    }

    /// With a remark, which follows any other.
    pub fn note(mut self, note: impl Into<String>) -> Row {
        self.is_remarked = true;
        self.remark(&note.into())
    }

    fn remark(mut self, remark: &str) -> Row {
        let before = self.note.take().map_or(String::new(), |note| note + " ");
        self.note = Some(before + remark);
        self
    }

    /// With an explanation that is given only if the figures differ by more than a quarter. Comes
    /// after [`Row::paper`].
    pub fn explain(self, why: impl Into<String>) -> Row {
        if self.is_off() { self.note(why) } else { self }
    }

    /// Whether the figure differs from the paper's by more than a quarter.
    pub fn is_off(&self) -> bool {
        let measurable = self.paper.is_some_and(|paper| paper != 0.0) && self.measured.is_some();
        measurable && self.ratio.is_none_or(|ratio| (ratio - 1.0).abs() > TOLERANCE)
    }
}

/// Why a row's figure of the paper is not one that the paper prints and the model had to find.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Basis {
    /// Not printed: the middle of a range, a ratio of two other figures, read off a plot, or another work's
    /// data.
    Derived,
    /// The scenario was made from it, or it follows from the scenario by arithmetic: agreement shows nothing.
    Input,
}

/// A difference from the paper that needs no explanation: other firmware, other rounding.
const TOLERANCE: f64 = 0.25;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_needs_both_figures() {
        assert_eq!(Row::new("a", "b", "x", 3.0).paper(2.0).ratio, Some(1.5));
        assert_eq!(Row::new("a", "b", "x", 3.0).paper(None).ratio, None);
        assert_eq!(Row::new("a", "b", "x", None).paper(2.0).ratio, None);
        assert_eq!(Row::new("a", "b", "x", 3.0).paper(0.0).ratio, None, "JSON has no infinity");
    }

    #[test]
    fn a_row_that_is_off_without_a_note_is_found() {
        let row = |measured: f64| Row::new("a", "b", "x", measured).paper(1.0);
        let rows = vec![row(0.76), row(1.24), row(1.26), row(0.74).note("because"), row(f64::INFINITY)];
        let table = Table::new("t", 1, true, rows);
        let found: Vec<Option<f64>> = table.unexplained().iter().map(|row| row.measured).collect();
        assert_eq!(found, [Some(1.26), Some(f64::INFINITY)]);
    }

    #[test]
    fn explanations_are_for_rows_that_are_off() {
        assert_eq!(Row::new("a", "b", "x", 1.1).paper(1.0).explain("because").note, None);
        assert_eq!(Row::new("a", "b", "x", 2.0).paper(1.0).explain("because").note, Some("because".into()));
    }

    #[test]
    fn a_figure_that_no_paper_prints_says_so() {
        let row = Row::new("a", "b", "x", 2.0).paper(1.0).basis(Basis::Derived, "the middle of 0 to 2");
        assert_eq!(row.basis, Some(Basis::Derived));
        assert_eq!(
            row.explain("because").note,
            Some("The paper's figure is the middle of 0 to 2. because".into())
        );
        let row = Row::new("a", "b", "x", 2.0).paper(None).basis(Basis::Input, "an input");
        assert_eq!((row.basis, row.note), (None, None));
        assert_eq!(
            Row::new("a", "b", "x", 2.0).explain("because").note,
            None,
            "there is nothing to differ from"
        );
    }
}
