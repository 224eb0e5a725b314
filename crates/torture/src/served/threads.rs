//! Simulated threads that share shards: what `rt::kv` does with locks and messages, in an order that the seed
//! draws.
//!
//! A thread takes a shard out of its [`Place`] while it holds it, and others have their turn meanwhile:
//! before a request, while the shard is held, and after it was released. Who finds it taken defers its
//! operation, and so does now and then who would find it free. Messages wait until their thread has its turn.

use super::client::Connection;
use std::collections::VecDeque;
use tailcut_base::random::Stream;
use tailcut_base::{Nanos, Time};
use tailcut_host::kv::session::hand_over::{Backlog, Deferred, Outputs, ThreadOf};
use tailcut_host::kv::session::shard_request::{Division, Progress, Reply, Requester, ShardRequest};
use tailcut_host::kv::session::{Clients, Effect, ServiceSettings, Shard};
use tailcut_host::{Bytes, Request, Response};

/// Shards, and the threads that share them.
#[derive(Debug)]
pub(super) struct Server {
    places: Vec<Place>,
    /// None while it has its turn.
    threads: Vec<Option<Thread>>,
    inboxes: Vec<Vec<Message>>,
    /// Requests to the drive, with their shards.
    sent: VecDeque<(u32, Request<Bytes>)>,
    random: Stream,
    now: Time,
    unix: u64,
    /// When a thread that has something to do has its turn.
    due: Time,
    deferred: u64,
}

#[derive(Debug)]
struct Place {
    /// None while a thread holds it.
    shard: Option<Shard>,
    backlog: Backlog,
    next_event: Time,
    /// Recovery was not complete when the shard was last released.
    is_recovering: bool,
}

#[derive(Debug)]
struct Thread {
    clients: Clients,
    outputs: Outputs,
    connections: Vec<Connection>,
}

#[derive(Debug)]
enum Message {
    Replies(Vec<Reply>),
    Requests(Vec<(u32, Request<Bytes>)>),
    Response(u32, Box<Response<Bytes>>),
    Poll,
}

impl Server {
    /// Threads with `connections` each.
    pub(super) fn new(
        shards: Vec<Shard>,
        (threads, connections): (u32, usize),
        settings: ServiceSettings,
        random: Stream,
    ) -> Server {
        let seed = shards.first().expect("there is a shard").engine().seed();
        let count = u32::try_from(shards.len()).expect("there are few shards");
        let place = |shard: Shard| Place {
            is_recovering: shard.engine().recovered().is_some(),
            shard: Some(shard),
            backlog: Backlog::default(),
            next_event: Time::ZERO,
        };
        let thread = |number| {
            let thread = ThreadOf { number, of: threads };
            let mut clients = Clients::new(thread, Division::new(seed, count), settings);
            let connections = (0..connections).map(|_| Connection::new(clients.open())).collect();
            Some(Thread { clients, outputs: Outputs::new(thread), connections })
        };
        Server {
            places: shards.into_iter().map(place).collect(),
            threads: (0..threads).map(thread).collect(),
            inboxes: (0..threads).map(|_| Vec::new()).collect(),
            sent: VecDeque::new(),
            random,
            now: Time::ZERO,
            unix: 0,
            due: Time::ZERO,
            deferred: 0,
        }
    }

    /// Sets the time, on the clock of the process and in seconds of Unix time.
    pub(super) fn tick(&mut self, now: Time, unix: u64) {
        (self.now, self.unix) = (now, unix);
    }

    /// The shards, while no thread has its turn.
    pub(super) fn shards(&self) -> impl Iterator<Item = &Shard> {
        self.places.iter().map(|place| place.shard.as_ref().expect("nobody holds it"))
    }

    /// The shards, to be changed; the first thread sees to what follows from that.
    pub(super) fn shards_mut(&mut self) -> impl Iterator<Item = &mut Shard> {
        self.inboxes[0].push(Message::Poll);
        self.places.iter_mut().map(|place| place.shard.as_mut().expect("nobody holds it"))
    }

    /// The connection with this number; they belong to threads in turn.
    pub(super) fn connection(&mut self, number: usize) -> &mut Connection {
        let threads = self.threads.len();
        let thread = self.threads[number % threads].as_mut().expect("no thread has its turn");
        let connections = thread.connections.len();
        &mut thread.connections[number / threads % connections]
    }

    /// All connections.
    pub(super) fn connections(&mut self) -> impl Iterator<Item = &mut Connection> {
        self.threads.iter_mut().flatten().flat_map(|thread| &mut thread.connections)
    }

    /// Operations that were deferred to a shard.
    pub(super) fn deferred(&self) -> u64 {
        self.deferred
    }

