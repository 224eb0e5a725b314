//! A worker thread with its clients and their sockets. The first thread also accepts connections and owns the
//! drive.
//!
//! An iteration receives from readable clients, submits the shards' requests to the drive and polls its
//! completions, and sends replies. Without work, the thread busy-polls for a while where that pays
//! ([`Spin`]), and then sleeps.

mod acceptor;
mod admin;
mod datagrams;
mod ending;
mod event_loop;
mod failing;
mod pressure;
mod receiving;
mod sending;

pub(super) use datagrams::Datagrams;

use super::client::Client;
use super::events::Event;
use super::figures::{Traffic, Unwritten};
use super::parts::Parts;
use super::server::Limits;
use super::shards::{Common, Message, ShardHandle};
use super::throttle::Throttle;
use crate::Clock;
use crate::ctl::{Steered, Steering};
use crate::drive::{Answers, Drive};
use crate::listener::Listener;
use crate::placement;
use crate::reactor::{self, EDGE, Listeners, Reactor, Slots, Spin, Token};
use crate::serve::tls::Gate;
use crate::system;
use admin::Checkup;
use datagrams::{DatagramId, DatagramSockets};
use ending::Stopping;
use pressure::Pressure;
use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};
use tailcut_base::{Nanos, Time};
use tailcut_host::kv::session::clients::SocketCounters;
use tailcut_host::kv::session::hand_over::ThreadOf;
use tailcut_host::kv::session::latency::Latencies;
use tailcut_host::kv::session::{Clients, ServiceSettings};
use tailcut_host::wire::memcached::Users;

/// The sockets on which clients connect or send datagrams, and the accounts.
#[derive(Debug, Default)]
pub(super) struct Entries {
    /// The sockets that take connections.
    pub listeners: Vec<Listener>,
    /// The sockets that take datagrams.
    pub datagrams: Vec<Datagrams>,
    /// Accounts for authentication; `None` if clients need not authenticate.
    pub users: Option<Users>,
}

/// A worker thread's clients, and the drive if it is the first thread.
pub(super) struct Worker<D> {
    thread: u32,
    clients: Clients,
    shards: ShardHandle,
    /// `None` where all items are in memory, and in all threads but the first.
    drive: Option<D>,
    parts: Parts,
    answers: Answers,
    clock: Clock,
    limits: Limits,
    /// Accounts for authentication; `None` if clients need not authenticate.
    users: Option<Users>,
    reactor: Reactor<Message>,
    listeners: Listeners,
    /// The gate to TLS, and for each listener whether its clients use none; `None` without TLS.
    gate: Option<(Gate, Vec<bool>)>,
    /// The thread that gets the next connection.
    next_thread: u32,
    datagram_sockets: DatagramSockets,
    slots: Slots<Client>,
    /// The owner of each client name in the service.
    origins: Vec<Origin>,
    /// Slots to be received from.
    listed: VecDeque<u32>,
    /// Slots with replies to be sent.
    answering: Vec<u32>,
    pressure: Pressure,
    buffer: Vec<u8>,
    /// The next iteration has work.
    is_told: bool,
    /// Recovery of all shards has completed.
    is_recovered: bool,
    /// Changes are acknowledged when they are durable.
    promises_durability: bool,
    /// When idle connections are checked next.
    idle_check: Time,
    throttle: Throttle,
    /// When the first throttled client may resume.
    slowed_check: Time,
    traffic: Traffic,
    steering: Steering,
    checkup: Checkup,
    stopping: Stopping,
}

/// What a worker returns when it stops.
pub(super) struct WorkerResult<D> {
    /// Traffic on its sockets.
    pub traffic: Traffic,
    /// Command latencies since they were last collected.
    pub latencies: Latencies,
    /// Writes that are not durable; `None` for a thread that does not own the drive.
    pub unwritten: Option<Unwritten>,
    /// A block that cannot be read, so that recovery has failed.
    pub unreadable: Option<u64>,
    /// The drive, if this thread owned it.
    pub drive: Option<D>,
}

/// The owner of a client name in the service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    /// The client on this slot.
    Connection(u32),
    /// A request that came as a datagram.
    Datagram(DatagramId),
    /// The name is not in use.
    Nobody,
}

