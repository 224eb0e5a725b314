//! An emulated SSD: the model of `tailcut_ssd` against the clock of this machine, with data in memory.
//!
//! The data of a request moves as soon as it is submitted: the drive executes requests for one page in order
//! of submission, so the result of a read is known by then (the simulated array relies on this as well). The
//! completion follows at the time that the model determines. So the data can stay on the thread of the
//! drive's user, as blocks with shared memory, whichever thread the model runs on: only commands and
//! completions cross between cores.
//!
//! There are two forms. *Inline*: the loop of the user advances the model; nothing crosses threads, and
//! completions are as late as that loop. *On its own core*: a dedicated thread runs the model ([`own_core`]).

mod account;
mod arming;
mod contents;
mod incidents;
mod lateness;
mod own_core;
mod timing;
mod wake_event;

pub use account::Account;
pub use incidents::{Incident, Schedule};
pub use lateness::{Late, Lateness};
pub use own_core::{CoreOptions, Waiting};
pub(crate) use wake_event::{WakeEvent, Waker};

use crate::Clock;
use crate::drive::{Answers, Drive, Extent};
use contents::Contents;
use incidents::Incidents;
use own_core::OwnCore;
use std::io;
use std::os::fd::BorrowedFd;
use tailcut_base::control::Control;
use tailcut_base::device::Identify;
use tailcut_base::fdp::HandleId;
use tailcut_base::ids::Slab;
use tailcut_base::{Cause, Class, CommandId, Completion, Nanos, Op, Spans, Status, Time, id};
use tailcut_host::{BLOCK_SECTORS, Bytes, Mirror, Request, Response};
use tailcut_ssd::Ssd;
use timing::{Ask, DriveOutput, Timing};

/// An SSD that is emulated in real time: data in memory, completions when the model has them.
#[derive(Debug)]
pub struct EmulatedSsd {
    identity: Identify,
    contents: Contents,
    flights: Slab<FlightId, Flight>,
    model: Model,
    told: Vec<DriveOutput>,
    incidents: Option<Box<Incidents>>,
}

/// Where the model runs.
#[derive(Debug)]
enum Model {
    Inline(Box<Timing>, Box<Lateness>),
    OwnCore(Box<OwnCore>),
}

id! {
    /// A request in flight; also its command id.
    struct FlightId;
}

/// A request in flight.
#[derive(Debug)]
struct Flight {
    id: u32,
    data: Vec<Bytes>,
    /// The remaining blocks of a trim that exceeds one command.
    rest: std::ops::Range<u64>,
    spans: Spans,
}

impl EmulatedSsd {
    /// A drive advanced by the loop that uses it. It must not be divided into sets.
    pub fn inline(ssd: Ssd) -> EmulatedSsd {
        let timing = Timing::new(ssd);
        let identity = timing.identify();
        EmulatedSsd::new(identity, Model::Inline(Box::new(timing), Box::default()))
    }

    /// A drive with its own thread. It must not be divided into sets.
    ///
    /// # Errors
    /// If the system is out of threads or descriptors, or refuses `options`.
    pub fn on_own_core(ssd: Ssd, clock: Clock, options: CoreOptions) -> io::Result<EmulatedSsd> {
        let timing = Timing::new(ssd);
        let identity = timing.identify();
        let model = OwnCore::start(timing, clock, options)?;
        Ok(EmulatedSsd::new(identity, Model::OwnCore(Box::new(model))))
    }

    fn new(identity: Identify, model: Model) -> EmulatedSsd {
        let contents = Contents::new(identity.sectors / BLOCK_SECTORS);
        EmulatedSsd { identity, contents, flights: Slab::new(), model, told: Vec::new(), incidents: None }
    }

    /// Lets incidents happen to it; their times count from `now`. Earlier ones are forgotten, and so are the
    /// requests that they hold: call it before the drive is used.
    pub fn schedule(&mut self, now: Time, incidents: Schedule) {
        self.incidents = (!incidents.is_empty()).then(|| Box::new(Incidents::new(incidents, now)));
    }

    /// Lateness of its completions: on its own core, when they were posted; inline, when they were polled.
    pub fn lateness(&self) -> Lateness {
        match &self.model {
            Model::Inline(_, lateness) => (**lateness).clone(),
            Model::OwnCore(own) => own.lateness(),
        }
    }

    /// Returns the lateness of the completions since the last call.
    pub fn take_lateness(&mut self) -> Lateness {
        match &mut self.model {
            Model::Inline(_, lateness) => std::mem::take(&mut **lateness),
            Model::OwnCore(own) => own.take_lateness(),
        }
    }

    /// Counters and state of the drive; on its own core up to some tenths of a second old, and None at first.
    pub fn account(&self) -> Option<Account> {
        match &self.model {
            Model::Inline(timing, _) => Some(timing.account()),
            Model::OwnCore(own) => own.account(),
        }
    }

    /// Number of blocks of 4 KiB whose content takes memory.
    pub fn allocated(&self) -> u64 {
        self.contents.allocated()
    }

    #[inline]
    fn ask(&mut self, ask: Ask) {
        match &mut self.model {
            Model::Inline(timing, _) => timing.ask(ask, &mut self.told),
            Model::OwnCore(own) => own.ask(ask),
        }
    }

    /// Moves the data of a request.
    fn carry_out(&mut self, request: &mut Request<Bytes>) {
        let Request { op, block, blocks, data, .. } = request;
        match op {
            Op::Read => {
                data.clear();
                self.contents.read(*block, *blocks, data);
            }
            Op::Write => self.contents.write(*block, data.drain(..)),
            Op::Trim => self.contents.trim(*block, u64::from(*blocks)),
            Op::Flush => {}
        }
    }

