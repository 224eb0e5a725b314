//! The rows of a study: the paper's figure, ours, their ratio, and why they differ.

mod order;

use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// A finished study, in the one shape that all studies share.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Table {
    /// Name of the study, as on the command line.
    pub study: String,
    /// Version of tailcut that ran the study.
    pub version: Cow<'static, str>,
    /// Seed of the random streams of all runs.
    pub seed: u64,
    /// Whether the study was run in its short form.
    pub quick: bool,
    /// Notes on all rows, each as a sentence; left out where there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// The figures of the study, in the order in which they are printed.
    pub rows: Vec<Row>,
}

impl Table {
    /// A table of the study `study` with these rows, without notes.
    pub fn new(study: &str, seed: u64, quick: bool, rows: Vec<Row>) -> Table {
        let (study, version) = (study.to_string(), env!("CARGO_PKG_VERSION").into());
        Table { study, version, seed, quick, notes: Vec::new(), rows }
    }

    /// The table with `notes` on all rows, each a sentence.
    pub fn notes(mut self, notes: Vec<String>) -> Table {
        self.notes = notes;
        self
    }

    /// The claims that do not hold and have no explanation.
    pub fn unexplained(&self) -> Vec<&Row> {
        self.rows.iter().filter(|row| row.is_off() && !row.is_remarked).collect()
    }
}

