//! The serving threads, as in real time (`tailcut_rt::kv::worker`): an iteration receives from its clients
//! that have sent something, submits the engine's disk requests, takes the disk's completions, and sends.
//! Then it polls for more, and sleeps if there is nothing. Threads share the engine; what its locks cost is
//! not modelled.

use super::SimulatedServer;
use super::costs;
use super::host_timers::HostTimer;
use crate::cpu::costs as cores;
use crate::cpu::{Level, Piece, Spent, ThreadId};
use crate::storage::Storage;
use std::collections::VecDeque;
use tailcut_base::ids::Id;
use tailcut_base::{Cause, Class, Nanos, Op, Time, id};
use tailcut_host::{Bytes, Request};

id! {
    /// A thread that serves, on the core with its number.
    pub(super) struct WorkerId;
}

/// A thread's side of the server.
#[derive(Debug)]
pub(super) struct Worker {
    pub thread: ThreadId,
    stage: Stage,
    phase: Phase,
    /// Connections that have sent something since the thread has looked.
    pub readable: VecDeque<u32>,
    /// Requests that the disk has answered.
    pub answered: VecDeque<u32>,
    /// To be received from in this turn.
    listed: VecDeque<u32>,
    /// With an answer to be sent.
    answering: VecDeque<u32>,
    /// The request that is being handed over.
    request: Option<Request<Bytes>>,
    /// When the piece of work began.
    began: Time,
    /// Clients that can resume, by name in the service.
    movers: Vec<u32>,
}

/// The thread's current activity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Asleep,
    Looking,
    Receiving(u32),
    Handing,
    Taking(u32),
    Sending(u32),
}

/// How far its turn is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Receive,
    CarryOut,
    Answer,
    Over,
}

impl Worker {
    pub(super) fn new(thread: ThreadId) -> Worker {
        Worker {
            thread,
            stage: Stage::Asleep,
            phase: Phase::Over,
            readable: VecDeque::new(),
            answered: VecDeque::new(),
            listed: VecDeque::new(),
            answering: VecDeque::new(),
            request: None,
            began: Time::ZERO,
            movers: Vec::new(),
        }
    }
}

impl<S: Storage> SimulatedServer<S> {
    /// The thread has come to the end of a piece of work, or has been woken.
    pub(super) fn thread_goes_on(&mut self, now: Time, id: WorkerId) {
        let worker = &mut self.workers[id];
        match worker.stage {
            Stage::Asleep => {
                for &client in &worker.readable {
                    self.connections[client as usize].lap(now, Cause::Scheduling);
                }
                return self.poll(now, id);
            }
            Stage::Looking => {
                self.service.tick(now, super::loading::UNIX + now.0 / Nanos::secs(1).0);
                std::mem::swap(&mut worker.listed, &mut worker.readable);
                let has_work = !worker.listed.is_empty()
                    || !worker.answered.is_empty()
                    || !worker.answering.is_empty()
                    || self.service.next_event() <= now;
                if !has_work {
                    return self.sleep(now, id);
                }
                worker.phase = Phase::Receive;
            }
            Stage::Receiving(client) => self.received(now, id, client),
            Stage::Handing => self.handed_over(now, id),
            Stage::Taking(request) => self.taken(now, id, request),
            Stage::Sending(client) => self.sent(now, client),
        }
        self.next_piece(now, id);
    }

    fn poll(&mut self, now: Time, id: WorkerId) {
        self.begin(now, id, Stage::Looking, costs::LOOK, Spent::Poll);
    }

    fn begin(&mut self, now: Time, id: WorkerId, stage: Stage, work: Nanos, on: Spent) {
        let worker = &mut self.workers[id];
        (worker.stage, worker.began) = (stage, now);
        self.machine.run(now, id.index(), Level::Thread, Piece::kernel(work, on));
    }

    fn sleep(&mut self, now: Time, id: WorkerId) {
        self.workers[id].stage = Stage::Asleep;
        self.machine.block(now, id.index());
        let next = self.service.next_event();
        if next != Time::NEVER {
            self.host_timers.set(next.max(now), HostTimer::Engine);
        }
    }

    /// What comes next in the turn.
    fn next_piece(&mut self, now: Time, id: WorkerId) {
        if self.workers[id].phase == Phase::Receive {
            if let Some(client) = self.workers[id].listed.pop_front() {
                self.connections[client as usize].lap(now, Cause::HostQueue);
                let work = costs::RECEIVE + costs::COMMAND;
                return self.begin(now, id, Stage::Receiving(client), work, Spent::Application);
            }
            self.workers[id].phase = Phase::CarryOut;
        }
        if self.workers[id].phase == Phase::CarryOut {
            self.workers[id].request = self.service.next_request();
            if self.workers[id].request.is_some() {
                let work = self.path.issue();
                return self.begin(now, id, Stage::Handing, work, Spent::Issue);
            }
            if let Some(request) = self.workers[id].answered.pop_front() {
                let work = cores::CHECK + cores::RETURN;
                return self.begin(now, id, Stage::Taking(request), work, Spent::Finish);
            }
            if self.go_on_without_disk(now, id) {
                return self.next_piece(now, id);
            }
            self.workers[id].phase = Phase::Answer;
        }
        if self.workers[id].phase == Phase::Answer {
            if let Some(client) = self.workers[id].answering.pop_front() {
                self.connections[client as usize].lap(now, Cause::HostQueue);
                return self.begin(now, id, Stage::Sending(client), costs::SEND, Spent::Application);
            }
            self.workers[id].phase = Phase::Over;
        }
        self.poll(now, id);
    }