    /// Begins the requests that incidents hold no longer.
    #[inline]
    fn fetch_held(&mut self, now: Time) {
        while let Some((request, held)) = self.incidents.as_mut().and_then(|incidents| incidents.fetch(now)) {
            self.start(now, request, held);
        }
    }

    /// Begins a request that incidents have held for this long.
    #[inline]
    fn start(&mut self, now: Time, mut request: Request<Bytes>, held: Nanos) {
        self.carry_out(&mut request);
        let most = self.most_blocks();
        let end = request.block + u64::from(request.blocks);
        request.blocks = u64::from(request.blocks).min(most) as u32;
        let rest = request.block + u64::from(request.blocks)..end;
        let data = std::mem::take(&mut request.data);
        let mut spans = Spans::new();
        spans.add(Cause::Tag, held);
        let id = self.flights.insert(Flight { id: request.id, data, rest, spans });
        self.ask(Ask::Command { asked: now, command: request.command(CommandId(id.get())) });
    }

    /// Maximum blocks of one command.
    fn most_blocks(&self) -> u64 {
        u64::from(self.identity.max_sectors) / BLOCK_SECTORS
    }

    fn told(&mut self, now: Time, told: DriveOutput, answers: &mut Answers) {
        let completion = match told {
            DriveOutput::Reply(call, reply) => return answers.replies.push((call, reply)),
            DriveOutput::Completion(completion) => completion,
        };
        if let Model::Inline(_, lateness) = &mut self.model {
            lateness.record(&completion, now);
        }
        let id = FlightId::new(completion.id.0);
        let flight = &mut self.flights[id];
        flight.spans.extend(&completion.spans);
        // The drive's thread may be ahead of the time at which its user began to poll.
        flight.spans.add(Cause::Poll, Nanos(now.0.saturating_sub(completion.at.0)));
        if flight.rest.is_empty() {
            self.land(id, &completion, answers);
        } else {
            self.trim_more(now, id);
        }
    }

    fn land(&mut self, flight: FlightId, completion: &Completion, answers: &mut Answers) {
        let Flight { id, mut data, spans, .. } = self.flights.remove(flight);
        let Completion { status, busy_for, .. } = *completion;
        if status != Status::Success {
            data.clear();
        }
        answers.responses.push(Response { id, status, data, busy_for, spans });
    }

    /// Submits the next piece of a trim.
    fn trim_more(&mut self, now: Time, id: FlightId) {
        let most = self.most_blocks();
        let rest = &mut self.flights[id].rest;
        let block = rest.start;
        let blocks = most.min(rest.end - block) as u32;
        rest.start += u64::from(blocks);
        let class = Class::DEFAULT;
        let data: Vec<Bytes> = Vec::new();
        let piece = Request {
            id: 0,
            op: Op::Trim,
            fua: false,
            class,
            fail_fast: false,
            mirror: Mirror::Any,
            handle: HandleId::FIRST,
            block,
            blocks,
            data,
        };
        self.ask(Ask::Command { asked: now, command: piece.command(CommandId(id.get())) });
    }
}

impl Drive for EmulatedSsd {
    fn identify(&self) -> Identify {
        self.identity.clone()
    }

    fn trims_to_zeros(&self) -> bool {
        true
    }

    /// A failed write leaves each block with its old or new content, as on any drive.
    #[inline]
    fn submit(&mut self, now: Time, request: Request<Bytes>) {
        self.fetch_held(now);
        let fetched = match &mut self.incidents {
            None => Some(request),
            Some(incidents) => incidents.offer(now, request),
        };
        if let Some(request) = fetched {
            self.start(now, request, Nanos::ZERO);
        }
    }

    fn control(&mut self, now: Time, call: Control) {
        self.ask(Ask::Control { asked: now, call });
    }

    #[inline]
    fn poll(&mut self, now: Time, answers: &mut Answers) {
        self.fetch_held(now);
        let mut told = std::mem::take(&mut self.told);
        match &mut self.model {
            Model::Inline(timing, _) => timing.serve(now, &mut told),
            Model::OwnCore(own) => own.poll(&mut told),
        }
        for next in told.drain(..) {
            self.told(now, next, answers);
        }
        told.append(&mut self.told);
        self.told = told;
    }

    fn next_event(&self) -> Time {
        let held = self.incidents.as_ref().map_or(Time::NEVER, |incidents| incidents.next_event());
        let model = match &self.model {
            _ if !self.told.is_empty() => Time::ZERO,
            Model::Inline(timing, _) => timing.next_event(),
            Model::OwnCore(_) => Time::NEVER,
        };
        model.min(held)
    }

    fn wakes(&self) -> Option<BorrowedFd<'_>> {
        match &self.model {
            Model::Inline(..) => None,
            Model::OwnCore(own) => Some(own.wakes()),
        }
    }

    fn arm(&mut self) -> bool {
        match &mut self.model {
            _ if !self.told.is_empty() => false,
            Model::Inline(..) => true,
            Model::OwnCore(own) => own.arm(),
        }
    }

    fn extent(&self, block: u64, blocks: u64) -> Extent {
        self.contents.extent(block, blocks)
    }

    /// Trims cost nothing here. Incidents end, so that the shutdown does not wait for a stall.
    fn abandon_trims(&mut self) {
        if let Some(incidents) = &mut self.incidents {
            incidents.end();
        }
    }
}

#[cfg(test)]
mod tests;
