//! Studies as a person reads them.

use super::Entry;
use crate::format::figure;
use crate::terminal::wrapped;
use crate::terminal::{self, Align, ColorMode, TextRole};
use tailcut_study::claims::{Claims, Paper, Summary};
use tailcut_study::{Basis, Row, Sense, Table};

/// The studies with their titles and sources.
pub fn list(studies: &[Entry], tone: ColorMode) -> String {
    let mut text = String::new();
    for entry in studies {
        let id = tone.paint(TextRole::Heading, entry.id());
        let source = tone.paint(TextRole::Faint, entry.source());
        text += &format!("{id}\n  {}\n  {source}\n", entry.title());
    }
    text
}

/// A finished study: title and source, the rows, and the notes below them; of a paper, how many of its claims
/// hold, and which do not. A drive test also has instructions for other drives.
pub fn table(entry: Entry, table: &Table, width: usize, tone: ColorMode) -> String {
    let width = width.min(PAGE);
    let notes = notes(&table.rows);
    let mut text = format!("{}\n{}\n", head(entry, table, width, tone), rows(table, &notes, tone));
    text += &legend(table, width);
    if !notes.is_empty() {
        text.push('\n');
    }
    for (number, note) in notes.iter().enumerate() {
        text += &wrapped(&format!("{:>4} ", format!("[{}]", number + 1)), note, width);
    }
    if Paper::of(&table.study).is_some() {
        text += &claims(table, width);
    }
    if let Entry::Drive(test) = entry {
        text += &format!("\n{}", wrapped("", &test.elsewhere(), width));
    }
    text
}

/// What stands above the rows.
fn head(entry: Entry, table: &Table, width: usize, tone: ColorMode) -> String {
    let form = if table.quick { ", quick form" } else { "" };
    let heading = tone.paint(TextRole::Heading, &format!("{}: {}", entry.id(), entry.title()));
    let source = format!("{}; seed {}{form}", entry.source(), table.seed);
    let notes: String = table.notes.iter().map(|note| wrapped("- ", note, width)).collect();
    format!("{heading}\n{}\n{notes}", tone.paint(TextRole::Faint, &source))
}

fn rows(study: &Table, notes: &[&str], tone: ColorMode) -> String {
    let rows = &study.rows;
    let [given, ours] = Entry::heads(&study.study);
    let right = |title| (title, Align::Right);
    let left = |title| (title, Align::Left);
    let head = [
        left("case"),
        left("quantity"),
        right(given),
        right(ours),
        right("ratio"),
        left("holds"),
        right("limit"),
        left("note"),
    ];
    // A column without any figure or note is omitted.
    let has = |column: &dyn Fn(&Row) -> bool| rows.iter().any(column);
    let has_paper = has(&|row| row.paper.is_some());
    let has_limit = has(&|row| row.limit.is_some());
    let shown = [true, true, has_paper, true, has_paper, has_paper, has_limit, !notes.is_empty()];
    let keep = |cells: [String; 8]| -> Vec<String> {
        cells.into_iter().zip(shown).filter(|&(_, shown)| shown).map(|(cell, _)| cell).collect()
    };
    let head: Vec<(&str, Align)> =
        head.into_iter().zip(shown).filter(|&(_, shown)| shown).map(|(h, _)| h).collect();
    let mut table = terminal::Table::new(&head, tone);
    for row in rows {
        let show = |value: Option<f64>| value.map_or(String::from("-"), |value| figure(value, &row.unit));
        table.row(&keep([
            row.case.clone(),
            row.quantity.clone(),
            paper(row),
            show(row.measured),
            row.ratio.map_or(String::from("-"), |ratio| format!("{ratio:.2}")),
            verdict(row),
            show(row.limit),
            number(row, notes),
        ]));
    }
    table.to_string()
}