/// One figure, in the paper and here; null where there is none.
///
/// A row with a figure of the paper is a *claim*: `sense` is how the two are compared, `holds` the verdict.
///
/// # Examples
/// ```
/// use tailcut_study::Row;
///
/// // The measured figure is within a quarter of the paper's.
/// let row = Row::new("4 KiB", "gain", "times", 1.9).paper(2.0);
/// assert_eq!(row.holds(), Some(true));
/// assert_eq!(Row::new("4 KiB", "gain", "times", 1.4).paper(2.0).holds(), Some(false));
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The case that was run, in words.
    pub case: String,
    /// The measured quantity in words, such as `gain`.
    pub quantity: String,
    /// Its unit: "B/s", "1/s", "B", "s", "us", "share" (1 is all), "x" (a factor), "pairs" (of an order).
    pub unit: Cow<'static, str>,
    /// The figure that the paper reports; `None` if it has none.
    pub paper: Option<f64>,
    /// How the paper's figure is to be compared; `None` without one.
    sense: Option<Sense>,
    /// Whether the claim is a change: a factor counts from 1 (0.93 x is - 7 %), a share as it is.
    effect: bool,
    /// Whether the figure is a share of something that was saved or lost; left out if not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    saving: bool,
    /// Whether figures are too close to tell them apart: those of an order, while the others are in order, or
    /// a bound and what misses it; left out if not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    tied: bool,
    /// Which reading of the paper the figure belongs to: [`MAIN`], or the name of another one.
    reading: String,
    /// Whether the claim is counted: not an input, and of the main reading.
    counted: bool,
    /// Where that figure comes from, if the paper does not print it; left out where it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub basis: Option<Basis>,
    /// The figure that the simulation gave; `None` if nothing could be measured.
    pub measured: Option<f64>,
    /// Ours over the paper's; of an effect, our change over the paper's; of a saving above one half, what
    /// remains here over what remains in the paper.
    pub ratio: Option<f64>,
    /// Whether the claim holds; `None` without a claim, where nothing could be measured, or for a tie.
    holds: Option<bool>,
    /// What physics allows for the case, where that is known.
    pub limit: Option<f64>,
    /// Why the figures differ, or what a reader should know.
    pub note: Option<String>,
    /// Whether the note gives more than the basis of the paper's figure; left out if not.
    #[serde(default, rename = "remarked", skip_serializing_if = "std::ops::Not::not")]
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
            unit: unit.into(),
            paper: None,
            sense: None,
            effect: false,
            saving: false,
            tied: false,
            reading: MAIN.into(),
            counted: false,
            basis: None,
            measured: measured.into(),
            ratio: None,
            holds: None,
            limit: None,
            note: None,
            is_remarked: false,
        }
    }

    /// With the paper's figure, which ours is to equal within a quarter (0.75 to 1.25 times it); `None` where
    /// the paper gives none.
    pub fn paper(self, paper: impl Into<Option<f64>>) -> Row {
        self.claim(Sense::Equal, paper.into())
    }

    /// The row with the least figure that the paper claims; `None` where the paper gives none.
    pub fn at_least(self, paper: impl Into<Option<f64>>) -> Row {
        self.claim(Sense::AtLeast, paper.into())
    }

    /// The row with the highest figure that the paper claims; `None` where the paper gives none.
    pub fn at_most(self, paper: impl Into<Option<f64>>) -> Row {
        self.claim(Sense::AtMost, paper.into())
    }

    fn claim(mut self, sense: Sense, paper: Option<f64>) -> Row {
        self.paper = paper;
        self.sense = paper.map(|_| sense);
        self.judged()
    }

    /// Marks the claim as one about a change: a factor is compared by what it differs from 1, with its sign.
    pub fn effect(mut self) -> Row {
        self.effect = true;
        self.judged()
    }

    /// Marks the figure as a share of something that was saved or lost, which can be no more than all of it.
    /// Of a paper's figure above one half what remains is compared: a quarter more than 86 % could not be
    /// missed.
    pub fn saving(mut self) -> Row {
        self.saving = true;
        self.judged()
    }

    /// Marks the figure as one that is off by up to the share `error` of itself, as a ratio of percentiles
    /// is. A bound that it misses by no more is a tie, without a verdict. Comes after the bound.
    pub fn resolved(mut self, error: f64) -> Row {
        let is_bound = matches!(self.sense, Some(Sense::AtLeast | Sense::AtMost));
        let is_close = |(ours, theirs): (f64, f64)| (ours - theirs).abs() <= error * ours.abs();
        self.tied = is_bound && self.is_off() && self.measured.zip(self.paper).is_some_and(is_close);
        let row = self.judged();
        if row.tied { row.remark("Too close to tell.") } else { row }
    }

    /// Names a reading of the paper that is not the main one (`docs/decisions/how-we-read-*.md`): its claims
    /// are shown and not counted.
    pub fn of_reading(mut self, name: impl Into<String>) -> Row {
        self.reading = name.into();
        self.judged()
    }

    /// Marks the paper's figure as one that the paper does not print, or that the scenario was made from;
    /// `how` is a clause that describes how it was obtained ("the middle of 8 to 9 ms"). Comes after the
    /// claim; without effect on a row that has none.
    pub fn basis(mut self, basis: Basis, how: &str) -> Row {
        if self.paper.is_none() {
            return self;
        }
        self.basis = Some(basis);
        self.judged().remark(&format!("The paper's figure is {how}."))
    }

    /// With what physics allows; `None` where that is not known.
    pub fn limit(mut self, limit: impl Into<Option<f64>>) -> Row {
        self.limit = limit.into();
        self
    }

    /// The row with a remark, after those that it has.
    pub fn note(mut self, note: impl Into<String>) -> Row {
        self.is_remarked = true;
        self.remark(&note.into())
    }

    fn remark(mut self, remark: &str) -> Row {
        let before = self.note.take().map_or(String::new(), |note| note + " ");
        self.note = Some(before + remark);
        self
    }

    /// With an explanation that is given only if the claim does not hold. Comes after the claim.
    pub fn explain(self, why: impl Into<String>) -> Row {
        if self.is_off() { self.note(why) } else { self }
    }

    /// How the paper's figure is compared; `None` without one.
    pub fn sense(&self) -> Option<Sense> {
        self.sense
    }

    /// Which reading of the paper the figure belongs to: [`MAIN`], or the name of another one.
    pub fn reading(&self) -> &str {
        &self.reading
    }

    /// Whether the claim counts: it is no input, and of the main reading.
    pub fn is_counted(&self) -> bool {
        self.counted
    }

    /// Whether the claim holds; `None` without a claim, or where nothing could be measured.
    pub fn holds(&self) -> Option<bool> {
        self.holds
    }

    /// Whether figures are too close to tell them apart, so that there is no verdict.
    pub fn is_tied(&self) -> bool {
        self.tied
    }

    /// Whether the paper's claim does not hold.
    pub fn is_off(&self) -> bool {
        self.holds == Some(false)
    }

    /// What follows from the figures: ratio, verdict, whether it counts.
    fn judged(mut self) -> Row {
        let remains = self.saving && self.sense == Some(Sense::Equal) && self.paper > Some(0.5);
        let compared = |figure: f64| {
            if remains {
                1.0 - figure
            } else if self.effect && self.unit != "share" {
                figure - 1.0
            } else {
                figure
            }
        };
        let both = self.measured.zip(self.paper).map(|(ours, theirs)| (compared(ours), compared(theirs)));
        self.ratio = both.map(|(ours, theirs)| ours / theirs).filter(|ratio| ratio.is_finite());
        self.holds = self.sense.zip(both).map(|(sense, (ours, theirs))| match sense {
            Sense::Equal if theirs == 0.0 => ours.abs() <= if self.effect { NO_CHANGE } else { 0.0 },
            Sense::Equal => (ours / theirs - 1.0).abs() <= TOLERANCE + ROUNDING,
            Sense::AtLeast | Sense::Order => ours >= theirs,
            Sense::AtMost => ours <= theirs,
        });
        self.holds = self.holds.filter(|_| !self.tied);
        self.counted = self.sense.is_some() && self.reading == MAIN && self.basis != Some(Basis::Input);
        self
    }
}