impl<D: Steered> Worker<D> {
    /// A worker; the first one has the drive and the listening sockets.
    ///
    /// # Errors
    /// If the system is out of descriptors.
    pub(super) fn new(
        thread: u32,
        common: Arc<Common>,
        drive: Option<D>,
        entries: Entries,
        settings: ServiceSettings,
        limits: Limits,
        clock: Clock,
    ) -> io::Result<Worker<D>> {
        let reactor = Reactor::new(Arc::clone(common.mailbox(thread)), Spin::new(limits.busy_poll), clock)?;
        if let Some(wakes) = drive.as_ref().and_then(Drive::wakes) {
            reactor.watch(wakes, Token::source(DRIVE), EDGE)?;
        }
        let checkup = Checkup::new(drive.as_ref());
        let disk = drive.as_ref().map(Drive::disk);
        let blocks = common.with(0, |shard| shard.engine().disk_blocks()).flatten();
        let parts = match (&disk, blocks) {
            (Some(disk), Some(blocks)) => Parts::of_store(disk, common.shards(), blocks),
            _ => Parts::NONE,
        };
        if let Some(disk) = disk.filter(|disk| parts.have_room(disk)) {
            common.log(Event::Grown { store: parts.all_blocks(), drive: disk.blocks });
        }
        let Entries { listeners, datagrams, users } = entries;
        let (listeners, datagram_sockets) =
            (Listeners::new(listeners, LISTENERS), DatagramSockets::new(datagrams));
        listeners.watch(&reactor)?;
        datagram_sockets.watch(&reactor)?;
        Ok(Worker {
            thread,
            clients: Clients::new(
                ThreadOf { number: thread, of: common.threads() },
                common.division(),
                settings,
            )
            .with_permissions(limits.permissions),
            shards: ShardHandle::new(common, thread),
            parts,
            drive,
            answers: Answers::default(),
            clock,
            limits,
            promises_durability: settings.is_durable,
            users,
            reactor,
            listeners,
            gate: None,
            next_thread: 0,
            datagram_sockets,
            slots: Slots::default(),
            origins: Vec::new(),
            listed: VecDeque::new(),
            answering: Vec::new(),
            pressure: Pressure::new(limits.memory_patience),
            buffer: vec![0; BUFFER_BYTES],
            is_told: false,
            is_recovered: false,
            idle_check: Time::NEVER,
            throttle: Throttle::default(),
            slowed_check: Time::NEVER,
            traffic: Traffic::default(),
            steering: Steering::default(),
            checkup,
            stopping: Stopping::Not,
        })
    }

    /// The worker behind a gate to TLS, with whether the clients of each listener use none.
    pub(super) fn behind(self, gate: Option<(Gate, Vec<bool>)>) -> Worker<D> {
        Worker { gate, ..self }
    }

    /// Serves until it is asked to stop. The first thread then makes all writes durable.
    pub(super) fn run(mut self) -> WorkerResult<D> {
        self.settle();
        reactor::run(&mut self);
        let Stopping::Done { unwritten } = self.stopping else { unreachable!("only then the loop is done") };
        let unreadable = self.shards.common().unreadable();
        let unreadable = unreadable.map(|(shard, block)| self.parts.block(shard, block));
        let latencies = self.clients.take_latencies();
        WorkerResult { traffic: self.traffic, latencies, unwritten, unreadable, drive: self.drive }
    }

    /// Pins the thread to a core if there are as many threads as cores, so that clients it wakes settle on
    /// that core as well. If the system refuses, the thread runs unpinned.
    fn settle(&self) {
        let (cores, threads) = (placement::cores(), self.limits.threads as usize);
        if self.limits.pinned && threads > 1 && cores.len() == threads {
            let _ = system::stay_on(cores[self.thread as usize]);
        }
    }

    /// Runs an iteration.
    fn serve(&mut self, now: Time) {
        let unix = unix_seconds();
        self.is_told = false;
        self.receive_messages(now);
        self.clients.tick(unix);
        self.clients.begin_iteration(RATION_BYTES);
        self.shards.tick(now, unix);
        for _ in 0..self.listed.len() {
            let Some(slot) = self.listed.pop_front() else { break };
            self.guarded(Origin::Connection(slot), |worker| worker.receive(slot));
        }
        self.recover();
        self.carry_out(now);
        self.is_told |= self.can_recover();
        self.note_sending();
        self.answer();
        self.relieve(now);
        self.listeners.resume(&self.reactor, now);
        self.see_off_the_idle(now);
        self.go_on_with_the_slowed(now);
        self.wind_down(now);
        self.check_up(now);
        self.clients.set_sockets(self.socket_counters());
        self.shards.common().tally(self.thread, &self.clients.tally());
    }

