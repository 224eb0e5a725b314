//! A key-value server in virtual time: the very service that serves in real time, between clients over a
//! modelled network and simulated drives.
//!
//! ```text
//!   world ── get, set ──► client ── text ──► link ──► card ──► interrupts ──► threads: service, engine
//!                                                                               │  ▲
//!                                                                  requests     ▼  │  bytes
//!                                                                     drive or array (disk.rs)
//! ```
//!
//! To the world it is a device with 4 KiB for each item: a read of them is a `get`, a write a `set`. Each
//! request has a connection of its own until it is answered. The thread's work ([`worker`]), the network's
//! and the disks' interrupts ([`interrupts`]) take their time on modelled cores ([`crate::cpu`]); what each
//! step costs stands in [`costs`] and in [`crate::cpu::costs`]. Spans add up for every request. Every value
//! that comes back is compared with what may come back ([`history`]).

mod backing;
mod config;
mod connection;
mod content;
pub mod costs;
mod disk;
mod figures;
mod history;
mod host_timers;
mod interrupts;
pub mod link;
mod loading;
mod path;
mod traces;
mod worker;

pub use backing::Backing;
pub use config::{Kept, KvConfig};
pub use disk::ByteDisk;
pub use loading::{Loaded, load};
pub use path::Path;

use crate::cpu::{Event, Machine};
use crate::event_loop::EventLoop;
use crate::storage::{HostFigures, KvFigures, Storage};
use connection::{Connection, Outcome};
use figures::Tally;
use history::History;
use host_timers::{HostTimer, TimerHeap};
use interrupts::{Port, Soft};
use link::{Link, Moderation};
use std::collections::VecDeque;
use tailcut_base::control::{Control, ControlReply};
use tailcut_base::device::Identify;
use tailcut_base::ids::{Id, IdVec};
use tailcut_base::{Cause, Command, CommandId, Completion, Device, Nanos, Op, Status, Submit, Time};
use tailcut_host::array::Array;
use tailcut_host::kv::session::Service;
use tailcut_host::{BLOCK_SECTORS, Bytes, Fingerprint, Response};
use tailcut_ssd::Ssd;
use traces::RequestTraces;
use worker::{Worker, WorkerId};

const MACHINE: usize = 0;
const HOST_TIMERS: usize = 1;
const DISK: usize = 2;

/// A server with its clients and its storage.
pub struct SimulatedServer<S> {
    config: KvConfig,
    service: Service,
    disk: ByteDisk<S>,
    path: Path,
    machine: Machine,
    workers: IdVec<WorkerId, Worker>,
    soft: Vec<Soft>,
    ports: Vec<Port>,
    disk_cpu: usize,
    events: EventLoop,
    host_timers: TimerHeap,
    connections: Vec<Connection>,
    /// Connections without a command, the one that has been idle for longest first.
    idle: VecDeque<u32>,
    /// The client of each name in the service.
    clients: Vec<u32>,
    /// To the server and from it, by link.
    links: Vec<[Link; 2]>,
    /// Of the clients' network cards.
    cards: Vec<Moderation>,
    traces: RequestTraces,
    history: History,
    last_version: u64,
    responses: Vec<Response<Bytes>>,
    now: Time,
    /// Its storage is being written to as such, before anything is served.
    is_preparing: bool,
    ramp: Nanos,
    tally: Tally,
}

impl<S: Storage> SimulatedServer<S> {
    /// A server that has been loaded, over the disk that it has been loaded onto. What it does in the first
    /// `ramp` does not count in its figures. `path` is the way to its storage; `is_prepared` unless the
    /// storage is still to be written to before the server begins.
    pub fn new(
        config: &KvConfig,
        loaded: Loaded,
        disk: ByteDisk<S>,
        path: Path,
        is_prepared: bool,
        ramp: Nanos,
    ) -> SimulatedServer<S> {
        let mut machine = Machine::new(config.cores as usize, config.siblings);
        let mut workers = IdVec::new();
        for cpu in 0..config.threads as usize {
            let thread = machine.add_thread(0, cpu);
            machine.pin(thread, true);
            workers.push(Worker::new(thread));
        }
        let mut service = loaded.service;
        let connections: Vec<Connection> =
            (0..config.connections).map(|_| Connection::new(service.open())).collect();
        let mut clients = vec![0; connections.len()];
        for (client, connection) in connections.iter().enumerate() {
            clients[connection.name as usize] = client as u32;
        }
        let mut server = SimulatedServer {
            path,
            service,
            disk,
            soft: vec![Soft::default(); machine.cpus()],
            ports: vec![Port::default(); config.links as usize],
            disk_cpu: 0,
            machine,
            workers,
            events: EventLoop::new(DISK + 1),
            host_timers: TimerHeap::default(),
            idle: (0..config.connections).collect(),
            connections,
            clients,
            links: vec![[Link::default(); 2]; config.links as usize],
            cards: vec![Moderation::default(); config.links as usize],
            traces: RequestTraces::default(),
            history: History::new(loaded.versions.into_iter()),
            last_version: loaded.last,
            responses: Vec::new(),
            now: Time::ZERO,
            is_preparing: !is_prepared,
            ramp,
            tally: Tally::default(),
            config: config.clone(),
        };
        server.place_interrupts();
        server.plan();
        server
    }

