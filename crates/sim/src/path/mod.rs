//! A host in virtual time: threads, cores and a controller between a workload and its drives.
//!
//! The policy is that of `tailcut_host::path`: a strategy as data, and the queue of requests. Here it is
//! executed on modelled cores ([`crate::cpu`]), where every step takes its time. The world sees one device: a
//! request is submitted by the thread of its number, which is the same from one request of a closed loop to
//! the next, and completes when that thread is back in its application.

mod account;
mod array;
mod config;
mod duty;
mod figures;
mod flight;
mod hints;
mod host_timers;
mod interrupts;
mod irq;
mod kernel;
mod modes;
mod population;
mod threads;
mod timeouts;
mod worker;

pub use config::{Background, ControllerKind, HostConfig};

use crate::array::Volume;
use crate::cpu::{CpuTime, Event, Machine, ThreadId};
use crate::event_loop::EventLoop;
use crate::storage::{Handlers, HostFigures, Storage};
use crate::world::Checker;
use array::HostArray;
use flight::Flight;
use host_timers::{HostTimer, TimerHeap};
use interrupts::{Handler, Soft};
use kernel::KernelThread;
use modes::Modes;
use std::collections::VecDeque;
use tailcut_base::control::{Control, ControlReply};
use tailcut_base::device::Identify;
use tailcut_base::random::Stream;
use tailcut_base::{
    Cause, Command, CommandId, Completion, Device, Nanos, Op, SECTOR_BYTES, Status, Submit, Time,
};
use tailcut_host::Fingerprint;
use tailcut_host::array::Array;
use tailcut_host::path::{LowLevelDriver, PathQueue, QueueId, RequestId, Strategy, Window};
use tailcut_ssd::{Prediction, Probe, Ssd};
use timeouts::TimeOuts;
use worker::{Stage, Worker};

const MACHINE: usize = 0;
const HOST_TIMERS: usize = 1;
const UPLINK: usize = 2;
const FIRST_DRIVE: usize = 3;

/// The capacity of one of several drives is rounded down to this, so that no aligned request crosses from one
/// drive to the next.
const DRIVE_UNIT: u64 = (1 << 20) / SECTOR_BYTES;

/// A host and its drives.
pub struct SimulatedHost<P: Probe = ()> {
    config: HostConfig,
    /// Of requests that begin now.
    strategy: Strategy,
    modes: Modes,
    drives: Vec<Ssd<P>>,
    /// The last event, or request.
    now: Time,
    /// Sectors of each drive that can be addressed.
    drive_sectors: u64,
    path: PathQueue,
    machine: Machine,
    events: EventLoop,
    host_timers: TimerHeap,
    uplink: Uplink,
    workers: Vec<Worker>,
    /// Requests on their way, by name; each thread has the one of its number.
    flights: Vec<Flight>,
    /// Threads behind those of the workload.
    kernel_threads: Vec<KernelThread>,
    poll_thread: Option<ThreadId>,
    queue_run: Option<ThreadId>,
    queue_run_again: bool,
    irq_threads: Vec<ThreadId>,
    hard: Vec<Handler>,
    soft: Vec<Soft>,
    /// Threads with an announced end that are to be notified, by core.
    notices: Vec<VecDeque<RequestId>>,
    /// Background threads whose device has answered, by core.
    answers: Vec<VecDeque<ThreadId>>,
    /// Free space of each drive's buffer, as its last completion reported.
    room: Vec<u64>,
    predictions: Vec<Prediction>,
    completions: Vec<Completion>,
    background_stream: Stream,
    background_done: u64,
    buffer_hits: u64,
    read_hits: u64,
    full_buffers: u64,
    handlers: Handlers,
    window: Window,
    timeouts: TimeOuts,
    /// The expected answers of each drive, by the order of submission.
    checkers: Vec<Checker>,
    /// The array that the drives form, if there is one.
    array: Option<HostArray>,
    ramp: Nanos,
    /// Where the measurement began.
    measured: Option<(Time, Vec<CpuTime>, u64)>,
}

/// The way from all drives to the host, first come first served.
#[derive(Debug, Default)]
struct Uplink {
    rate: u64,
    free_at: Time,
    under_way: VecDeque<(Time, RequestId)>,
}

impl<P: Probe> SimulatedHost<P> {
    /// A host with these drives, all alike and ready for use, one behind the other, and a checker for each
    /// that knows what is on it. What it does until `ramp` does not count in its figures.
    pub fn new(
        config: &HostConfig,
        drives: Vec<Ssd<P>>,
        checkers: Vec<Checker>,
        ramp: Nanos,
        seed: u64,
    ) -> SimulatedHost<P> {
        SimulatedHost::build(config, drives, checkers, None, ramp, seed)
    }

