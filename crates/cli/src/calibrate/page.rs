//! A calibration as a person reads it.

use super::results::{FittedParameter, Results, RowErrors};
use crate::terminal::{Align, ColorMode, Table, TextRole};
use tailcut_base::quantity::{show_bytes, show_count, show_number_of, show_time};

/// Parameters with what they move, and rows with their errors.
pub(super) fn page(results: &Results, tone: ColorMode) -> String {
    let heading = format!(
        "drive {}: {} fitted to {}, {}, cost {:.3}",
        results.drive,
        show_number_of(results.parameters.len() as u64, "parameter"),
        show_number_of(results.rows.len() as u64, "row"),
        show_number_of(results.evaluations as u64, "candidate"),
        results.cost
    );
    format!(
        "{}\n\n{}\n\n{}\n\nErrors are medians of |predicted / measured - 1|; 2 µs of a write count as \
            nothing.\n\
         'left out' is the error of a fit to the other rows.\n{}",
        tone.paint(TextRole::Heading, &heading),
        parameters(results, tone),
        rows(results, tone),
        results.draft().map_or_else(String::new, |why| format!("{why}\n"))
    )
}

fn parameters(results: &Results, tone: ColorMode) -> Table {
    let head = [
        ("parameter", Align::Left),
        ("value", Align::Right),
        ("bounds", Align::Right),
        ("pinned by", Align::Left),
    ];
    let mut table = Table::new(&head, tone);
    for parameter in &results.parameters {
        let [low, high] = parameter.bounds.map(|bound| value(parameter, bound));
        let at_bound = parameter.bounds.iter().any(|bound| (parameter.value / bound - 1.0).abs() < AT_BOUND);
        let pinned = match &parameter.pinned_by {
            Some((load, moved)) => format!("{load}, moves it by {:.1} %", moved * 100.0),
            None => "no row pins this".into(),
        };
        let note = if at_bound { "; at its bound" } else { "" };
        table.row(&[
            parameter.key.to_string(),
            value(parameter, parameter.value),
            format!("{low} to {high}"),
            format!("{pinned}{note}"),
        ]);
    }
    table
}

/// Of a bound, within a thousandth.
const AT_BOUND: f64 = 1e-3;

fn value(parameter: &FittedParameter, value: f64) -> String {
    match parameter.unit {
        "ns" => show_time(value),
        "bytes" => show_bytes(value),
        "ppm" => format!("{:.2} %", value / 1e4),
        _ => show_count(value),
    }
}

fn rows(results: &Results, tone: ColorMode) -> Table {
    let right = |title| (title, Align::Right);
    let head = [
        ("row", Align::Left),
        right("reads"),
        right("writes"),
        right("rate"),
        right("reads, left out"),
        right("writes, left out"),
        right("rate, left out"),
    ];
    let mut table = Table::new(&head, tone);
    let share =
        |error: Option<f64>| error.map_or(String::from("-"), |error| format!("{:.1} %", error * 100.0));
    let cells = |errors: Option<&RowErrors>| {
        [errors.and_then(|e| e.reads), errors.and_then(|e| e.writes), errors.and_then(|e| e.rate)].map(share)
    };
    for row in &results.rows {
        let [reads, writes, rate] = cells(Some(&row.fitted));
        let [reads_left_out, writes_left_out, rate_left_out] = cells(row.predicted.as_ref());
        table.row(&[row.load.clone(), reads, writes, rate, reads_left_out, writes_left_out, rate_left_out]);
    }
    table
}
