//! The world: workloads meet a device in virtual time.
//!
//! One loop serves the device's events and the arrivals of all sources in one total order: events of the
//! device before arrivals of the same moment, arrivals by the number of their source. Every request is
//! checked: a read returns the last written data, and the spans of a request add up to its latency.

mod alignment;
mod attribution;
mod checker;
mod issuer;
mod limits;
mod observer;
mod requests;
mod rounds;
mod stats;

pub use alignment::Alignment;
pub use attribution::{Attribution, HeldUpCounts, LatencyRange, Part, Share, count_held_up, rank_of};
pub use checker::Checker;
pub use limits::{Limits, Progress, RunError};
pub use observer::Observer;
pub(crate) use requests::{command_of, is_success};
pub use rounds::{Round, Rounds, SteadyState};
pub(crate) use stats::SLOWEST_KEPT;
pub use stats::{Finished, OpStats, SlowRequest, Stats};

use issuer::{Backlog, Issuer};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::ops::ControlFlow;
use tailcut_base::device::Identify;
use tailcut_base::digest::Digest;
use tailcut_base::ids::Pool;
use tailcut_base::timers::Timers;
use tailcut_base::{Class, Completion, Device, Nanos, Op, Time, id};
use tailcut_host::Placer;
use tailcut_workload::Source;

id! {
    /// A request in flight: the id of its command.
    struct FlightId;
}

/// A request in flight.
#[derive(Clone, Copy, Debug)]
struct Flight {
    /// Number of the request over the whole run.
    number: u64,
    /// When its latency began.
    due: Time,
    /// When it was submitted.
    submitted: Time,
    /// When its issuer had room for it.
    eligible: Time,
    expected: u64,
    issuer: u32,
    op: Op,
    fua: bool,
    class: Class,
    sector: u64,
    sectors: u32,
}

/// Open loops that issued requests faster than the device completed them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Overload {
    /// Requests issued by the end of the run, the ramp included.
    pub issued: u64,
    /// Requests due by the end of the run, about. No more than issued where each source came to its end.
    pub due: u64,
    /// Requests per second that ended in the measurement, whenever they were due.
    #[serde(default)]
    pub sustained_per_s: f64,
    /// How late the loop most behind was with its next request, or with its last, in ns.
    #[serde(default)]
    pub late_ns: u64,
}

/// Sources, a device, and the state of their interaction.
pub struct World<D: Device> {
    /// The device that the sources issue their requests to.
    pub device: D,
    /// The statistics of requests since the end of preparation and ramp.
    pub stats: Stats,
    /// Rounds by which steady state is judged; none are counted unless the limits give their length.
    pub rounds: Rounds,
    checker: Checker,
    issuers: Vec<Issuer>,
    /// The next arrival of each issuer that is paced by time.
    arrivals: Timers,
    /// Lanes that found the device full, in order.
    blocked: VecDeque<u32>,
    /// Since when there have been some, as far as it is not counted yet.
    blocked_since: Time,
    flights: Pool<FlightId, Flight>,
    in_flight: u32,
    limits: Limits,
    /// When the sources that count began; not yet while the device is being prepared.
    prepared: Option<Time>,
    /// When the ramp is over; known when the device is prepared.
    ramp_end: Time,
    /// How far each open loop was behind when the run came to its end.
    backlogs: Vec<Backlog>,
    /// Nothing is issued from here on.
    end: Time,
    /// The most requests.
    most: u64,
    issued: u64,
    completed: u64,
    /// When requests last completed, and how many have at this moment.
    completed_at: (Time, u64),
    closed: bool,
    now: Time,
    measured_from: Option<Time>,
    area_since: Time,
    digest: Digest,
    /// The group of sources at work.
    group: Option<u32>,
    groups_left: bool,
    /// Requests that the device refused at once.
    refused: Vec<Completion>,
    alignment: Alignment,
    /// Chooses the handles of writes, unless they keep those that their sources name.
    placer: Option<Placer>,
    warmth: u64,
    error: Option<RunError>,
}

/// Requests that may complete at one moment.
const AT_ONCE: u64 = 1 << 22;

/// How often the progress of a run is reported, in requests.
const PROGRESS_EVERY: u64 = 8192;