    /// The storage, without the server.
    pub fn into_storage(self) -> S {
        self.disk.into_storage()
    }

    /// The server's side of the conversation.
    pub fn service(&self) -> &Service {
        &self.service
    }

    fn plan(&mut self) {
        self.events.set(MACHINE, self.machine.next_event());
        self.events.set(HOST_TIMERS, self.host_timers.next());
        self.events.set(DISK, self.disk.next_event());
    }

    /// Serves the next event, which is due at `now`.
    fn serve(&mut self, now: Time, slot: usize) {
        self.now = now;
        match slot {
            MACHINE => match self.machine.serve(now) {
                None => {}
                Some(Event::Hard { cpu, irq }) => self.handler_goes_on(now, cpu, irq),
                Some(Event::Soft { cpu }) => self.soft_goes_on(now, cpu),
                Some(Event::Thread { cpu, .. }) => self.thread_goes_on(now, WorkerId::at(cpu)),
            },
            HOST_TIMERS => self.fire_timers(now),
            _ if self.is_preparing => {
                while !self.disk.storage_mut().advance(now, self.events.completions()) {}
            }
            _ => self.serve_disk(now),
        }
        self.plan();
    }

    fn fire_timers(&mut self, now: Time) {
        while let Some(timer) = self.host_timers.pop(now) {
            match timer {
                HostTimer::Measure => self.begin_measuring(now),
                HostTimer::Arrives(client) => self.arrives(now, client),
                HostTimer::Interrupt(link) => self.card_interrupts(now, link),
                HostTimer::Answered(client) => self.end(now, client),
                HostTimer::Engine if self.service.next_event() <= now => {
                    self.wake(now, WorkerId::at(0));
                }
                HostTimer::Engine => {}
            }
        }
    }

    fn serve_disk(&mut self, now: Time) {
        let mut responses = std::mem::take(&mut self.responses);
        self.disk.advance(now, &mut responses);
        if !responses.is_empty() {
            self.disk_interrupts(now);
        }
        for response in responses.drain(..) {
            let request = response.id;
            let trace = self.traces.of(request);
            trace.answered = now;
            if trace.is_of_user && self.tally.is_counting {
                self.tally.flash.record(now.since(trace.handed));
            }
            trace.response = Some(response);
            self.note_ended(request);
        }
        self.responses = responses;
    }

    fn link_of(&self, client: u32) -> usize {
        client as usize % self.links.len()
    }

    /// A client sends its command.
    fn send_to_server(&mut self, now: Time, client: u32) {
        let link = self.link_of(client);
        let connection = &mut self.connections[client as usize];
        let [to_server, _] = &mut self.links[link];
        let sent = to_server.send(now + costs::SEND, connection.sent.len() as u64, self.config.link);
        let arrives = sent + self.config.latency;
        connection.lap(arrives, Cause::Network);
        self.host_timers.set(arrives, HostTimer::Arrives(client));
    }

    /// The server has sent an answer.
    fn send_to_client(&mut self, now: Time, client: u32) {
        let link = self.link_of(client);
        let connection = &mut self.connections[client as usize];
        let [_, to_client] = &mut self.links[link];
        let sent = to_client.send(now, connection.answer.len() as u64, self.config.link);
        let told = self.cards[link].interrupt(sent + self.config.latency, self.config.moderation);
        let further = costs::PACKET * (costs::packets(connection.answer.len() as u64) - 1);
        let answered = told + costs::CLIENT_RECEIVE + further;
        connection.lap(answered, Cause::Network);
        self.host_timers.set(answered, HostTimer::Answered(client));
    }