    /// A host with these drives, which form an array that has not been started, and a checker that knows
    /// the array's content.
    pub fn with_array(
        config: &HostConfig,
        (volume, drives): (Volume, Vec<Ssd<P>>),
        checker: Checker,
        ramp: Nanos,
        seed: u64,
    ) -> SimulatedHost<P> {
        let checkers = drives.iter().map(|_| Checker::off()).collect();
        let array = HostArray::new(volume, checker, config.threads);
        let mut host = SimulatedHost::build(config, drives, checkers, Some(array), ramp, seed);
        host.pump_array(Time::ZERO);
        host.call_array(Time::ZERO);
        host.plan();
        host
    }

    fn build(
        config: &HostConfig,
        mut drives: Vec<Ssd<P>>,
        checkers: Vec<Checker>,
        array: Option<HostArray>,
        ramp: Nanos,
        seed: u64,
    ) -> SimulatedHost<P> {
        assert_eq!(drives.len(), checkers.len(), "each drive is checked, or not, by itself");
        let strategy = config.described();
        let machine = config.machine();
        let identity = drives[0].identify();
        let controller =
            population::controller(config.controller, drives.len() as u32, &identity, machine.cpus() as u32);
        let cpus = machine.cpus();
        let requests = config.threads + array.as_ref().map_or(0, HostArray::commands);
        if strategy.listens() {
            drives.iter_mut().for_each(Ssd::track_behaviour);
        }
        let mut host = SimulatedHost {
            strategy,
            modes: Modes::new(&strategy, controller.vectors()),
            now: Time::ZERO,
            drive_sectors: match drives.len() {
                1 => identity.sectors,
                _ => identity.sectors / DRIVE_UNIT * DRIVE_UNIT,
            },
            path: PathQueue::new(controller, requests),
            events: EventLoop::new(FIRST_DRIVE + drives.len() + 1),
            host_timers: TimerHeap::default(),
            uplink: Uplink { rate: config.uplink, ..Uplink::default() },
            workers: vec![Worker::new(); config.threads as usize],
            flights: vec![Flight::none(); requests as usize],
            kernel_threads: Vec::new(),
            poll_thread: None,
            queue_run: None,
            queue_run_again: false,
            irq_threads: Vec::new(),
            hard: vec![Handler::default(); cpus],
            soft: (0..cpus).map(|_| Soft::default()).collect(),
            notices: (0..cpus).map(|_| VecDeque::new()).collect(),
            answers: (0..cpus).map(|_| VecDeque::new()).collect(),
            room: drives.iter().map(Ssd::buffer_room).collect(),
            predictions: Vec::new(),
            completions: Vec::new(),
            background_stream: Stream::new(seed, "background device"),
            background_done: 0,
            buffer_hits: 0,
            read_hits: 0,
            full_buffers: 0,
            handlers: Handlers::default(),
            window: Window::new(config.window, config.window_feedback),
            timeouts: TimeOuts::new(config.timeout, drives.len()),
            checkers,
            array,
            ramp,
            measured: None,
            config: config.clone(),
            machine,
            drives,
        };
        host.populate();
        if host.array.is_none() {
            host.host_timers.set(Time::ZERO + ramp, HostTimer::Measure);
        }
        host.begin_modes();
        host.plan();
        host
    }

    /// The drives, without the host.
    pub fn into_drives(self) -> Vec<Ssd<P>> {
        self.drives
    }

    /// Serves the next event, which is due at `now`.
    #[inline]
    fn serve(&mut self, now: Time, slot: usize) {
        self.now = now;
        match slot {
            MACHINE => match self.machine.serve(now) {
                None => {}
                Some(Event::Hard { cpu, irq }) => self.handler_goes_on(now, cpu, irq),
                Some(Event::Soft { cpu }) => self.soft_goes_on(now, cpu),
                Some(Event::Thread { cpu, thread }) if (thread as usize) < self.workers.len() => {
                    self.worker_goes_on(now, cpu, thread);
                }
                Some(Event::Thread { cpu, thread }) => self.kernel_thread_goes_on(now, cpu, thread),
            },
            HOST_TIMERS => self.fire_timers(now),
            UPLINK => {
                let (_, request) = self.uplink.under_way.pop_front().expect("its end is due");
                self.arrives(now, request);
            }
            drive if drive - FIRST_DRIVE < self.drives.len() => self.serve_drive(now, drive - FIRST_DRIVE),
            _ => self.call_array(now),
        }
        self.plan();
    }