impl<D: Device> World<D> {
    /// A world with a device that is ready for use. `checker` knows its content.
    pub fn new(device: D, checker: Checker, sources: Vec<Box<dyn Source>>, limits: Limits) -> World<D> {
        let Identify { block_sectors, page_sectors, .. } = device.identify();
        // Each source has a submission queue of its own, as each thread of a benchmark has.
        let issuer = |(queue, source)| Issuer::new(source, queue, block_sectors);
        let issuers: Vec<Issuer> = (0..).zip(sources).map(issuer).collect();
        World {
            device,
            stats: Stats::new(),
            rounds: Rounds::new(limits.round),
            checker,
            arrivals: Timers::new(issuers.len()),
            issuers,
            blocked: VecDeque::new(),
            blocked_since: Time::ZERO,
            flights: Pool::new(),
            in_flight: 0,
            prepared: None,
            ramp_end: Time::NEVER,
            backlogs: Vec::new(),
            end: Time::NEVER,
            most: u64::MAX,
            limits,
            issued: 0,
            completed: 0,
            completed_at: (Time::ZERO, 0),
            closed: false,
            now: Time::ZERO,
            measured_from: None,
            area_since: Time::ZERO,
            digest: Digest::new(),
            group: None,
            groups_left: false,
            refused: Vec::new(),
            alignment: Alignment::new(page_sectors),
            placer: None,
            warmth: 0,
            error: None,
        }
    }

    /// Lets `placer` choose the reclaim unit handles of writes.
    pub fn place_writes(&mut self, placer: Placer) {
        self.placer = Some(placer);
    }

    /// Runs to the end, or until `watch` breaks; requests in flight are waited for either way, so
    /// that every request is answered. `at_ramp_end` is called when the ramp is over. Returns true
    /// when `watch` ended the run.
    ///
    /// # Errors
    /// The run cannot end or has no result: the device makes no progress, requests complete without time, or
    /// none was issued; see [`RunError`].
    pub fn run(
        &mut self,
        watch: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
        at_ramp_end: &mut dyn FnMut(&D, Time),
    ) -> Result<bool, RunError> {
        self.run_observed(watch, &mut observer::AtRampEnd(at_ramp_end))
    }

    /// As [`World::run`], with an observer.
    ///
    /// # Errors
    /// The run cannot end or has no result: the device makes no progress, requests complete without time, or
    /// none was issued; see [`RunError`].
    pub fn run_observed(
        &mut self,
        watch: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
        observer: &mut impl Observer<D>,
    ) -> Result<bool, RunError> {
        self.start_group(Time::ZERO);
        if self.ramp_end == Time::ZERO {
            self.begin_measuring(Time::ZERO, observer);
        }
        let mut interrupted = false;
        let mut told = 0;
        let mut completions: Vec<Completion> = Vec::with_capacity(64);
        loop {
            while let Some(mut completion) = self.refused.pop() {
                self.now = completion.at;
                self.take_completion(&mut completion, observer);
            }
            let arrival = self.arrivals.next();
            let event = self.device.next_event();
            let next = arrival.min(event);
            let all_answered = self.in_flight == 0 && arrival == Time::NEVER;
            if all_answered || next == Time::NEVER {
                break;
            }
            if self.measured_from.is_none() && next >= self.ramp_end {
                self.begin_measuring(self.ramp_end, observer);
            }
            while next >= observer.due() {
                observer.observe(&self.device, observer.due());
            }
            // The device has not reached the moment of the observation yet.
            let stop = self.next_stop(arrival).min(Time(observer.due().0 - 1));
            let caught_up = event > stop || self.device.advance(stop, &mut completions);
            if !completions.is_empty() {
                self.take_completions(&mut completions, observer);
                if self.completed - told >= PROGRESS_EVERY {
                    told = self.completed;
                    if !interrupted && watch(&self.progress()).is_break() {
                        interrupted = true;
                        self.close(self.now);
                    }
                }
            } else if caught_up && stop == arrival && arrival != Time::NEVER {
                self.now = arrival;
                self.serve_arrival();
            }
            if let Some(error) = self.error.take() {
                return Err(error);
            }
        }
        self.finish(observer).map(|()| interrupted)
    }

    fn finish(&mut self, observer: &mut impl Observer<D>) -> Result<(), RunError> {
        if self.in_flight > 0 {
            return Err(RunError::Stuck { at: self.now, in_flight: self.in_flight });
        }
        if self.issued == 0 {
            return Err(RunError::NoRequests);
        }
        assert_eq!(self.issued, self.completed, "every request that was generated was answered");
        if self.measured_from.is_none() {
            self.begin_measuring(self.now, observer);
        }
        observer.end(&self.device, self.now);
        self.stats.digest = self.digest.value();
        self.stats.until = self.now;
        Ok(())
    }

    /// How far the device may go by itself: to the next arrival, but not over the end of the ramp,
    /// where its figures are taken.
    #[inline]
    fn next_stop(&self, arrival: Time) -> Time {
        if self.measured_from.is_some() { arrival } else { arrival.min(Time(self.ramp_end.0 - 1)) }
    }

    fn begin_measuring(&mut self, now: Time, observer: &mut impl Observer<D>) {
        self.measured_from = Some(now);
        self.stats.from = now;
        self.area_since = now;
        observer.begin(&self.device, now);
    }

    /// The virtual time that the run has reached.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Requests answered so far, with those of the ramp.
    pub fn completed(&self) -> u64 {
        self.completed
    }

    /// True while every read is checked against what was last written.
    pub fn is_checking(&self) -> bool {
        self.checker.is_on()
    }

