//! Searches as a person and as a program read them.

use super::pool::SearchResults;
use super::verdict::Verdict;
use crate::terminal::{Align, ColorMode, Table, TextRole};
use serde_json::{Map, Value, json};
use tailcut_base::config::Choice;
use tailcut_torture::{FaultKind, Reached, Tally};

/// The results of a search, in tables.
pub fn summary(results: &SearchResults, subject: &str, tone: ColorMode) -> String {
    let mut table = Table::new(&[("torture", Align::Left), (subject, Align::Right)], tone);
    for (name, value) in figures(results) {
        table.row(&[name, &value]);
    }
    format!("{table}\n\n{}\n\n{}\n", faults(&results.tally, tone), reached(&results.tally, tone))
}

fn figures(results: &SearchResults) -> Vec<(&'static str, String)> {
    let tally = &results.tally;
    let mut figures = vec![("runs", results.runs.to_string())];
    if results.runs > 1 {
        figures.push(("runs per second", format!("{:.0}", results.runs_per_second())));
    }
    figures.push(("requests of the host", tally.requests.to_string()));
    figures.push(("requests of drives", tally.drive_requests.to_string()));
    figures.push(("power cuts", tally.cuts.to_string()));
    figures.push(("recoveries", tally.reached(Reached::Recovered).to_string()));
    figures.push(("longest recovery, blocks read", tally.longest_recovery.to_string()));
    figures.push(("violations", u64::from(results.found.is_some()).to_string()));
    figures.push(("digest", format!("{:016x}", results.digest)));
    figures
}

fn faults(tally: &Tally, tone: ColorMode) -> String {
    let mut table = Table::new(&[("fault", Align::Left), ("injected", Align::Right)], tone);
    for &kind in FaultKind::all() {
        table.row(&[kind.name(), &tally.faults(kind).to_string()]);
    }
    table.to_string()
}

fn reached(tally: &Tally, tone: ColorMode) -> String {
    let mut table = Table::new(&[("reached", Align::Left), ("times", Align::Right)], tone);
    for &what in Reached::all() {
        table.row(&[what.name(), &tally.reached(what).to_string()]);
    }
    table.to_string()
}

/// A broken promise with everything that is needed to see it again.
pub fn verdict(verdict: &Verdict, replay: &str, mutant: &str, tone: ColorMode) -> String {
    let events: String = verdict.events.iter().map(|event| format!("  {event}\n")).collect();
    let plan: String = verdict.plan.to_string().lines().map(|line| format!("  {line}\n")).collect();
    format!(
        "\n{}\n  {}\n\n{}\n{events}\n{}\n{plan}\n{}\n  {replay}\n  tailcut torture{mutant} --plan '{}'\n",
        tone.paint(TextRole::Error, "violation"),
        verdict.wrong,
        tone.paint(TextRole::Heading, "the last events of the smallest plan that shows it"),
        tone.paint(TextRole::Heading, "the plan"),
        tone.paint(TextRole::Heading, "to see it again, in full and small"),
        verdict.plan.in_line(),
    )
}

/// The results of a search as JSON.
pub fn to_json(results: &SearchResults, subject: &str, verdict: Option<(&Verdict, &str)>) -> Value {
    let tally = &results.tally;
    let faults: Map<String, Value> =
        FaultKind::all().iter().map(|&kind| (kind.name().into(), tally.faults(kind).into())).collect();
    let reached: Map<String, Value> =
        Reached::all().iter().map(|&what| (what.name().into(), tally.reached(what).into())).collect();
    let violation = verdict.map(|(verdict, replay)| {
        json!({
            "kind": verdict.wrong.kind.name(),
            "message": verdict.wrong.message,
            "replay": replay,
            "plan": verdict.plan.to_string(),
            "events": verdict.events,
        })
    });
    json!({
        "subject": subject,
        "runs": results.runs,
        "runs_per_second": results.runs_per_second(),
        "requests": tally.requests,
        "drive_requests": tally.drive_requests,
        "power_cuts": tally.cuts,
        "longest_recovery_blocks": tally.longest_recovery,
        "digest": format!("{:016x}", results.digest),
        "faults": faults,
        "reached": reached,
        "violation": violation,
    })
}

impl SearchResults {
    fn runs_per_second(&self) -> f64 {
        self.runs as f64 / self.took.as_secs_f64().max(1e-9)
    }
}