    #[inline]
    fn plan(&mut self) {
        self.events.set(MACHINE, self.machine.next_event());
        self.events.set(HOST_TIMERS, self.host_timers.next());
        if self.uplink.rate > 0 {
            let first = self.uplink.under_way.front();
            self.events.set(UPLINK, first.map_or(Time::NEVER, |(at, _)| *at));
        }
        if let Some(array) = &self.array {
            let due = if array.is_called { Time::NEVER } else { array.volume.array().next_event() };
            self.events.set(FIRST_DRIVE + self.drives.len(), due);
        }
    }

    /// Issues the first request of a queue, if there is one and a tag for it; true if so. `own` is the
    /// request of the thread that does it for itself.
    fn issue(&mut self, now: Time, queue: QueueId, own: Option<RequestId>) -> bool {
        let Some(request) = self.path.issue(now, queue) else { return false };
        let flight = &mut self.flights[request as usize];
        flight.is_queued = false;
        if own != Some(request) {
            flight.account.lap(now, Cause::Tag);
        }
        assert_eq!(flight.account.mark, now, "all time up to the device is accounted for");
        let (drive, command) = (flight.drive, flight.command);
        if self.timeouts.is_gone(drive) {
            self.refuse(now, request);
            return true;
        }
        flight.is_sent = true;
        // Requests that are in flight together have no order before they reach the drive.
        flight.expected = self.checkers[drive].submitted(&command);
        self.note_sent(now);
        let answer = self.drives[drive].submit(now, &command);
        assert_eq!(answer, Submit::Accepted, "the host keeps to what its drives say of themselves");
        self.look_at_drive(drive);
        true
    }

    /// A drive has been given something, or has done something.
    fn look_at_drive(&mut self, drive: usize) {
        self.events.set(FIRST_DRIVE + drive, self.drives[drive].next_event());
        if !self.strategy.listens() {
            return;
        }
        let mut predictions = std::mem::take(&mut self.predictions);
        self.drives[drive].take_predictions(&mut predictions);
        predictions.drain(..).for_each(|prediction| self.receive(prediction));
        self.predictions = predictions;
    }

    fn serve_drive(&mut self, now: Time, drive: usize) {
        let mut completions = std::mem::take(&mut self.completions);
        while !self.drives[drive].advance(now, &mut completions) {}
        for completion in &completions {
            if !self.timeouts.is_heard(now, drive) {
                continue;
            }
            self.timeouts.note_answered();
            self.room[drive] = self.drives[drive].buffer_room();
            self.drive_answered(now, completion);
        }
        completions.clear();
        self.completions = completions;
        self.look_at_drive(drive);
    }

    /// A drive has carried out a request, whose data now crosses the uplink.
    fn drive_answered(&mut self, now: Time, completion: &Completion) {
        let request = completion.id.0;
        let flight = &mut self.flights[request as usize];
        flight.is_sent = false;
        flight.account.lap_as(now, &completion.spans);
        let (op, number) = (flight.command.op, u64::from(request));
        self.checkers[flight.drive].completed(op, completion, flight.expected, number);
        (flight.status, flight.content) = (completion.status, completion.content);
        flight.busy_for = completion.busy_for;
        if self.uplink.rate == 0 || op != Op::Read {
            return self.arrives(now, request);
        }
        let bytes = u64::from(flight.command.sectors) * SECTOR_BYTES;
        let start = self.uplink.free_at.max(now);
        flight.account.lap(start, Cause::LinkWait);
        self.uplink.free_at = start + Nanos::for_bytes(bytes, self.uplink.rate);
        flight.account.lap(self.uplink.free_at, Cause::Link);
        self.uplink.under_way.push_back((self.uplink.free_at, request));
    }

    /// The host can see the end of a request: raises an interrupt, unless the thread polls by itself or
    /// interrupts are off.
    fn arrives(&mut self, now: Time, request: RequestId) {
        let flight = &mut self.flights[request as usize];
        flight.is_visible = true;
        flight.visible_at = now;
        let watcher = flight.owner.filter(|&thread| self.workers[thread as usize].looks_itself);
        if let Some(vector) = self.path.completed(request, watcher.is_some()) {
            self.machine.interrupt(now, self.cpu_of_vector(vector), irq::DEVICE + vector);
        }
        match watcher {
            Some(thread) if self.workers[thread as usize].stage == Stage::Spin => {
                self.machine.cut(now, thread);
            }
            Some(_) => {}
            None => self.end_unwatched(now, request),
        }
    }