    /// The next request to the drive, with its shard.
    pub(super) fn next_request(&mut self) -> Option<(u32, Request<Bytes>)> {
        self.sent.pop_front()
    }

    /// The drive has answered a shard: the first thread hears of it.
    pub(super) fn respond(&mut self, shard: u32, response: Response<Bytes>) {
        self.inboxes[0].push(Message::Response(shard, Box::new(response)));
    }

    /// When it wants to be called; with or without retries of shards that have no room.
    pub(super) fn next_event(&self, with_retries: bool) -> Time {
        let is_left = |place: &&Place| {
            with_retries || place.shard.as_ref().is_some_and(|shard| !shard.engine().is_full())
        };
        let of_shards = self.places.iter().filter(is_left).map(|place| place.next_event).min();
        let of_shards = of_shards.unwrap_or(Time::NEVER);
        // What is due is work of the first thread, but for retries.
        let has_work = (0..self.threads.len()).any(|thread| self.has_work(thread));
        if has_work
            && (with_retries
                || of_shards <= self.now
                || (0..self.threads.len()).any(|thread| self.is_asked(thread)))
        {
            return self.due;
        }
        of_shards.max(self.due)
    }

    /// Gives a thread its turn, if one is due.
    pub(super) fn advance(&mut self) {
        if self.now < self.due {
            return;
        }
        let ready: Vec<usize> = (0..self.threads.len()).filter(|&thread| self.has_work(thread)).collect();
        if ready.is_empty() {
            return;
        }
        let at = self.random.below(ready.len() as u64) as usize;
        self.run(ready[at]);
        self.due = self.now + Nanos(1 + self.random.below(MOST_PAUSE.0));
    }

    /// True if a thread has clients or messages to see to.
    fn is_asked(&self, thread: usize) -> bool {
        let Some(own) = &self.threads[thread] else { return false };
        let is_asked = |connection: &Connection| connection.has_input(&own.clients);
        !self.inboxes[thread].is_empty() || own.connections.iter().any(is_asked)
    }

    fn has_work(&self, thread: usize) -> bool {
        if self.threads[thread].is_none() || self.is_asked(thread) {
            return self.threads[thread].is_some();
        }
        // The first thread sees to what is due, and to recovery.
        let is_due = |place: &Place| {
            let recovers = place.shard.as_ref().is_some_and(|shard| shard.engine().can_recover());
            place.next_event <= self.now || recovers
        };
        thread == 0 && self.places.iter().any(is_due)
    }

    /// Other threads have their turn meanwhile.
    fn meanwhile(&mut self) {
        if self.random.below(3) == 0 {
            let thread = self.random.below(self.threads.len() as u64) as usize;
            if self.has_work(thread) {
                self.run(thread);
            }
        }
    }

    /// The turn of a thread.
    fn run(&mut self, number: usize) {
        let Some(mut thread) = self.threads[number].take() else { return };
        thread.clients.tick(self.unix);
        thread.clients.note_receipt(self.now);
        thread.clients.begin_iteration(1 + self.random.below(MOST_RATION) as usize);
        self.receive_messages(number, &mut thread);
        let Thread { clients, outputs, connections } = &mut thread;
        let first = self.random.below(connections.len() as u64) as usize;
        connections.rotate_left(first);
        for connection in &mut *connections {
            self.receive(clients, outputs, connection);
        }
        connections.rotate_right(first);
        if number == 0 {
            self.resume(outputs);
        }
        self.give_replies(&mut thread);
        for (other, replies) in thread.outputs.outgoing() {
            self.inboxes[other as usize].push(Message::Replies(replies));
        }
        let requests = std::mem::take(thread.outputs.requests());
        match number {
            0 => self.sent.extend(requests),
            _ if !requests.is_empty() => self.inboxes[0].push(Message::Requests(requests)),
            _ => {}
        }
        let Thread { clients, connections, .. } = &mut thread;
        clients.note_sending(self.now);
        connections.iter_mut().for_each(|connection| connection.take_replies(clients));
        self.threads[number] = Some(thread);
    }

    fn receive_messages(&mut self, number: usize, thread: &mut Thread) {
        for message in std::mem::take(&mut self.inboxes[number]) {
            match message {
                Message::Replies(replies) => thread.outputs.take_replies(replies),
                Message::Requests(requests) => self.sent.extend(requests),
                Message::Response(shard, response) => {
                    // To a free shard it is deferred for no time.
                    self.leave(&mut thread.outputs, shard, Deferred::Response(response));
                }
                Message::Poll => {
                    for shard in 0..self.count() {
                        self.leave(&mut thread.outputs, shard, Deferred::Tick);
                    }
                }
            }
        }
    }