    /// The service has carried out what a client has sent.
    fn received(&mut self, now: Time, id: WorkerId, client: u32) {
        let connection = &mut self.connections[client as usize];
        connection.lap(now, Cause::HostWork);
        connection.is_waiting = true;
        let mut input = &connection.sent[..];
        self.service.receive(connection.name, &mut input);
        assert!(input.is_empty(), "a client with one command at a time is never put off");
        self.note_answer(now, id, client);
    }

    /// Lets the thread of a client send, if there is an answer; `id` is the one that has found out.
    fn note_answer(&mut self, now: Time, id: WorkerId, client: u32) {
        let connection = &mut self.connections[client as usize];
        if !connection.is_waiting || self.service.send_queue(connection.name).is_empty() {
            return;
        }
        connection.is_waiting = false;
        let sender = self.worker_of(client);
        self.workers[sender].answering.push_back(client);
        if sender != id {
            self.wake(now, sender);
        }
    }

    /// The thread that serves a client.
    pub(super) fn worker_of(&self, client: u32) -> WorkerId {
        WorkerId::at(client as usize % self.workers.len())
    }

    /// Wakes a thread, if it sleeps.
    pub(super) fn wake(&mut self, now: Time, id: WorkerId) {
        let thread = self.workers[id].thread;
        if self.machine.is_blocked(thread) {
            self.machine.wake(now, thread);
        }
    }

    /// The disk has a request.
    fn handed_over(&mut self, now: Time, id: WorkerId) {
        let worker = &mut self.workers[id];
        let request = worker.request.take().expect("it was being handed over");
        let is_of_user = request.op == Op::Read && request.class == Class::DEFAULT;
        let trace = self.traces.of(request.id);
        (trace.begun, trace.handed, trace.is_of_user) = (worker.began, now, is_of_user);
        trace.handed_over_by(id);
        self.disk.submit(now, request);
    }

    /// The service has an answer of the disk.
    fn taken(&mut self, now: Time, id: WorkerId, request: u32) {
        let response = self.traces.of(request).response.take().expect("the disk has answered");
        let spans = response.spans;
        self.service.respond(response);
        let mut movers = std::mem::take(&mut self.workers[id].movers);
        self.service.turn(&mut movers);
        let trace = *self.traces.of(request).times();
        for name in movers.drain(..) {
            let client = self.clients[name as usize];
            let connection = &mut self.connections[client as usize];
            if !connection.is_waiting {
                // It is named for what it waited for before.
                continue;
            }
            // A disk request from before this client's command was not issued for it.
            if trace.is_of_user && trace.begun >= connection.mark {
                connection.lap(trace.begun, Cause::HostQueue);
                connection.lap(trace.handed, Cause::HostWork);
                connection.spans.extend(&spans);
                connection.mark = trace.answered;
                connection.lap(trace.fetched, Cause::Interrupt);
                connection.lap(trace.finished, Cause::SoftInterrupt);
                connection.lap(self.workers[id].began, Cause::HostQueue);
                connection.lap(now, Cause::HostWork);
                connection.is_from_flash = true;
            } else {
                connection.lap(now, Cause::Cache);
            }
            self.note_answer(now, id, client);
        }
        self.workers[id].movers = movers;
    }

    /// Resumes clients for which the engine has found room by itself; false if there are none.
    fn go_on_without_disk(&mut self, now: Time, id: WorkerId) -> bool {
        let mut movers = std::mem::take(&mut self.workers[id].movers);
        self.service.turn(&mut movers);
        let has_some = !movers.is_empty();
        for name in movers.drain(..) {
            let client = self.clients[name as usize];
            if self.connections[client as usize].is_waiting {
                self.connections[client as usize].lap(now, Cause::Cache);
                self.note_answer(now, id, client);
            }
        }
        self.workers[id].movers = movers;
        has_some
    }

    /// An answer is on its way.
    fn sent(&mut self, now: Time, client: u32) {
        let connection = &mut self.connections[client as usize];
        connection.lap(now, Cause::HostWork);
        self.service.send_queue(connection.name).empty_into(&mut connection.answer);
        self.send_to_client(now, client);
    }
}
