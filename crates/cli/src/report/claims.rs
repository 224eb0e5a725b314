//! The claims of papers as Markdown: those that do not hold first.

use crate::study::html::{measured_cell, paper_cell, verdict_cell};
use std::fmt::Write;
use tailcut_study::claims::{Claims, Paper, Summary};
use tailcut_study::{Row, Table};

/// A page of all claims of these studies, paper by paper. Studies that go beyond the papers are left out.
pub(super) fn markdown(studies: &[Table]) -> String {
    let summary = Summary::of(studies);
    let form = if studies.iter().any(|study| study.quick) { "quick" } else { "full" };
    let first = studies.first();
    let mut text = format!(
        "# Claims of the papers\n\nEvery claim of the five papers beside what the studies measured, in their \
         {form} form (seed {}, version {}).\n",
        first.map_or(0, |study| study.seed),
        first.map_or("", |study| &*study.version)
    );
    text += LEGEND;
    text += "\n| paper | claims | hold | share |\n| --- | --- | --- | --- |\n";
    let line = |name: &str, claims: Claims| {
        let share = claims.share().map_or(String::from("–"), |share| format!("{:.0} %", share * 100.0));
        format!("| {name} | {} | {} | {share} |\n", claims.counted(), claims.hold())
    };
    text.extend(summary.papers().iter().map(|of| line(of.paper().name(), of.claims())));
    text += &line("all", summary.all());
    for of in summary.papers() {
        let name = of.paper().name();
        let mut notes = Notes::default();
        let _ = write!(text, "\n## {name}: {} of {} hold\n", of.claims().hold(), of.claims().counted());
        let rows = || {
            let of_paper = studies.iter().filter(|study| Paper::of(&study.study) == Some(of.paper()));
            of_paper.flat_map(|study| study.rows.iter().map(move |row| (study.study.as_str(), row)))
        };
        let claims = rows().filter(|(_, row)| row.sense().is_some());
        for (title, belongs) in PARTS {
            let of_part: Vec<(&str, &Row)> = claims.clone().filter(|(_, row)| belongs(row)).collect();
            if !of_part.is_empty() {
                text += &part(title, &of_part, &mut notes);
            }
        }
        text += &notes.list();
    }
    text
}

type Part = (&'static str, fn(&Row) -> bool);

/// The parts of a paper, in their order.
const PARTS: [Part; 3] = [
    ("Claims that do not hold", |row| row.is_counted() && row.holds() != Some(true)),
    ("Claims that hold", |row| row.is_counted() && row.holds() == Some(true)),
    ("Not counted: inputs, and readings other than the main one", |row| !row.is_counted()),
];

fn part(title: &str, rows: &[(&str, &Row)], notes: &mut Notes) -> String {
    let mut text =
        format!("\n### {title}\n\n| study | case | quantity | paper | measured | holds | note |\n");
    text += "| --- | --- | --- | --- | --- | --- | --- |\n";
    for (study, row) in rows {
        let number = row.note.as_deref().map_or(String::new(), |note| format!("[{}]", notes.number(note)));
        let figures = [paper_cell(row), measured_cell(row), verdict_cell(row)];
        let [paper, measured, verdict] = figures.each_ref().map(String::as_str);
        let cells = [study, &*row.case, &*row.quantity, paper, measured, verdict, &*number];
        let _ = writeln!(text, "| {} |", cells.map(cell).join(" | "));
    }
    text
}

/// Text of a cell: neither a bar nor a line break in it ends it, a terminal obeys no other control character,
/// and what looks like HTML is none.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('<', "&lt;").replace(char::is_control, " ")
}

/// The different notes in the order in which rows refer to them.
#[derive(Default)]
struct Notes(Vec<String>);

impl Notes {
    /// The number of a note, from 1.
    fn number(&mut self, note: &str) -> usize {
        let place = self.0.iter().position(|other| other == note).unwrap_or_else(|| {
            self.0.push(note.to_string());
            self.0.len() - 1
        });
        place + 1
    }

    fn list(&self) -> String {
        let line = |(place, note): (usize, &String)| format!("- [{}] {}\n", place + 1, cell(note));
        if self.0.is_empty() {
            String::new()
        } else {
            format!("\n{}", self.0.iter().enumerate().map(line).collect::<String>())
        }
    }
}

const LEGEND: &str = "\
A figure is to be equalled within a quarter (±25 %), unless a sign marks a bound. Changes are compared as \
changes, savings of more than half by what remains. Percentiles that the histogram cannot tell apart are a \
tie, which counts as not holding. `~` marks a figure that the paper does not print. Figures in parentheses \
are those that the scenario was made from, verdicts in parentheses are not counted.\n";

#[cfg(test)]
mod tests {
    use super::*;

    fn page(study: &str) -> String {
        let row = |case: &str, measured: f64| Row::new(case, "gain", "x", measured);
        let rows = vec![
            row("holds", 2.3).at_least(2.2),
            row("a | b", 1.8).at_least(2.2).note("a shallow queue"),
            row("other reading", 1.0).paper(1.0).of_reading("another drive"),
            row("no claim", 1.0),
        ];
        markdown(&[Table::new(study, 1, true, rows)])
    }

    #[test]
    fn claims_that_do_not_hold_come_first_and_carry_their_note() {
        let page = page("swan-0");
        assert!(page.contains("| SWAN | 2 | 1 | 50 % |"), "{page}");
        let place = |line: &str| page.find(line).unwrap_or_else(|| panic!("{line}\n{page}"));
        let failing = place("| swan-0 | a \\| b | gain | \u{2265} 2.20 x | 1.80 x | no | [1] |");
        let holding = place("| swan-0 | holds | gain | \u{2265} 2.20 x | 2.30 x | yes |  |");
        let other = place("| swan-0 | other reading | gain | 1.00 x | 1.00 x | (yes) another drive |  |");
        assert!(failing < holding && holding < other && !page.contains("no claim"), "{page}");
        assert!(page.contains("- [1] a shallow queue\n"));
    }

    #[test]
    fn studies_beyond_the_papers_are_left_out() {
        assert!(!page("beyond-0").contains("beyond-0"));
    }
}