/// What the signs among these rows mean, in a line; empty if there are none.
fn legend(study: &Table, width: usize) -> String {
    let rows = &study.rows;
    let within = match Entry::heads(&study.study) {
        ["paper", _] => "holds: within a quarter (\u{b1}25 %) of the paper's figure",
        _ => "holds: within a quarter (\u{b1}25 %) of the measured figure",
    };
    let has = |is_so: &dyn Fn(&Row) -> bool| rows.iter().any(is_so);
    let bounded = |row: &Row| matches!(row.sense(), Some(Sense::AtLeast | Sense::AtMost));
    let equal = |row: &Row| row.holds().is_some() && row.sense() == Some(Sense::Equal);
    let meanings = [
        (has(&equal), within),
        (has(&bounded), "\u{2265}, \u{2264}: a bound"),
        (has(&|row| row.basis == Some(Basis::Derived)), "~: the paper does not print it"),
        (
            has(&|row| row.basis == Some(Basis::Input)),
            "a figure in parentheses: the scenario was made from it",
        ),
        (has(&|row| !row.is_counted() && row.holds().is_some()), "(yes), (no): not counted"),
    ];
    let all: Vec<&str> =
        meanings.into_iter().filter(|(is_there, _)| *is_there).map(|(_, text)| text).collect();
    if all.is_empty() { String::new() } else { wrapped("", &all.join("; "), width) }
}

fn paper(row: &Row) -> String {
    row.paper.map_or(String::from("-"), |value| claimed(figure(value, &row.unit), row.sense(), row.basis))
}

/// A paper's figure: with the sign of a bound; after `~` if the paper does not print it, in parentheses if
/// the scenario was made from it.
pub fn claimed(figure: String, sense: Option<Sense>, basis: Option<Basis>) -> String {
    let bounded = match sense {
        Some(Sense::AtLeast) => format!("\u{2265} {figure}"),
        Some(Sense::AtMost) => format!("\u{2264} {figure}"),
        _ => figure,
    };
    match basis {
        None => bounded,
        Some(Basis::Derived) => format!("~{bounded}"),
        Some(Basis::Input) => format!("({bounded})"),
    }
}

/// Whether a claim holds: in parentheses if it does not count.
pub fn verdict(row: &Row) -> String {
    match (row.is_counted(), row.holds()) {
        (true, Some(true)) => "yes".into(),
        (true, Some(false)) => "no".into(),
        (true, None) if row.is_tied() => "tie".into(),
        (true, None) => "not measured".into(),
        (false, Some(true)) => "(yes)".into(),
        (false, Some(false)) => "(no)".into(),
        (false, None) if row.is_tied() => "(tie)".into(),
        (false, None) => "-".into(),
    }
}

/// How many of a study's claims hold, and a line for each that does not.
fn claims(table: &Table, width: usize) -> String {
    let claims = Claims::of([table]);
    if claims.counted() == 0 {
        return String::new();
    }
    let mut text = format!("\n{} of {} claims hold", claims.hold(), claims.counted());
    let failing = table.rows.iter().filter(|row| row.is_counted() && row.holds() != Some(true));
    text += if claims.hold() < claims.counted() { "; these do not:\n" } else { "\n" };
    for row in failing {
        let ours = row.measured.map_or(String::from("not measured"), |value| figure(value, &row.unit));
        text +=
            &wrapped("  - ", &format!("{}, {}: {}, ours {ours}", row.case, row.quantity, paper(row)), width);
    }
    text
}

/// How many claims of each paper hold, and of all.
pub fn summary(summary: &Summary) -> String {
    let share = |claims: Claims| claims.share().map_or(String::new(), |share| figure(share, "share"));
    let line = |name: &str, claims: Claims| {
        format!("  {name:<16} {:>3} of {:>3}  {:>7}\n", claims.hold(), claims.counted(), share(claims))
    };
    let papers: String = summary.papers().iter().map(|of| line(of.paper().name(), of.claims())).collect();
    let all = if summary.papers().len() > 1 { line("all", summary.all()) } else { String::new() };
    format!("Claims that count, and how many hold:\n{papers}{all}")
}