/// How a figure is compared with the paper's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sense {
    /// Within a quarter: 0.75 to 1.25 times the paper's figure.
    Equal,
    /// The measured figure must not be lower.
    AtLeast,
    /// The measured figure must not be higher.
    AtMost,
    /// Figures of other rows fall in an order; see [`Row::order`] and [`Row::resolved_order`].
    Order,
}

/// The reading of a paper that counts.
pub const MAIN: &str = "main";

/// The explanation of a claim that does not hold where no experiment has shown the cause.
pub const NO_CAUSE: &str = "The cause is not known.";

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

/// A difference from the paper that needs no explanation: other firmware, other rounding. `within a quarter`
/// means this wherever it is printed, of papers' figures and of measured ones.
pub const TOLERANCE: f64 = 0.25;

/// What a change that a paper calls none may come to: SWAN's own runs differ by so much (section 5.1).
const NO_CHANGE: f64 = 0.06;

/// Of two decimal fractions whose ratio is exactly at the tolerance.
const ROUNDING: f64 = 1e-9;

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
    fn a_claim_is_an_equality_or_a_bound() {
        let holds = |row: Row| row.holds;
        let row = |measured: f64| Row::new("a", "b", "x", measured);
        assert_eq!(holds(row(1.25).paper(1.0)), Some(true));
        assert_eq!(holds(row(1.26).paper(1.0)), Some(false));
        assert_eq!(holds(row(2.2).at_least(2.2)), Some(true));
        assert_eq!(holds(row(2.19).at_least(2.2)), Some(false), "a bound has no tolerance");
        assert_eq!(holds(row(90.0).at_least(2.2)), Some(true));
        assert_eq!(holds(row(0.93).at_most(0.93)), Some(true));
        assert_eq!(holds(row(0.94).at_most(0.93)), Some(false));
        assert_eq!(holds(row(0.0).at_most(0.0)), Some(true));
        assert_eq!(holds(row(0.01).paper(0.0)), Some(false), "nothing is within a quarter of 0");
        assert_eq!(holds(row(1.0)), None);
        assert_eq!(holds(Row::new("a", "b", "x", None).paper(1.0)), None);
        assert_eq!(holds(row(f64::NAN).at_most(1.0)), Some(false));
    }

    #[test]
    fn a_change_is_compared_as_a_change_with_its_sign() {
        let row = |measured: f64, paper: f64| Row::new("a", "b", "x", measured).paper(paper).effect();
        assert_eq!(row(1.06, 1.08).holds, Some(true), "6 of 8 % are within a quarter");
        assert_eq!(row(1.05, 1.08).holds, Some(false), "as factors they would be close");
        assert_eq!(row(0.85, 0.813).holds, Some(true), "- 15 of - 18.7 %");
        assert_eq!(row(0.87, 0.813).holds, Some(false));
        assert_eq!(row(1.187, 0.813).holds, Some(false), "the sign counts");
        assert_eq!(row(1.187, 0.813).ratio.map(|ratio| ratio.round()), Some(-1.0));
        assert_eq!((row(1.05, 1.0).holds, row(1.07, 1.0).holds), (Some(true), Some(false)));
        assert_eq!(row(0.95, 1.0).ratio, None);
        let share = |measured: f64| Row::new("a", "b", "share", measured).paper(0.08).effect();
        assert_eq!((share(0.07).holds, share(-0.08).holds), (Some(true), Some(false)));
    }

    #[test]
    fn a_bound_missed_by_less_than_its_figure_is_exact_to_is_a_tie() {
        let row = |measured: f64| Row::new("a", "b", "x", measured);
        let tie = row(1.000_66).at_most(1.0).resolved(0.002).explain("because");
        assert_eq!((tie.holds, tie.is_tied(), tie.is_off()), (None, true, false));
        assert_eq!(tie.note.as_deref(), Some("Too close to tell."));
        assert_eq!(row(1.01).at_most(1.0).resolved(0.002).holds, Some(false));
        assert_eq!(row(0.9985).at_least(1.0).resolved(0.002).holds, None);
        assert_eq!(row(1.000_66).paper(1.0).resolved(0.002).holds, Some(true), "has a tolerance");
        for meets in [1.0, 0.9995, 0.5] {
            assert_eq!(row(meets).at_most(1.0).resolved(0.002).holds, Some(true), "{meets} meets it");
        }
    }

    #[test]
    fn a_saving_above_one_half_is_compared_by_what_remains() {
        let row = |measured: f64, paper: f64| Row::new("a", "b", "share", measured).paper(paper).saving();
        assert_eq!(row(0.995, 0.86).holds, Some(false), "0.5 % remain, and not 14 %");
        assert_eq!(row(0.995, 0.86).ratio.map(|ratio| (ratio * 1e3).round()), Some(36.0));
        assert_eq!((row(0.88, 0.86).holds, row(0.82, 0.86).holds), (Some(true), Some(false)));
        assert_eq!((row(0.55, 0.46).holds, row(0.6, 0.46).holds), (Some(true), Some(false)), "as a share");
        assert_eq!(row(1.0, 1.0).holds, Some(true));
        let bound = Row::new("a", "b", "share", 0.6).at_least(0.566).saving();
        assert_eq!(bound.holds, Some(true), "a bound is one of the share");
    }

    #[test]
    fn a_claim_counts_unless_it_is_an_input_or_of_another_reading() {
        let row = || Row::new("a", "b", "x", 1.0).at_least(1.0);
        assert!(row().counted && row().basis(Basis::Derived, "a middle").counted);
        assert!(!row().basis(Basis::Input, "an input").counted && !row().of_reading("queue of 1024").counted);
        assert!(!Row::new("a", "b", "x", 1.0).counted);
        assert_eq!((row().reading, row().of_reading("another").holds), (String::from("main"), Some(true)));
    }

    #[test]
    fn programs_read_how_a_claim_came_out() {
        let json = serde_json::to_value(Row::new("a", "b", "x", 0.85).at_most(0.93).effect()).expect("data");
        for (key, value) in
            [("sense", serde_json::json!("at-most")), ("effect", true.into()), ("counted", true.into())]
        {
            assert_eq!(json[key], value, "{key}");
        }
        assert_eq!((&json["reading"], &json["holds"]), (&"main".into(), &true.into()));
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