    /// Requests that were widened to whole logical blocks of the device.
    pub fn widened(&self) -> u64 {
        self.issuers.iter().map(Issuer::widened).sum()
    }

    /// How many requests consist of whole pages of the device.
    pub fn alignment(&self) -> &Alignment {
        &self.alignment
    }

    /// The sources, for their reports at the end.
    pub fn sources(&self) -> impl Iterator<Item = &dyn Source> {
        self.issuers.iter().map(Issuer::source)
    }

    fn progress(&self) -> Progress {
        let hints = self.issuers.iter().map(|issuer| issuer.source().len_hint());
        let all: Option<u64> = hints.sum();
        let limit = (self.limits.requests > 0).then_some(self.limits.requests);
        Progress {
            completed: self.completed,
            expected: limit.into_iter().chain(all).min(),
            now: self.now,
            until: (self.end != Time::NEVER).then_some(self.end),
        }
    }

    /// Starts the sources of the next group, if there is one.
    fn start_group(&mut self, now: Time) {
        let later = |group: &u32| self.group.is_none_or(|present| *group > present);
        let Some(group) = self.issuers.iter().map(Issuer::group).filter(later).min() else { return };
        self.group = Some(group);
        self.groups_left = self.issuers.iter().any(|issuer| issuer.group() > group);
        if self.prepared.is_none() && group > issuer::PREPARING {
            self.begin_counting(now);
        }
        for issuer in 0..self.issuers.len() {
            if self.issuers[issuer].group() == group {
                let at = self.issuers[issuer].open(now);
                self.arrivals.set(issuer, at);
                self.look_ahead(issuer as u32);
            }
        }
    }

    /// How long none of the sources that run first counts: they have ramps of their own, as fio jobs do.
    fn ramp_of_sources(&self) -> Nanos {
        let others = || self.issuers.iter().filter(|one: &&Issuer| one.group() != issuer::PREPARING);
        let first = others().map(Issuer::group).min();
        let ramps = others().filter(|issuer| Some(issuer.group()) == first).map(Issuer::ramp);
        ramps.min().unwrap_or(Nanos::ZERO)
    }

    /// The device is prepared: the time of the run counts from now.
    #[cold]
    fn begin_counting(&mut self, now: Time) {
        let Limits { ramp, duration, requests, .. } = self.limits;
        self.prepared = Some(now);
        self.device.begin_counting(now);
        self.ramp_end = now + ramp.max(self.ramp_of_sources());
        self.rounds.begin(now);
        if duration > Nanos::ZERO {
            self.end = now + duration;
        }
        if requests > 0 {
            self.most = self.issued + requests;
        }
    }

    /// What open loops asked for, where the device was too slow for one of them: its next request, or its
    /// last, was late by more than a twentieth of its run, and none was on time in the last half of it.
    pub fn overload(&self) -> Option<Overload> {
        let backlogs = self.backlogs_at_end();
        let overloaded = backlogs.iter().filter(|backlog| backlog.is_overload());
        let lateness = overloaded.map(Backlog::lateness).max()?;
        let sum = |of: fn(&Backlog) -> u64| backlogs.iter().map(of).sum();
        Some(Overload {
            issued: sum(Backlog::issued),
            due: sum(Backlog::due),
            sustained_per_s: self.stats.ended_per_s(),
            late_ns: lateness.0,
        })
    }

    /// How late the next request of the open loop most behind was at the end of its run, for how long none
    /// had been on time, and how many requests were due and not issued; where the first is as for
    /// [`World::overload`] and the second is less.
    pub fn behind_at_end(&self) -> Option<(Nanos, Nanos, u64)> {
        let backlogs = self.backlogs_at_end();
        let behind = backlogs.iter().filter(|backlog| backlog.is_late() && !backlog.is_complete());
        let worst = behind.max_by_key(|backlog| backlog.lateness())?;
        let left_out = worst.due().saturating_sub(worst.issued());
        (!worst.is_overload()).then_some((worst.lateness(), worst.age(), left_out))
    }

    /// How far each open loop is behind at the end of the run.
    fn backlogs_at_end(&self) -> Vec<Backlog> {
        if self.closed { self.backlogs.clone() } else { self.backlogs_at(self.end.min(self.stats.until)) }
    }

    fn backlogs_at(&self, now: Time) -> Vec<Backlog> {
        self.issuers.iter().filter_map(|issuer| issuer.backlog(now)).collect()
    }

    /// When the sources that count began, once the device had been prepared.
    pub fn prepared(&self) -> Option<Time> {
        self.prepared
    }

    /// Starts the next group when the present one has ended.
    #[cold]
    fn end_group(&mut self, now: Time) {
        let present = self.issuers.iter().filter(|issuer| Some(issuer.group()) == self.group);
        if !self.closed && present.clone().all(|issuer| issuer.has_ended(now)) {
            self.start_group(now);
        }
    }
}
