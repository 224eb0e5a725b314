//! The search: what costs the least first, a short run for each, a long one for those that it does not break.

use super::Request;
use super::arrangement::{Arrangement, Arrangements};
use super::judge::{is_broken_soon, is_life_unknown, judge, requests_needed};
use super::results::{Advice, Against, Candidate, Caveats, FORMAT, Verdict, Wear};
use crate::failure::Failure;
use crate::pool::ThreadPool;
use crate::run::Scenario;
use crate::scenario::{self, Comments};
use crate::sweep::point::Identities;
use crate::sweep::{Outcome, Point, Progress, Records, RunResult, run_all};
use std::collections::BTreeMap;
use tailcut_base::Nanos;

pub(super) struct Search<'r> {
    request: &'r Request,
    arrangements: Arrangements,
    records: Records,
    identities: Identities,
    /// The scenario of the longest run of each that was tried.
    scenarios: Vec<String>,
    /// Runs of the batches so far.
    runs: u64,
}

/// The caller's callbacks: whether to stop, and progress.
struct Observer<'e> {
    is_over: &'e (dyn Fn() -> bool + Sync),
    tell: &'e mut dyn FnMut(Progress),
}

impl Search<'_> {
    pub(super) fn new(request: &Request, arrangements: Arrangements) -> Result<Search<'_>, Failure> {
        let records = match &request.out {
            // What will be wanted is not known before it is run.
            Some(folder) => Records::open(folder, |_| true)?,
            None => Records::default(),
        };
        let (identities, scenarios) = (Identities::default(), Vec::new());
        Ok(Search { request, arrangements, records, identities, scenarios, runs: 0 })
    }

    pub(super) fn run(
        mut self,
        is_over: &(dyn Fn() -> bool + Sync),
        tell: &mut dyn FnMut(Progress),
    ) -> Result<(Advice, Vec<String>), Failure> {
        let mut tried: Vec<Candidate> = Vec::new();
        let all = self.arrangements.take();
        let is_equal = |a: &Arrangement, b: &Arrangement| a.tried.cost == b.tried.cost;
        for class in all.chunk_by(is_equal) {
            let wanted = self.wanted(class, &tried);
            let mut found = self.class(&wanted, is_over, tell)?;
            tried.append(&mut found);
            if is_over() {
                break;
            }
        }
        let not_tried = (all.len() - tried.len()) as u64;
        let complete = !is_over();
        Ok((self.conclude(tried, not_tried, complete), self.scenarios))
    }

    /// Those of a class that can still change the answer: what may be advised, until something keeps the
    /// promise, and likewise what the advice is set against.
    fn wanted(&self, class: &[Arrangement], tried: &[Candidate]) -> Vec<Arrangement> {
        let layouts = &self.request.layouts;
        let is_found = |is_wanted: &dyn Fn(&str) -> bool| {
            tried.iter().any(|tried| is_kept(tried) && is_wanted(&tried.layout))
        };
        let is_advised = is_found(&|layout| layouts.offers(layout));
        let is_rival_found = is_found(&|layout| layouts.is_against(layout));
        let is_wanted = |arrangement: &&Arrangement| {
            let layout = arrangement.tried.layout.as_str();
            (!is_advised && layouts.offers(layout)) || (!is_rival_found && layouts.is_against(layout))
        };
        class.iter().filter(is_wanted).cloned().collect()
    }

    /// Tries all arrangements of one cost.
    fn class(
        &mut self,
        class: &[Arrangement],
        is_over: &(dyn Fn() -> bool + Sync),
        tell: &mut dyn FnMut(Progress),
    ) -> Result<Vec<Candidate>, Failure> {
        let mut tried: Vec<Candidate> = class.iter().map(|arrangement| arrangement.tried.clone()).collect();
        let first = self.scenarios.len();
        self.scenarios.resize(first + class.len(), String::new());
        let mut observer = Observer { is_over, tell };
        let open = self.short_runs(class, first, &mut tried, &mut observer)?;
        self.long_runs(class, open, first, &mut tried, &mut observer)?;
        Ok(tried)
    }

    /// Drops what breaks the promise soon. Returns the runs that decide on the others.
    fn short_runs(
        &mut self,
        class: &[Arrangement],
        first: usize,
        tried: &mut [Candidate],
        observer: &mut Observer<'_>,
    ) -> Result<Vec<(usize, Scenario)>, Failure> {
        let short = |arrangement: &Arrangement| arrangement.for_requests(SHORT, Nanos::ZERO);
        let all: Vec<(usize, Scenario)> = class.iter().map(short).enumerate().collect();
        let mut open = Vec::new();
        for (index, outcome) in self.batch(all, first, tried, observer)? {
            if is_broken_soon(&self.request.promise, &outcome) {
                (_, tried[index].terms) = judge(&self.request.promise, &outcome);
                tried[index].verdict = Verdict::BrokenSoon;
            } else {
                open.push((index, self.long(&class[index], &outcome)));
            }
        }
        Ok(open)
    }

    /// Decides. Life needs erases, and how many requests these need shows only when they come.
    fn long_runs(
        &mut self,
        class: &[Arrangement],
        mut open: Vec<(usize, Scenario)>,
        first: usize,
        tried: &mut [Candidate],
        observer: &mut Observer<'_>,
    ) -> Result<(), Failure> {
        for _ in 0..LENGTHENED {
            let lengths: BTreeMap<usize, u64> =
                open.iter().map(|(index, scenario)| (*index, scenario.run.requests)).collect();
            for (index, outcome) in self.batch(std::mem::take(&mut open), first, tried, observer)? {
                (tried[index].verdict, tried[index].terms) = judge(&self.request.promise, &outcome);
                let longer = lengths[&index] * 4;
                if is_life_unknown(&self.request.promise, &outcome) && longer <= self.request.most_requests {
                    let arrangement = &class[index];
                    open.push((index, arrangement.for_requests(longer, arrangement.scenario.run.ramp)));
                }
            }
        }
        Ok(())
    }

    /// The run that decides, as long as its percentiles need and the user allows.
    fn long(&self, arrangement: &Arrangement, short: &Outcome) -> Scenario {
        let needed = requests_needed(&self.request.promise, short);
        let ramp = arrangement.scenario.run.ramp;
        let per_s = short.report["kinds"][0]["requests_per_s"].as_f64().unwrap_or(0.0);
        let during_ramp = (ramp.as_secs_f64() * per_s) as u64;
        arrangement.for_requests((needed + during_ramp).min(self.request.most_requests), ramp)
    }

    /// The outcomes of some runs, in their order; failed runs are recorded in `tried`.
    fn batch(
        &mut self,
        runs: Vec<(usize, Scenario)>,
        first: usize,
        tried: &mut [Candidate],
        observer: &mut Observer<'_>,
    ) -> Result<Vec<(usize, Outcome)>, Failure> {
        let mut points = Vec::new();
        for (index, mut scenario) in runs {
            self.scenarios[first + index] = scenario::write(&mut scenario, Comments::Left);
            points.push((index, self.identities.point(scenario)?));
        }
        let before = self.runs;
        self.runs += points.len() as u64;
        let wanted: Vec<&Point> = points.iter().map(|(_, point)| point).collect();
        let mut all =
            |at: Progress| (observer.tell)(Progress { done: before + at.done, all: before + at.all });
        run_all(&wanted, &ThreadPool::new(self.request.jobs, observer.is_over), &mut self.records, &mut all)?;
        let mut outcomes = Vec::new();
        for (index, point) in points {
            let tried = &mut tried[index];
            match self.records.get(&point.digest) {
                Some(RunResult::Outcome(outcome)) => {
                    tried.requests = outcome.report["kinds"][0]["requests"].as_u64().unwrap_or(0);
                    tried.caveats = Caveats::of(&outcome);
                    tried.digest = point.digest;
                    tried.wear = Wear::of(&outcome);
                    outcomes.push((index, *outcome));
                }
                Some(RunResult::Failed(why)) => {
                    (tried.error, tried.verdict, tried.digest) = (Some(why), Verdict::Broken, point.digest);
                }
                // The user asked to stop.
                None => tried.verdict = Verdict::Unknown,
            }
        }
        Ok(outcomes)
    }

    fn conclude(&self, tried: Vec<Candidate>, not_tried: u64, complete: bool) -> Advice {
        let layouts = &self.request.layouts;
        let is_offered = |tried: &Candidate| layouts.offers(&tried.layout);
        let advised = tried.iter().position(|tried| is_offered(tried) && is_kept(tried));
        let most = advised.map_or(f64::INFINITY, |index| tried[index].cost);
        let cheaper = |tried: &Candidate| {
            is_offered(tried) && tried.cost < most && !tried.terms.is_empty() && !is_kept(tried)
        };
        let closest = |(_, a): &(usize, &Candidate), (_, b): &(usize, &Candidate)| {
            // The next cheaper one costs as much as possible; where nothing keeps the promise, the closest
            // counts.
            let by_cost =
                if advised.is_some() { a.cost.total_cmp(&b.cost) } else { std::cmp::Ordering::Equal };
            by_cost.then(worst_margin(a).total_cmp(&worst_margin(b)))
        };
        let next = tried.iter().enumerate().filter(|(_, tried)| cheaper(tried)).max_by(closest);
        Advice {
            format: FORMAT,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            promise: self.request.promise.to_string(),
            data_bytes: self.arrangements.data,
            cost_unit: self.request.prices.unit().to_owned(),
            assumption: self.request.prices.assumption(),
            advised,
            next_cheaper: next.map(|(index, _)| index),
            against: layouts
                .against()
                .map(|group| Against::new(group.name(), best_of(&tried, |tried| group.has(&tried.layout)))),
            left_out: self.arrangements.left_out,
            not_tried,
            complete,
            tried,
        }
    }
}

