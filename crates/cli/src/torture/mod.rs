//! `tailcut torture`: everything that stores data, against everything that may happen to it.

pub mod arguments;
pub mod page;
pub mod pool;
pub mod trap;
pub mod verdict;

use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::output::is_stdout;
use crate::output::write_json;
use crate::scenario::nearest::{enumerate, nearest};
use crate::terminal::{ColorMode, Waiting};
use arguments::TortureArguments;
use pool::{Plans, Search, SearchResults};
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};
use tailcut_base::config::Choice;
use tailcut_torture::seeds::{self, Target};
use tailcut_torture::{EveryStep, Mutant, Plan};
use verdict::ShrinkBudget;

/// Does what the arguments ask and prints to `out`.
///
/// # Errors
/// An unknown subject, planted bug or plan, a violation that was found, or [`Failure::Interrupted`].
pub fn torture(arguments: &TortureArguments, out: &mut dyn Write) -> Result<(), Failure> {
    let target = subject(&arguments.subject)?;
    let mutant = arguments.mutant.as_deref().map(mutant).transpose()?;
    let marks = arguments.mutant.as_ref().map_or(String::new(), |name| format!(" --mutant {name}"));
    let plan = arguments.plan.as_deref().map(plan).transpose()?;
    let mut bench = Bench { arguments, mutant, marks, interrupt: listen()?, out };
    if let Some(plan) = plan {
        if arguments.every_step {
            return bench.every_step(&plan);
        }
        let replay = bench.replay_given(&plan);
        let results = bench.alone(&plan);
        return bench.report(&results, &plan, &replay);
    }
    let search = search(arguments, target.clone(), mutant);
    let results = pool::search(&search, arguments.quiet, &bench.interrupt);
    let seed = results.found.as_ref().map_or(search.first, |&(seed, _)| seed);
    let replay = format!("tailcut torture{} --subject {} --seed {seed}", bench.marks, arguments.subject);
    bench.report(&results, &target.plan(seed), &replay)
}

/// What all searches of one command share.
struct Bench<'b> {
    arguments: &'b TortureArguments,
    mutant: Option<Mutant>,
    /// The options of a command that plants the same bug.
    marks: String,
    interrupt: Interrupt,
    out: &'b mut dyn Write,
}

impl Bench<'_> {
    fn replay(&self, plan: &Plan) -> String {
        format!("tailcut torture{} --plan '{}'", self.marks, plan.in_line())
    }

    /// The command that runs the plan of the arguments again: by the name of its file, if it is in one.
    fn replay_given(&self, plan: &Plan) -> String {
        match &self.arguments.plan {
            Some(file) if Path::new(file).exists() => format!("tailcut torture{} --plan {file}", self.marks),
            _ => self.replay(plan),
        }
    }

    /// Runs a plan once for each of its events, with the power cut there; where it breaks a promise already
    /// without, that is reported instead.
    fn every_step(&mut self, plan: &Plan) -> Result<(), Failure> {
        let whole = self.alone(plan);
        if whole.found.is_some() || whole.interrupted {
            let replay = self.replay_given(plan);
            return self.report(&whole, plan, &replay);
        }
        let (arguments, mutant) = (self.arguments, self.mutant);
        let steps = EveryStep::new(plan, &whole.tally);
        let (count, jobs) = (Some(steps.events()), arguments.jobs.map(usize::from));
        let search = Search { first: 0, count, time: None, plans: Plans::Steps(steps), mutant, jobs };
        let results = pool::search(&search, arguments.quiet, &self.interrupt);
        let cut = search.plans.plan(results.found.as_ref().map_or(0, |&(event, _)| event));
        let replay = self.replay(&cut);
        self.report(&results, &cut, &replay)
    }

    /// Runs one plan.
    fn alone(&self, plan: &Plan) -> SearchResults {
        let started = Instant::now();
        let outcome = verdict::attempt(plan, self.mutant, &self.interrupt);
        let (runs, interrupted) = (u64::from(outcome.is_some()), outcome.is_none());
        let (digest, tally, wrong) =
            outcome.map_or_else(Default::default, |outcome| (outcome.digest, outcome.tally, outcome.wrong));
        let found = wrong.map(|wrong| (plan.seed, wrong));
        SearchResults { runs, took: started.elapsed(), digest, tally, found, interrupted }
    }

    /// Prints what a search did, and then what it found, which takes the time to find a smaller plan.
    fn report(&mut self, results: &SearchResults, plan: &Plan, replay: &str) -> Result<(), Failure> {
        let arguments = self.arguments;
        let to_stdout = arguments.json.as_deref().is_some_and(is_stdout);
        let name = if arguments.plan.is_some() { "plan" } else { &arguments.subject };
        let tone = ColorMode::of_stdout();
        if !to_stdout {
            self.out.write_all(page::summary(results, name, tone).as_bytes())?;
            self.out.flush()?;
        }
        let verdict = results.found.as_ref().map(|(_, wrong)| {
            let _waiting = Waiting::new(String::from("looking for a smaller plan"), arguments.quiet);
            let effort = ShrinkBudget { tries: TRIES, events: arguments.events };
            verdict::judge(plan, wrong, self.mutant, effort, &self.interrupt)
        });
        if let Some(verdict) = verdict.as_ref().filter(|_| !to_stdout) {
            self.out.write_all(page::verdict(verdict, replay, &self.marks, tone).as_bytes())?;
            self.out.flush()?;
        }
        if let Some(file) = &arguments.json {
            let verdict = verdict.as_ref().map(|verdict| (verdict, replay));
            write_json(&page::to_json(results, name, verdict), file, self.out)?;
        }
        match verdict {
            Some(verdict) => {
                Err(Failure::Operation(format!("{}\nsee it again with: {replay}", verdict.wrong)))
            }
            None if results.interrupted => Err(Failure::Interrupted),
            None => Ok(()),
        }
    }
}

fn listen() -> Result<Interrupt, Failure> {
    Interrupt::listen().map_err(|error| Failure::Operation(format!("cannot listen for Ctrl-C: {error}")))
}

/// One seed if only one is named; all that come if nothing is.
fn search(arguments: &TortureArguments, target: Target, mutant: Option<Mutant>) -> Search {
    let is_open = arguments.seeds.is_none() && arguments.time.is_none();
    let count = if is_open && arguments.seed.is_some() { Some(1) } else { arguments.seeds };
    let time = arguments.time.map(|time| Duration::from_nanos(time.0));
    Search {
        first: arguments.seed.unwrap_or(1),
        count,
        time: if is_open && arguments.seed.is_none() { Some(DEFAULT_TIME) } else { time },
        plans: Plans::Seeds(target),
        mutant,
        jobs: arguments.jobs.map(usize::from),
    }
}

fn subject(name: &str) -> Result<Target, Failure> {
    seeds::target(name).ok_or_else(|| unknown("subject", name, &seeds::subjects()))
}

fn mutant(name: &str) -> Result<Mutant, Failure> {
    Mutant::by_name(name).ok_or_else(|| unknown("mutant", name, Mutant::NAMES))
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

/// The default length of a search.
const DEFAULT_TIME: Duration = Duration::from_secs(10);

/// Runs that may be spent to find a smaller plan.
const TRIES: u32 = 1500;