/// The different notes in the order in which rows refer to them.
fn notes(rows: &[Row]) -> Vec<&str> {
    let mut notes = Vec::new();
    for note in rows.iter().filter_map(|row| row.note.as_deref()) {
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
    notes
}

fn number(row: &Row, notes: &[&str]) -> String {
    let place = row.note.as_deref().and_then(|note| notes.iter().position(|other| *other == note));
    place.map_or(String::new(), |place| format!("[{}]", place + 1))
}

/// Columns of a note.
const PAGE: usize = 110;

#[cfg(test)]
mod tests {
    use super::*;
    use tailcut_sim::measured::{Measured, Run};
    use tailcut_study::{Options, Study};

    struct Empty;

    impl Study for Empty {
        fn id(&self) -> &'static str {
            "empty-1"
        }
        fn title(&self) -> &'static str {
            "What nothing costs"
        }
        fn source(&self) -> &'static str {
            "Nobody, figure 1"
        }
        fn next(&self, _: &Options, _: &[Measured]) -> Vec<Run> {
            Vec::new()
        }
        fn rows(&self, _: &Options, _: &[Measured]) -> Vec<Row> {
            Vec::new()
        }
    }

    #[test]
    fn a_bound_missed_by_less_than_can_be_told_is_a_tie() {
        let tie = Row::new("a", "latency, 99 %", "x", 1.0005).at_most(1.0).resolved(0.002);
        assert_eq!(
            (verdict(&tie), verdict(&tie.clone().of_reading("another"))),
            ("tie".into(), "(tie)".into())
        );
        assert_eq!(verdict(&Row::new("a", "latency, 99 %", "x", None).at_most(1.0)), "not measured");
    }

    #[test]
    fn rows_with_the_same_note_share_it() {
        let row = |case: &str, measured: f64| Row::new(case, "utilisation", "share", measured);
        let all = vec![
            row("8 chips", 0.4).paper(0.2).limit(1.0).note("the queue is deeper than the paper's"),
            row("16 chips", 0.21).paper(0.2),
            row("32 chips", 0.4).paper(0.2).note("the queue is deeper than the paper's"),
        ];
        let want = "\
empty-1: What nothing costs
Nobody, figure 1; seed 7, quick form

case      quantity      paper  measured  ratio  holds    limit  note
────────────────────────────────────────────────────────────────────
8 chips   utilisation  20.0 %    40.0 %   2.00  no     100.0 %  [1]
16 chips  utilisation  20.0 %    21.0 %   1.05  yes          -
32 chips  utilisation  20.0 %    40.0 %   2.00  no           -  [1]
holds: within a quarter (±25
%) of the paper's figure

 [1] the queue is deeper than
     the paper's
";
        let shown = table(Entry::Paper(&Empty), &Table::new("empty-1", 7, true, all), 30, ColorMode::Plain);
        assert_eq!(shown, want, "\n{shown}");
    }

    #[test]
    fn claims_of_papers_are_counted_and_those_that_fail_are_listed() {
        let row = |case: &str, measured: f64| Row::new(case, "gain", "x", measured);
        let rows = vec![
            row("a", 1.8).at_least(2.2).note("a shallow queue"),
            row("b", 2.3).at_least(2.2),
            row("c", 1.0).at_most(0.5).of_reading("another").note("another reading"),
            row("d", 3.0).paper(3.0).basis(Basis::Input, "an input"),
        ];
        let study = Table::new("swan-0", 1, false, rows);
        let shown = table(Entry::Paper(&Empty), &study, 80, ColorMode::Plain);
        assert!(
            shown.ends_with(
                "\n1 of 2 claims hold; these do not:\n  - a, gain: \u{2265} 2.20 x, ours 1.80 x\n"
            ),
            "\n{shown}"
        );
        for words in [
            "\u{2264} 0.50 x",
            "(no)",
            "(3.00 x)",
            "(yes)",
            "\u{2265}, \u{2264}: a bound; a figure in parentheses: the scenario was made from it; (yes), \
                (no): not",
        ] {
            let shown = shown.replace("\n", " ");
            assert!(shown.contains(words), "{words}\n{shown}");
        }
        let other = Table::new("beyond-0", 1, false, study.rows.clone());
        assert!(!table(Entry::Paper(&Empty), &other, 80, ColorMode::Plain).contains("claims hold"));
        let all = [study.clone(), Table::new("shin-0", 1, false, study.rows.clone()), other];
        let want = "\
Claims that count, and how many hold:
  SWAN               1 of   2   50.0 %
  Shin, Unblinding   1 of   2   50.0 %
  all                2 of   4   50.0 %
";
        assert_eq!(summary(&Summary::of(&all)), want);
    }

    #[test]
    fn columns_without_a_figure_are_left_out() {
        let rows = vec![Row::new("a", "bandwidth", "B/s", 2.5e9)];
        let shown = table(Entry::Paper(&Empty), &Table::new("empty-1", 1, false, rows), 80, ColorMode::Plain);
        assert!(shown.contains("case  quantity    measured\n"), "\n{shown}");
    }
}
