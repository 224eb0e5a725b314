//! `tailcut torture`: everything that stores data, against everything that may happen to it.

pub mod crew;
pub mod page;
pub mod trap;
pub mod verdict;

use crate::arguments::{TortureArguments, is_stdout};
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::run::write_json;
use crate::scenario::nearest::{enumerate, nearest};
use crate::terminal::{Tone, Waiting};
use crew::{Harvest, Plans, Search};
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};
use tailcut_base::config::Choice;
use tailcut_sim::torture::seeds::{self, Target};
use tailcut_sim::torture::{Canary, EveryStep, Plan};

/// Does what the arguments ask and prints to `out`.
pub fn torture(arguments: &TortureArguments, out: &mut dyn Write) -> Result<(), Failure> {
    let target = subject(&arguments.subject)?;
    let canary = arguments.canary.as_deref().map(canary).transpose()?;
    let marks = arguments.canary.as_ref().map_or(String::new(), |name| format!(" --canary {name}"));
    if let Some(text) = &arguments.plan {
        let plan = plan(text)?;
        if arguments.every_step {
            return every_step(arguments, &plan, canary, &marks, out);
        }
        let replay = format!("tailcut torture{marks} --plan '{}'", plan.in_line());
        return report(arguments, &alone(&plan, canary), Some(&plan), &replay, out);
    }
    let search = search(arguments, target.clone(), canary);
    let harvest = crew::search(&search, arguments.quiet, &listen()?);
    let seed = harvest.found.as_ref().map_or(search.first, |&(seed, _)| seed);
    let replay = format!("tailcut torture{marks} --subject {} --seed {seed}", arguments.subject);
    report(arguments, &harvest, Some(&target.plan(seed)), &replay, out)
}

/// Runs a plan once for each of its events, with the power cut there; where it breaks a promise already without,
/// that is told instead.
fn every_step(
    arguments: &TortureArguments,
    plan: &Plan,
    canary: Option<Canary>,
    marks: &str,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let replay = |plan: &Plan| format!("tailcut torture{marks} --plan '{}'", plan.in_line());
    let whole = alone(plan, canary);
    if whole.found.is_some() {
        return report(arguments, &whole, Some(plan), &replay(plan), out);
    }
    let steps = EveryStep::new(plan, &whole.tally);
    let (count, jobs) = (Some(steps.events()), arguments.jobs.map(usize::from));
    let search = Search { first: 0, count, time: None, plans: Plans::Steps(steps), canary, jobs };
    let harvest = crew::search(&search, arguments.quiet, &listen()?);
    let cut = search.plans.plan(harvest.found.as_ref().map_or(0, |&(event, _)| event));
    report(arguments, &harvest, Some(&cut), &replay(&cut), out)
}

fn listen() -> Result<Interrupt, Failure> {
    Interrupt::listen().map_err(|error| Failure::Operation(format!("cannot listen for Ctrl-C: {error}")))
}

/// One seed if only one is named; all that come if nothing is.
fn search(arguments: &TortureArguments, target: Target, canary: Option<Canary>) -> Search {
    let is_open = arguments.seeds.is_none() && arguments.time.is_none();
    let count = if is_open && arguments.seed.is_some() { Some(1) } else { arguments.seeds };
    let time = arguments.time.map(|time| Duration::from_nanos(time.0));
    Search {
        first: arguments.seed.unwrap_or(1),
        count,
        time: if is_open && arguments.seed.is_none() { Some(DEFAULT_TIME) } else { time },
        plans: Plans::Seeds(target),
        canary,
        jobs: arguments.jobs.map(usize::from),
    }
}

/// Runs one plan.
fn alone(plan: &Plan, canary: Option<Canary>) -> Harvest {
    let started = Instant::now();
    let outcome = verdict::attempt(plan, canary);
    Harvest {
        runs: 1,
        took: started.elapsed(),
        digest: outcome.digest,
        tally: outcome.tally,
        found: outcome.wrong.map(|wrong| (plan.seed, wrong)),
        interrupted: false,
    }
}

fn report(
    arguments: &TortureArguments,
    harvest: &Harvest,
    plan: Option<&Plan>,
    replay: &str,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let to_stdout = arguments.json.as_deref().is_some_and(is_stdout);
    let canary = arguments.canary.as_deref().map(canary).transpose()?;
    let verdict = harvest.found.as_ref().zip(plan).map(|((_, wrong), plan)| {
        let _waiting = Waiting::new(String::from("looking for a smaller plan"), arguments.quiet);
        verdict::judge(plan, wrong, canary, TRIES, arguments.events)
    });
    let name = if arguments.plan.is_some() { "plan" } else { &arguments.subject };
    if !to_stdout {
        out.write_all(page::summary(harvest, name, Tone::of_stdout()).as_bytes())?;
        if let Some(verdict) = &verdict {
            let marks = arguments.canary.as_ref().map_or(String::new(), |name| format!(" --canary {name}"));
            out.write_all(page::verdict(verdict, replay, &marks, Tone::of_stdout()).as_bytes())?;
        }
        out.flush()?;
    }
    if let Some(file) = &arguments.json {
        write_json(&page::to_json(harvest, name, verdict.as_ref().map(|v| (v, replay))), file, out)?;
    }
    match verdict {
        Some(verdict) => Err(Failure::Operation(format!("{}\nsee it again with: {replay}", verdict.wrong))),
        None if harvest.interrupted => Err(Failure::Interrupted),
        None => Ok(()),
    }
}

fn subject(name: &str) -> Result<Target, Failure> {
    seeds::target(name).ok_or_else(|| unknown("subject", name, &seeds::subjects()))
}

fn canary(name: &str) -> Result<Canary, Failure> {
    Canary::by_name(name).ok_or_else(|| unknown("canary", name, Canary::NAMES))
}

fn unknown(what: &str, name: &str, known: &[&str]) -> Failure {
    let guess = nearest(name, known.iter().copied());
    let guess = guess.map_or(String::new(), |known| format!("; did you mean '{known}'?"));
    Failure::Input(format!("there is no {what} '{name}'{guess}\n  there are: {}", enumerate(known)))
}

/// A plan from a file of that name, or else from the text itself.
fn plan(text: &str) -> Result<Plan, Failure> {
    let is_inline = text.contains(['=', ';', '\n']) && !Path::new(text).exists();
    let text = if is_inline {
        text.to_string()
    } else {
        std::fs::read_to_string(text).map_err(|error| {
            Failure::Input(format!("--plan {text}: {error}; name a file, or write the plan itself"))
        })?
    };
    text.parse().map_err(|error| Failure::Input(format!("--plan: {error}")))
}

/// How long a search goes on if nothing is said.
const DEFAULT_TIME: Duration = Duration::from_secs(10);

/// Runs that may be spent to find a smaller plan.
const TRIES: u32 = 1500;
