//! Runs plans on all cores, and finds the first that shows something. Its threads are not those of
//! [`crate::pool`], which are waited for: a plan may hang, and panics with its thread's stack.

use super::trap::guarded;
use crate::interrupt::Interrupt;
use crate::terminal::Progress;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};
use tailcut_base::random::mix64;
use tailcut_torture::seeds::Target;
use tailcut_torture::{EveryStep, Mutant, Outcome, Plan, Tally, Violation, run};

/// Where plans come from.
#[derive(Clone, Debug)]
pub enum Plans {
    /// Plans that seeds draw for this target.
    Seeds(Target),
    /// From one plan, with the power cut at the event of this number.
    Steps(EveryStep),
}

impl Plans {
    /// The plan of a number.
    pub fn plan(&self, number: u64) -> Plan {
        match self {
            Plans::Seeds(target) => target.plan(number),
            Plans::Steps(steps) => steps.cut_at(number, &[]),
        }
    }
}

/// Which plans are run, and for how long.
#[derive(Clone, Debug)]
pub struct Search {
    /// The first number: a seed, or an event.
    pub first: u64,
    /// Number of seeds to run; `None` for no limit.
    pub count: Option<u64>,
    /// Time after which no new runs begin; `None` for no limit.
    pub time: Option<Duration>,
    /// Where plans come from: seeds, or one plan with a power cut at each event.
    pub plans: Plans,
    /// A planted bug that the checkers must find; `None` for the code as it is.
    pub mutant: Option<Mutant>,
    /// Number of threads; `None` for one per core.
    pub jobs: Option<usize>,
}

/// The results of the seeds.
#[derive(Clone, Debug)]
pub struct SearchResults {
    /// Number of runs that have ended.
    pub runs: u64,
    /// Duration of the search by the wall clock.
    pub took: Duration,
    /// Digest of all runs, independent of their order.
    pub digest: u64,
    /// The states and events that the runs reached.
    pub tally: Tally,
    /// The lowest seed whose run broke a promise, and the violation; `None` if all were kept.
    pub found: Option<(u64, Violation)>,
    /// Whether the user stopped the search.
    pub interrupted: bool,
}

/// What all threads share.
struct Shared {
    search: Search,
    next: AtomicU64,
    is_over: AtomicBool,
    started: Instant,
}

enum WorkerMessage {
    Ran(u64, Box<Outcome>),
    Ended,
}

impl Shared {
    /// The next seed, until it is enough. Seeds are taken in their order, so that below one that shows
    /// something all have been run.
    fn next(&self) -> Option<u64> {
        let search = &self.search;
        let is_late = search.time.is_some_and(|time| self.started.elapsed() >= time);
        if is_late || self.is_over.load(Ordering::Relaxed) {
            return None;
        }
        let index = self.next.fetch_add(1, Ordering::Relaxed);
        (search.count.is_none_or(|count| index < count)).then(|| search.first.wrapping_add(index))
    }

    fn work(&self, tell: &Sender<WorkerMessage>) {
        while let Some(seed) = self.next() {
            let panicked = tell.clone();
            let report = move |message| {
                let _ = panicked.send(WorkerMessage::Ran(seed, Box::new(Outcome::panicked(message))));
                let _ = panicked.send(WorkerMessage::Ended);
            };
            let search = &self.search;
            let outcome = guarded(report, || run(&search.plans.plan(seed), search.mutant, None));
            let Some(outcome) = outcome else { return };
            let _ = tell.send(WorkerMessage::Ran(seed, Box::new(outcome)));
        }
        let _ = tell.send(WorkerMessage::Ended);
    }
}

/// Runs the seeds of a search until one fails, all are done, the time is up or the user asks to stop.
pub fn search(search: &Search, quiet: bool, interrupt: &Interrupt) -> SearchResults {
    let jobs = search.jobs.unwrap_or_else(|| thread::available_parallelism().map_or(1, usize::from));
    let mut progress = Progress::counting("runs", "torture", search.count, quiet);
    let shared = Arc::new(Shared {
        search: search.clone(),
        next: AtomicU64::new(0),
        is_over: AtomicBool::new(false),
        started: Instant::now(),
    });
    let (tell, told) = mpsc::channel();
    for _ in 0..jobs {
        let (shared, tell) = (Arc::clone(&shared), tell.clone());
        thread::spawn(move || shared.work(&tell));
    }
    let mut results = SearchResults {
        runs: 0,
        took: Duration::ZERO,
        digest: 0,
        tally: Tally::default(),
        found: None,
        interrupted: false,
    };
    let mut working = jobs;
    // A run may take long: an interrupt does not wait for those under way, which end with the process.
    while working > 0 && !results.interrupted {
        match told.recv_timeout(TICK) {
            Ok(WorkerMessage::Ran(seed, outcome)) => results.take(seed, *outcome),
            Ok(WorkerMessage::Ended) => working -= 1,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        results.interrupted |= interrupt.asked();
        if results.found.is_some() || results.interrupted {
            shared.is_over.store(true, Ordering::Relaxed);
        }
        progress.count(results.runs);
    }
    results.took = shared.started.elapsed();
    results
}

impl SearchResults {
    fn take(&mut self, seed: u64, outcome: Outcome) {
        self.runs += 1;
        self.digest = self.digest.wrapping_add(mix64(outcome.digest ^ mix64(seed)));
        self.tally.merge(&outcome.tally);
        if let Some(wrong) = outcome.wrong
            && self.found.as_ref().is_none_or(|&(found, _)| seed < found)
        {
            self.found = Some((seed, wrong));
        }
    }
}

/// How often the progress is looked at.
const TICK: Duration = Duration::from_millis(200);
