//! The commands to try after a run.

use super::Scenario;
use super::arguments::RunArguments;
use super::files::SCENARIO;
use crate::output::shell_word;
use crate::terminal::{ColorMode, TextRole};
use tailcut_ssd::config::ChipPolicy;
use tailcut_workload::config::PaceKind;

/// Three commands that continue from the results, ready to be copied.
pub(super) fn commands(scenario: &Scenario, arguments: &RunArguments, tone: ColorMode) -> String {
    let folder = shell_word(&arguments.options.out);
    let steps = [
        ("what the slowest waited for", format!("tailcut explain {folder}")),
        ("a page with charts", format!("tailcut report {folder}")),
        experiment(scenario, arguments),
    ];
    let lines = steps.map(|(purpose, command)| format!("{purpose:<30}{command}\n"));
    format!("\n{}\n{}", tone.paint(TextRole::Heading, "try next"), lines.concat())
}

/// What to compare with the scenario: a technique that its drive does not have, or another load.
fn experiment(scenario: &Scenario, arguments: &RunArguments) -> (&'static str, String) {
    let (chip, workload) = (scenario.device.schedule.chip, &scenario.workload);
    let technique = "what a technique changes";
    let load = "what half the load changes";
    let candidates = [
        (technique, "device.schedule.chip", "fifo,reads-first".to_owned(), chip == ChipPolicy::Fifo),
        (
            load,
            "workload.rate",
            format!("{},{}", workload.rate, workload.rate / 2),
            workload.pace == PaceKind::Open && workload.rate > 1,
        ),
        (
            load,
            "workload.depth",
            format!("{},{}", workload.depth, workload.depth / 2),
            workload.pace == PaceKind::Closed && workload.depth > 1,
        ),
    ];
    let ineffective = scenario.ineffective();
    let has_effect = |key: &str| !ineffective.iter().any(|keys| keys.covers(key));
    let found = candidates.into_iter().find(|(_, key, _, is_possible)| *is_possible && has_effect(key));
    match found {
        Some((purpose, key, values, _)) => {
            (purpose, format!("tailcut compare{} --vary {key}={values}", file(arguments)))
        }
        None => ("what can be set", String::from("tailcut run --keys")),
    }
}

/// The scenario of the run as a file, behind a blank; none if that is the built-in one.
fn file(arguments: &RunArguments) -> String {
    let options = &arguments.options;
    let is_built_in = arguments.scenario.is_none()
        && arguments.text.is_none()
        && options.settings().is_empty()
        && options.trace.is_none()
        && options.fio.is_none()
        && !options.long;
    if is_built_in { String::new() } else { format!(" {}", shell_word(&options.out.join(SCENARIO))) }
}
