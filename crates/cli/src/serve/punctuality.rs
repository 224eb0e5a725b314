//! How late the emulated drives of a server were: in its final statistics, as JSON, and as warnings.

use crate::terminal::{ColorMode, TextRole};
use serde::Serialize;
use tailcut_rt::emulated::Lateness;

/// A line for each emulated drive that has completed requests, each with the warning that this machine does
/// not keep up with it, if that is so. `latenesses` is what [`tailcut_rt::AnyDrive::latenesses`] returns.
pub fn show(latenesses: &[(usize, Lateness)], tone: ColorMode) -> String {
    let mut text = String::new();
    for (member, lateness) in latenesses.iter().filter(|(_, lateness)| lateness.histogram().count() > 0) {
        text += &format!("{}: {lateness}\n", name(latenesses, *member));
        if let Some(warning) = lateness.warning() {
            text += &format!("{}\n", tone.paint(TextRole::Warning, &warning));
        }
    }
    text
}

/// For a log: the warning of each drive that this machine does not keep up with.
pub fn warnings(latenesses: &[(usize, Lateness)]) -> Vec<String> {
    let late = latenesses.iter().filter_map(|(member, lateness)| Some((*member, lateness.warning()?)));
    late.map(|(member, warning)| format!("{}: {warning}", name(latenesses, member))).collect()
}

fn name(latenesses: &[(usize, Lateness)], member: usize) -> String {
    match latenesses {
        [_] => String::from("emulated drive"),
        _ => format!("emulated drive {member}"),
    }
}

/// The lateness of each emulated drive.
pub fn reports(latenesses: &[(usize, Lateness)]) -> Vec<LateReport> {
    latenesses.iter().map(|(drive, lateness)| LateReport::new(*drive, lateness)).collect()
}

/// How much later than modelled the completions of an emulated drive were.
#[derive(Debug, Serialize)]
pub struct LateReport {
    drive: usize,
    answers: u64,
    p50_ns: u64,
    p99_ns: u64,
    max_ns: u64,
    /// Mean lateness as a share of the modelled latency.
    share: f64,
}

impl LateReport {
    fn new(drive: usize, lateness: &Lateness) -> LateReport {
        let late = lateness.histogram();
        let percentile = |percent| late.percentile(percent).0;
        LateReport {
            drive,
            answers: late.count(),
            p50_ns: percentile(50.0),
            p99_ns: percentile(99.0),
            max_ns: late.max().0,
            share: lateness.share(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailcut_base::Nanos;
    use tailcut_rt::emulated::Late;

    /// The lateness of 2000 completions of 100 us each.
    fn lateness(by: Nanos) -> Lateness {
        let mut lateness = Lateness::default();
        (0..2000).for_each(|_| lateness.add(Late { by, modelled: Nanos::micros(100) }));
        lateness
    }

    #[test]
    fn a_drive_that_is_too_late_is_warned_of_by_its_number() {
        let both = [(0, lateness(Nanos::micros(1))), (1, lateness(Nanos::micros(30)))];
        let shown = show(&both, ColorMode::Plain);
        let starts =
            ["emulated drive 0: late by", "emulated drive 1: late by", "this machine does not keep up"];
        assert!(shown.lines().count() == 3, "{shown}");
        assert!(shown.lines().zip(starts).all(|(line, start)| line.starts_with(start)), "{shown}");
        let warnings = warnings(&both);
        assert!(warnings.len() == 1, "{warnings:?}");
        assert!(warnings[0].starts_with("emulated drive 1: this machine does not keep up"), "{warnings:?}");
    }

    #[test]
    fn nothing_is_shown_of_a_drive_that_did_nothing() {
        let idle = [(0, Lateness::default())];
        assert_eq!((show(&idle, ColorMode::Plain), warnings(&idle)), (String::new(), Vec::new()));
    }
}