    /// A client has its answer.
    fn end(&mut self, now: Time, client: u32) {
        let connection = &self.connections[client as usize];
        let outcome = connection.outcome(&self.history);
        let (op, item, version, from) = (connection.op, connection.item, connection.version, connection.from);
        let is_from_flash = connection.is_from_flash;
        let content = match outcome {
            Outcome::Hit(version) => version,
            _ => 0,
        };
        match outcome {
            Outcome::Miss => assert!(self.config.keep == Kept::WhatIsUsed, "item {item} has been lost"),
            Outcome::Stored => {
                let asking = self.connections.iter().filter(|other| other.is_busy && other.op == Op::Read);
                self.history
                    .end_set(item, version, now, || asking.map(|other| other.from).min().unwrap_or(now));
            }
            Outcome::Refused if op == Op::Write => self.history.refuse_set(item, version),
            _ => {}
        }
        if self.tally.is_counting && from >= self.tally.from {
            self.tally.note(outcome, is_from_flash, now.since(from));
        }
        let status = if outcome == Outcome::Refused { Status::MediaError } else { Status::Success };
        let connection = &mut self.connections[client as usize];
        connection.is_busy = false;
        let (id, spans) = (CommandId(connection.command), connection.spans);
        self.events.complete(Completion { id, status, at: now, content, busy_for: Nanos::ZERO, spans });
        self.idle.push_back(client);
    }

    fn begin_measuring(&mut self, now: Time) {
        let cores = self.machine.times(now);
        let (wires, engine) = (self.wires(), *self.service.engine().figures());
        self.tally = Tally { from: now, is_counting: true, cores, wires, engine, ..Tally::default() };
    }

    fn wires(&self) -> [Nanos; 2] {
        let sum = |way: usize| self.links.iter().fold(Nanos::ZERO, |sum, link| sum + link[way].busy());
        [sum(0), sum(1)]
    }

    /// The server's statistics since the measurement began.
    fn figures_of_server(&self) -> KvFigures {
        let cores = self.machine.clone().times(self.now);
        let engine = self.service.engine().figures();
        self.tally.figures(
            self.now,
            &cores[..],
            self.workers.len(),
            (self.wires(), self.config.links),
            engine,
        )
    }
}

impl<S: Storage> Device for SimulatedServer<S> {
    fn identify(&self) -> Identify {
        let below = self.disk.storage().identify();
        Identify {
            model: format!("key-value server over {}", below.model),
            sectors: self.config.items * BLOCK_SECTORS,
            page_sectors: BLOCK_SECTORS as u32,
            queue_depth: self.config.connections,
            max_sectors: BLOCK_SECTORS as u32,
            block_sectors: BLOCK_SECTORS as u32,
            volatile_cache: !self.config.durable,
            handles: 1,
        }
    }

    fn submit(&mut self, now: Time, command: &Command) -> Submit {
        if self.is_preparing {
            let answer = self.disk.prepare(now, command);
            self.plan();
            return answer;
        }
        let item = command.sector / BLOCK_SECTORS;
        let is_one = matches!(command.op, Op::Read | Op::Write)
            && item < self.config.items
            && command.sector % BLOCK_SECTORS + u64::from(command.sectors) <= BLOCK_SECTORS;
        if !is_one {
            return Submit::Refused(Status::InvalidField);
        }
        let Some(client) = self.idle.pop_front() else { return Submit::Busy };
        let mut version = 0;
        if command.op == Op::Write {
            self.last_version += 1;
            version = self.last_version;
            self.history.begin_set(item, version, now);
        }
        let wants = (command.op, item, version);
        let CommandId(name) = command.id;
        self.connections[client as usize].begin(now, name, wants, self.config.value as usize);
        self.send_to_server(now, client);
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

    fn expect(&self, _: &[Command]) -> u64 {
        0
    }

    fn begin_counting(&mut self, now: Time) {
        self.is_preparing = false;
        self.disk.storage_mut().begin_counting(now);
        self.host_timers.set(self.now + self.ramp, HostTimer::Measure);
        self.plan();
    }

    fn control(&mut self, _: Time, _: Control) -> ControlReply {
        ControlReply::Unsupported
    }
}

impl<S: Storage> Storage for SimulatedServer<S> {
    type Probe = S::Probe;

    fn drives(&self) -> &[Ssd<S::Probe>] {
        self.disk.storage().drives()
    }

    fn array(&self) -> Option<&Array<Fingerprint>> {
        self.disk.storage().array()
    }

    fn checks_content(&self) -> bool {
        true
    }

    fn host_figures(&self) -> Option<HostFigures> {
        self.disk.storage().host_figures()
    }

    fn kv_figures(&self) -> Option<KvFigures> {
        Some(self.figures_of_server())
    }

    fn why_stuck(&self) -> String {
        let idle = self.idle.len();
        let busy = self.connections.len() - idle;
        format!("{busy} clients wait for the server, whose storage says: {}", self.disk.storage().why_stuck())
    }

    fn read_only(&self) -> Option<String> {
        self.disk.storage().read_only()
    }
}