    fn count(&self) -> u32 {
        self.places.len() as u32
    }

    /// Takes a piece of what a client has sent.
    fn receive(&mut self, clients: &mut Clients, outputs: &mut Outputs, connection: &mut Connection) {
        if !connection.has_input(clients) {
            return;
        }
        let all = connection.input().len();
        let is_cut = all > 0 && self.random.below(4) == 0;
        let bytes = if is_cut { 1 + self.random.below(all as u64) as usize } else { all };
        let input = &connection.input()[..bytes];
        let mut dispatch = clients.receive(connection.name(), input);
        while let Some(effect) = dispatch.next_effect() {
            let Effect::Request { shard, requester, request, out } = effect else { continue };
            let progress = self.request(outputs, shard, (requester, request), out);
            dispatch.note(progress);
        }
        let taken = bytes - dispatch.rest().len();
        connection.note_taken(taken, clients);
    }

    /// Gives clients their deferred replies, and polls shards for requests to the drive, until neither leads
    /// to anything.
    fn give_replies(&mut self, thread: &mut Thread) {
        let Thread { clients, outputs, .. } = thread;
        loop {
            while let Some(shard) = outputs.next_touched() {
                match self.seize(outputs, shard) {
                    Some(mut held) => {
                        outputs.ask(shard, &mut held);
                        self.release(outputs, shard, held);
                    }
                    None => self.leave(outputs, shard, Deferred::Tick),
                }
            }
            let Some(reply) = outputs.next_reply() else { return };
            let mut dispatch = clients.take(reply);
            while let Some(effect) = dispatch.next_effect() {
                let Effect::Request { shard, requester, request, out } = effect else { continue };
                let progress = self.request(outputs, shard, (requester, request), out);
                dispatch.note(progress);
            }
        }
    }

    /// Executes a request on its shard, or defers it.
    fn request(
        &mut self,
        outputs: &mut Outputs,
        number: u32,
        (requester, request): (Requester, ShardRequest<'_>),
        out: &mut Vec<u8>,
    ) -> Progress {
        self.meanwhile();
        let is_taken = self.random.below(4) == 0;
        if !is_taken && let Some(mut shard) = self.seize(outputs, number) {
            let progress = shard.receive(requester, request, out);
            self.release(outputs, number, shard);
            return progress;
        }
        if !request.can_be_deferred() {
            return Progress::Taken;
        }
        let is_recovering = self.places[number as usize].is_recovering;
        self.leave(outputs, number, Deferred::ShardRequest(requester, request.keep()));
        Progress::Deferred { is_recovering }
    }

    /// Continues with what is due, and with recovery.
    fn resume(&mut self, outputs: &mut Outputs) {
        for number in 0..self.count() {
            if self.places[number as usize].next_event <= self.now {
                self.leave(outputs, number, Deferred::Tick);
            }
            if let Some(mut shard) = self.seize(outputs, number) {
                shard.recover();
                self.release(outputs, number, shard);
            }
        }
    }

    fn seize(&mut self, outputs: &mut Outputs, number: u32) -> Option<Shard> {
        let place = &mut self.places[number as usize];
        let mut shard = place.shard.take()?;
        shard.tick(self.now, self.unix);
        outputs.carry_out(std::mem::take(&mut place.backlog), &mut shard);
        Some(shard)
    }

    /// Releases a shard, and executes what was deferred to it until then.
    fn release(&mut self, outputs: &mut Outputs, number: u32, mut shard: Shard) {
        loop {
            self.meanwhile();
            outputs.note_touch(number, &shard);
            outputs.collect(&mut shard);
            let place = &mut self.places[number as usize];
            place.next_event = shard.next_event();
            place.is_recovering = shard.engine().recovered().is_some();
            place.shard = Some(shard);
            self.meanwhile();
            if self.places[number as usize].backlog.is_empty() {
                return;
            }
            let Some(again) = self.seize(outputs, number) else { return };
            shard = again;
        }
    }

    /// Defers an operation to a shard. If that is free by now, the operation is executed at once.
    fn leave(&mut self, outputs: &mut Outputs, number: u32, operation: Deferred) {
        self.deferred += 1;
        self.places[number as usize].backlog.push(operation);
        if let Some(shard) = self.seize(outputs, number) {
            self.release(outputs, number, shard);
        }
    }
}

/// The longest time between two turns.
const MOST_PAUSE: Nanos = Nanos::micros(20);

/// The most bytes of replies of an iteration.
const MOST_RATION: u64 = 16 << 10;
