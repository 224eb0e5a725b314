//! Studies as a person reads them.

use super::Entry;
use crate::format::figure;
use crate::terminal::wrapped;
use crate::terminal::{self, Align, ColorMode, TextRole};
use tailcut_sim::study::{Basis, Row, Table};

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

/// A finished study: title and source, the rows, and the notes below them. A drive test also has
/// instructions for other drives.
pub fn table(entry: Entry, table: &Table, width: usize, tone: ColorMode) -> String {
    let width = width.min(PAGE);
    let notes = notes(&table.rows);
    let mut text = format!("{}\n{}\n", head(entry, table, width, tone), rows(&table.rows, &notes, tone));
    if !notes.is_empty() {
        text.push('\n');
    }
    for (number, note) in notes.iter().enumerate() {
        text += &wrapped(&format!("{:>4} ", format!("[{}]", number + 1)), note, width);
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

fn rows(rows: &[Row], notes: &[&str], tone: ColorMode) -> String {
    let right = |title| (title, Align::Right);
    let left = |title| (title, Align::Left);
    let head = [
        left("case"),
        left("quantity"),
        right("paper"),
        right("measured"),
        right("ratio"),
        right("limit"),
        left("note"),
    ];
    // A column without any figure or note is omitted.
    let has = |column: &dyn Fn(&Row) -> bool| rows.iter().any(column);
    let has_paper = has(&|row| row.paper.is_some());
    let shown = [true, true, has_paper, true, has_paper, has(&|row| row.limit.is_some()), !notes.is_empty()];
    let keep = |cells: [String; 7]| -> Vec<String> {
        cells.into_iter().zip(shown).filter(|&(_, shown)| shown).map(|(cell, _)| cell).collect()
    };
    let head: Vec<(&str, Align)> =
        head.into_iter().zip(shown).filter(|&(_, shown)| shown).map(|(h, _)| h).collect();
    let mut table = terminal::Table::new(&head, tone);
    for row in rows {
        let show = |value: Option<f64>| value.map_or(String::from("-"), |value| figure(value, row.unit));
        table.row(&keep([
            row.case.clone(),
            row.quantity.clone(),
            paper(row),
            show(row.measured),
            row.ratio.map_or(String::from("-"), |ratio| format!("{ratio:.2}")),
            show(row.limit),
            number(row, notes),
        ]));
    }
    table.to_string()
}

/// The paper's figure: after `~` if the paper does not print it, in parentheses if the scenario was made from
/// it.
fn paper(row: &Row) -> String {
    let Some(value) = row.paper else { return String::from("-") };
    let shown = figure(value, row.unit);
    match row.basis {
        None => shown,
        Some(Basis::Derived) => format!("~{shown}"),
        Some(Basis::Input) => format!("({shown})"),
    }
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
    use tailcut_sim::study::{Measured, Options, Run, Study};

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

case      quantity      paper  measured  ratio    limit  note
─────────────────────────────────────────────────────────────
8 chips   utilisation  20.0 %    40.0 %   2.00  100.0 %  [1]
16 chips  utilisation  20.0 %    21.0 %   1.05        -
32 chips  utilisation  20.0 %    40.0 %   2.00        -  [1]

 [1] the queue is deeper than
     the paper's
";
        let shown = table(Entry::Paper(&Empty), &Table::new("empty-1", 7, true, all), 30, ColorMode::Plain);
        assert_eq!(shown, want, "\n{shown}");
    }

    #[test]
    fn columns_without_a_figure_are_left_out() {
        let rows = vec![Row::new("a", "bandwidth", "B/s", 2.5e9)];
        let shown = table(Entry::Paper(&Empty), &Table::new("empty-1", 1, false, rows), 80, ColorMode::Plain);
        assert!(shown.contains("case  quantity    measured\n"), "\n{shown}");
    }
}