/// The first of some candidates that keeps the promise, or else the one that comes closest.
fn best_of(tried: &[Candidate], is_meant: impl Fn(&Candidate) -> bool) -> Option<usize> {
    let meant = || tried.iter().enumerate().filter(|(_, tried)| is_meant(tried));
    let closest = || {
        let run = meant().filter(|(_, tried)| !tried.terms.is_empty());
        run.max_by(|(_, a), (_, b)| worst_margin(a).total_cmp(&worst_margin(b)))
    };
    meant().find(|(_, tried)| is_kept(tried)).or_else(closest).map(|(index, _)| index)
}

pub(super) fn is_kept(tried: &Candidate) -> bool {
    matches!(tried.verdict, Verdict::Kept | Verdict::KeptTooFew)
}

/// The margin of the term that is broken the most; unknown terms count as broken altogether.
pub(super) fn worst_margin(tried: &Candidate) -> f64 {
    let margins = tried.terms.iter().map(|term| term.margin.unwrap_or(f64::NEG_INFINITY));
    margins.min_by(f64::total_cmp).unwrap_or(f64::NEG_INFINITY)
}

/// Requests of the first run of an arrangement.
const SHORT: u64 = 20_000;

/// How often a run is made longer, four times each, until something is erased.
const LENGTHENED: usize = 4;
