//! The results as CSV: one line for each, with the columns that `--against` reads.

use super::Report;
use super::against::COLUMNS;

/// All results of all tests.
pub fn text(report: &Report) -> String {
    let mut text = format!("{}\n", COLUMNS.join(","));
    for tested in &report.tests {
        for row in report.rows(tested) {
            let Some(value) = row.measured else { continue };
            let name = tested.procedure.test.name();
            let (case, quantity) = (quoted(&row.case), quoted(&row.quantity));
            text += &format!("{name},{case},{quantity},{},{value}\n", row.unit);
        }
    }
    text
}

fn quoted(text: &str) -> String {
    if text.contains(',') { format!("\"{text}\"") } else { text.to_owned() }
}
