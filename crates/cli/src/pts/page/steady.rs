//! How rounds became steady, as tables: the data of the plots.

use crate::terminal::{Align, ColorMode, Table};
use tailcut_pts::{Convergence, Ending, Track};

/// Rounds that are shown at the most; of more of them the last ones.
const SHOWN: usize = 30;

/// One line for each round, one column for each tracked figure.
pub(super) fn convergence(convergence: &Convergence, tone: ColorMode) -> String {
    let count = convergence.tracks.first().map_or(0, |track| track.values.len());
    if count == 0 {
        return String::new();
    }
    let names: Vec<String> = convergence.tracks.iter().map(name).collect();
    let mut head = vec![("round", Align::Right)];
    head.extend(names.iter().map(|name| (name.as_str(), Align::Right)));
    head.push(("", Align::Left));
    let mut table = Table::new(&head, tone);
    let window = convergence.window();
    for round in count.saturating_sub(SHOWN)..count {
        let mut row = vec![(round + 1).to_string()];
        row.extend(convergence.tracks.iter().map(|track| value(track, round)));
        row.push(String::from(if window.contains(&(round as u32)) { "*" } else { "" }));
        table.row(&row);
    }
    let left_out = count.saturating_sub(SHOWN);
    let rest =
        if left_out > 0 { format!("{left_out} rounds before that are not shown\n") } else { String::new() };
    format!("{table}\n{rest}")
}

fn name(track: &Track) -> String {
    format!("{} {}", track.cell, track.metric.name().0)
}

fn value(track: &Track, round: usize) -> String {
    track.values.get(round).map_or(String::from("-"), |&value| shown(track, value as f64))
}

fn shown(track: &Track, value: f64) -> String {
    super::figure(Some(track.metric.shown(value)), track.metric.name().1)
}

/// The steady-state criteria over the last five rounds: mean, excursion, and the fitted line.
pub(super) fn window(convergence: &Convergence, tone: ColorMode) -> String {
    let right = |title| (title, Align::Right);
    let head = [
        ("", Align::Left),
        right("mean"),
        right("excursion"),
        right("allowed"),
        right("slope"),
        right("allowed"),
        right("line from"),
        right("to"),
    ];
    let mut table = Table::new(&head, tone);
    for track in &convergence.tracks {
        let Some(window) = track.window() else { continue };
        let (first, last) = window.line();
        let percent = |share: f64| format!("{:.1} %", 100.0 * share);
        table.row(&[
            name(track),
            shown(track, window.mean()),
            percent(window.excursion()),
            "20 %".into(),
            percent(window.drift()),
            "10 %".into(),
            shown(track, first),
            shown(track, last),
        ]);
    }
    let verdict = verdict(convergence);
    if table.is_empty() { verdict } else { format!("{table}\n{verdict}") }
}

fn verdict(convergence: &Convergence) -> String {
    let window = convergence.window();
    let rounds = format!("rounds {} to {}", window.start + 1, window.end);
    match convergence.ending {
        Some(Ending::Steady) => format!("steady state in {rounds}\n"),
        Some(Ending::Rounds) => {
            format!("NOT STEADY in {} rounds; figures are those of {rounds}\n", window.end)
        }
        Some(Ending::Bytes) => String::from("ended by what was written, before five rounds were steady\n"),
        Some(Ending::Time) => String::from("ended by its time, before five rounds were steady\n"),
        None => String::from("not over\n"),
    }
}
