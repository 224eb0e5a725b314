//! The results as CSV: one line for each, with the columns that `--against` reads.

use super::Report;
use super::against::COLUMNS;
use crate::output;

/// All results of all tests.
pub(super) fn text(report: &Report) -> String {
    let mut lines = vec![COLUMNS.map(String::from)];
    for tested in &report.tests {
        let name = tested.procedure.test.name();
        for row in report.rows(tested) {
            let Some(value) = row.measured else { continue };
            lines.push([name.into(), row.case, row.quantity, row.unit.into_owned(), value.to_string()]);
        }
    }
    output::csv(lines)
}