    /// The core that an interrupt of the controller goes to.
    fn cpu_of_vector(&self, vector: u32) -> usize {
        vector as usize % self.machine.cpus()
    }

    /// Which drive a command goes to, and as what it sees it; none when it would cross from one to the next.
    fn locate(&self, command: &Command) -> Option<(usize, Command)> {
        let drive = command.sector / self.drive_sectors;
        let sector = command.sector % self.drive_sectors;
        let fits = drive < self.drives.len() as u64
            && sector + u64::from(command.sectors) <= self.drive_sectors
            && u64::from(command.sectors) <= u64::from(tailcut_ssd::config::SECTORS_MAX);
        (fits && command.sectors > 0).then_some((drive as usize, Command { sector, ..*command }))
    }
}

impl<P: Probe> Device for SimulatedHost<P> {
    fn identify(&self) -> Identify {
        if let Some(array) = &self.array {
            let volume = array.volume.identify();
            let model = format!("{} behind {}", volume.model, self.config.strategy);
            return Identify { model, queue_depth: self.config.threads, ..volume };
        }
        let drive = self.drives[0].identify();
        let sectors = self.drives.len() as u64 * self.drive_sectors;
        Identify {
            model: format!("{} x {} behind {}", self.drives.len(), drive.model, self.config.strategy),
            sectors,
            queue_depth: self.config.threads,
            ..drive
        }
    }

    fn submit(&mut self, now: Time, command: &Command) -> Submit {
        let CommandId(thread) = command.id;
        if thread as usize >= self.workers.len() {
            return Submit::Busy;
        }
        self.now = now;
        match &mut self.array {
            Some(array) if !array.takes(command) => return Submit::Refused(Status::InvalidField),
            Some(array) => array.note(thread, command),
            None => {
                let (drive, command) = match command.op {
                    Op::Flush => (0, *command),
                    _ => match self.locate(command) {
                        Some(located) => located,
                        None => return Submit::Refused(Status::InvalidField),
                    },
                };
                self.flights[thread as usize] = Flight::new(now, command, drive, Some(thread));
            }
        }
        self.workers[thread as usize].take(now, command);
        self.note_began(now);
        // One that has just been answered runs, and finds the request; any other sleeps.
        self.machine.wake(now, thread);
        self.plan();
        Submit::Accepted
    }

    #[inline]
    fn next_event(&self) -> Time {
        self.events.next_event()
    }

    fn advance(&mut self, until: Time, completions: &mut Vec<Completion>) -> bool {
        while let Some((now, slot)) = self.events.due(until) {
            self.serve(now, slot);
        }
        self.events.report(completions)
    }

    fn begin_counting(&mut self, _: Time) {
        if let Some(array) = &mut self.array {
            array.volume.array_mut().count_epochs_anew();
            // It may have been written to before.
            self.host_timers.set(self.now + self.ramp, HostTimer::Measure);
            self.plan();
        }
    }

    fn expect(&self, commands: &[Command]) -> u64 {
        if self.drives.len() == 1 && self.array.is_none() { self.drives[0].expect(commands) } else { 0 }
    }

    fn control(&mut self, _: Time, _: Control) -> ControlReply {
        ControlReply::Unsupported
    }
}

impl<P: Probe> Storage for SimulatedHost<P> {
    type Probe = P;

    fn drives(&self) -> &[Ssd<P>] {
        &self.drives
    }

    fn timed_out(&self) -> Vec<usize> {
        (0..self.drives.len()).filter(|&drive| self.timeouts.is_gone(drive)).collect()
    }

    fn array(&self) -> Option<&Array<Fingerprint>> {
        self.array.as_ref().map(|array| array.volume.array())
    }

    fn checks_content(&self) -> bool {
        match &self.array {
            Some(array) => array.is_checking(),
            None => self.checkers.iter().all(Checker::is_on),
        }
    }

    fn host_figures(&self) -> Option<HostFigures> {
        Some(self.figures_of_host())
    }

    fn why_stuck(&self) -> String {
        let waiting = self.path.waiting_in_all();
        let in_flight = self.path.controller().in_flight();
        format!(
            "{waiting} requests wait for a tag, {in_flight} tags are taken, and no thread will ever run again"
        )
    }

    fn read_only(&self) -> Option<String> {
        self.drives.iter().find_map(|drive| drive.read_only().map(str::to_string))
    }
}