    fn socket_counters(&self) -> SocketCounters {
        let Traffic {
            received, sent, turned_away, idle, logins, wrong_logins, accept_pauses, yields, ..
        } = self.traffic;
        // The first thread accepts connections for all.
        let most_connections = if self.thread == 0 { self.limits.connections as u64 } else { 0 };
        SocketCounters {
            received,
            sent,
            most_connections,
            rejected: turned_away,
            idle,
            logins,
            wrong_logins,
            accept_pauses,
            yields,
        }
    }

    /// Submits requests to the drive and passes its completions to the shards.
    fn carry_out(&mut self, now: Time) {
        if self.thread == 0 {
            self.shards.resume();
        }
        loop {
            self.shards.ask_touched();
            let mut has_moved = self.give_replies();
            if let Some(drive) = &mut self.drive {
                let (requests, common) = self.shards.take_requests();
                // Writes of a shard that has failed may be corrupt.
                for (shard, request) in requests.filter(|&(shard, _)| !common.has_failed(shard)) {
                    drive.submit(now, self.parts.request(shard, request));
                    has_moved = true;
                }
                drive.poll(now, &mut self.answers);
            }
            for response in self.answers.responses.drain(..) {
                let (shard, response) = self.parts.response(response);
                self.shards.respond(shard, response);
                has_moved = true;
            }
            self.steering.replied(self.answers.replies.drain(..));
            if !has_moved {
                break;
            }
            self.note_progress(now);
        }
        self.shards.send_replies();
    }

    /// Passes deferred replies to their clients.
    fn give_replies(&mut self) -> bool {
        let mut has_any = false;
        while let Some(reply) = self.shards.next_reply() {
            has_any = true;
            let name = reply.requester.client;
            let is_good = self.guarded(self.origins[name as usize], |worker| {
                worker.shards.serve(worker.clients.take(reply));
                if worker.clients.is_connected(name) {
                    worker.resume(name);
                }
            });
            if !is_good {
                // The client may have disconnected before, so that the name was not discarded elsewhere.
                self.clients.discard(name);
            }
        }
        has_any
    }

    /// A client has more to send, or accepts more requests.
    fn resume(&mut self, name: u32) {
        match self.origins[name as usize] {
            Origin::Connection(slot) => {
                self.note_answer(slot);
                self.list(slot);
            }
            Origin::Datagram(id) => self.answer_datagram(id),
            Origin::Nobody => {}
        }
    }

    /// Records the time at which replies are sent.
    fn note_sending(&mut self) {
        if self.clients.has_answered() {
            self.clients.note_sending(self.clock.now());
        }
    }

    /// Handles messages of other threads.
    fn receive_messages(&mut self, now: Time) {
        let mut messages = self.reactor.receive();
        for message in messages.drain(..) {
            match message {
                Message::Connection(socket, peer) => self.welcome(socket, peer),
                Message::Replies(replies) => self.shards.take_replies(replies),
                Message::Requests(requests) => self.shards.take_over(requests),
                Message::Poll => self.shards.go_on_everywhere(),
                Message::AdminRequest(request) => self.answer_admin(request, now),
                Message::Report(answer) => self.report(&answer),
                Message::ShardFailed(shard) => self.fail_shard(shard),
                Message::Users(users) => self.users = self.users.take().map(|_| users),
                Message::Beat => self.shards.common().note_beat(self.thread),
            }
        }
        self.reactor.recycle(messages);
        if self.reactor.is_stopping() {
            self.begin_end();
        }
    }

    /// Assigns a client name in the service.
    fn name(&mut self, origin: Origin) -> u32 {
        let name = self.clients.open();
        if name as usize >= self.origins.len() {
            self.origins.resize(name as usize + 1, Origin::Nobody);
        }
        self.origins[name as usize] = origin;
        name
    }

    fn forget(&mut self, name: u32) {
        self.clients.close(name);
        self.origins[name as usize] = Origin::Nobody;
    }
}

/// Seconds of Unix time by the wall clock, which may be set at any time.
fn unix_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// Sources of the loop: the drive, and the first of the listening sockets and of the datagram sockets.
const DRIVE: u32 = 0;
const LISTENERS: u32 = 1;
const DATAGRAMS: u32 = 1 << 16;
/// Maximum bytes of one receive, and so of the input left over while a client is not served.
const BUFFER_BYTES: usize = 64 << 10;
/// Bytes of replies that an iteration may produce before it executes only small commands. Copying them takes
/// less than a millisecond.
const RATION_BYTES: usize = 1 << 20;
/// Interval of the check for idle connections.
const IDLE_EVERY: Nanos = Nanos::millis(500);
