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
mod failing;
mod pressure;
mod receiving;
mod resting;
mod sending;

pub use acceptor::Acceptor;
pub use datagrams::Datagrams;

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
use crate::path::placement;
use crate::serve::spin::Spin;
use crate::system;
use admin::Checkup;
use datagrams::{DatagramId, DatagramSockets};
use ending::Stopping;
use pressure::Pressure;
use rustix::event::epoll::{self, EventData, EventFlags};
use std::collections::VecDeque;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};
use tailcut_base::{Nanos, Time};
use tailcut_host::kv::session::clients::SocketCounters;
use tailcut_host::kv::session::latency::Latencies;
use tailcut_host::kv::session::{Clients, ServiceSettings};
use tailcut_host::wire::memcached::Users;

/// The sockets on which clients connect or send datagrams, and the accounts.
#[derive(Debug, Default)]
pub struct Entries {
    /// The sockets that take connections.
    pub acceptor: Acceptor,
    /// The sockets that take datagrams.
    pub datagrams: Vec<Datagrams>,
    /// Accounts for authentication; `None` if clients need not authenticate.
    pub users: Option<Users>,
}

/// A worker thread's clients, and the drive if it is the first thread.
pub struct Worker<D> {
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
    epoll: OwnedFd,
    acceptor: Acceptor,
    /// The thread that gets the next connection.
    next_thread: u32,
    datagram_sockets: DatagramSockets,
    slots: Vec<ConnectionSlot>,
    vacant: Vec<u32>,
    /// The owner of each client name in the service.
    origins: Vec<Origin>,
    /// Slots to be received from.
    listed: VecDeque<u32>,
    /// Slots with replies to be sent.
    answering: Vec<u32>,
    pressure: Pressure,
    buffer: Vec<u8>,
    spin: Spin,
    turns: u32,
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
pub struct WorkerResult<D> {
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

/// A slot for a connection. The generation distinguishes it from earlier connections on this slot.
#[derive(Debug, Default)]
struct ConnectionSlot {
    generation: u32,
    client: Option<Client>,
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
    pub fn new(
        thread: u32,
        common: Arc<Common>,
        drive: Option<D>,
        entries: Entries,
        settings: ServiceSettings,
        limits: Limits,
        clock: Clock,
    ) -> io::Result<Worker<D>> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        epoll::add(&epoll, common.mailbox(thread), EventData::new_u64(MESSAGE), EventFlags::IN)?;
        if let Some(wakes) = drive.as_ref().and_then(Drive::wakes) {
            epoll::add(&epoll, wakes, EventData::new_u64(DRIVE), COMPLETIONS)?;
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
        let Entries { acceptor, datagrams, users } = entries;
        let datagram_sockets = DatagramSockets::new(datagrams);
        acceptor.open(&epoll)?;
        datagram_sockets.open(&epoll)?;
        Ok(Worker {
            thread,
            clients: Clients::new(thread, common.threads(), settings).with_permissions(limits.permissions),
            shards: ShardHandle::new(common, thread),
            parts,
            drive,
            answers: Answers::default(),
            clock,
            limits,
            promises_durability: settings.is_durable,
            users,
            epoll,
            acceptor,
            next_thread: 0,
            datagram_sockets,
            slots: Vec::new(),
            vacant: Vec::new(),
            origins: Vec::new(),
            listed: VecDeque::new(),
            answering: Vec::new(),
            pressure: Pressure::new(limits.memory_patience),
            buffer: vec![0; BUFFER_BYTES],
            spin: Spin::new(limits.busy_poll),
            turns: 0,
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

    /// Serves until it receives a stop message. The first thread then makes all writes durable.
    pub fn run(mut self) -> WorkerResult<D> {
        self.settle();
        loop {
            self.turn();
            if let Stopping::Done { unwritten } = self.stopping {
                let unreadable = self.shards.common().unreadable();
                let unreadable = unreadable.map(|(shard, block)| self.parts.block(shard, block));
                let latencies = self.clients.take_latencies();
                return WorkerResult {
                    traffic: self.traffic,
                    latencies,
                    unwritten,
                    unreadable,
                    drive: self.drive,
                };
            }
            self.rest();
        }
    }

    /// Pins the thread to a core if there are as many threads as cores, so that clients it wakes settle on
    /// that core as well. If the system refuses, the thread runs unpinned.
    fn settle(&self) {
        let (cores, threads) = (placement::cores(), self.limits.threads as usize);
        if self.limits.pinned && threads > 1 && cores.len() == threads {
            let _ = system::stay_on(cores[self.thread as usize]);
        }
    }

    fn turn(&mut self) {
        let (now, unix) = (self.clock.now(), unix_seconds());
        self.turns = self.turns.wrapping_add(1);
        self.is_told = false;
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
        self.open_door_again(now);
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
                if worker.clients.take(reply, &mut worker.shards.visit()).is_some() {
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
    fn receive_messages(&mut self) {
        self.is_told = true;
        for message in self.shards.common().mailbox(self.thread).empty() {
            match message {
                Message::Connection(socket) => self.welcome(socket),
                Message::Replies(replies) => self.shards.take_replies(replies),
                Message::Requests(requests) => self.shards.take_over(requests),
                Message::Poll => self.shards.go_on_everywhere(),
                Message::AdminRequest(request) => self.answer_admin(request),
                Message::Report(answer) => self.report(&answer),
                Message::ShardFailed(shard) => self.fail_shard(shard),
                Message::Beat => self.shards.common().note_beat(self.thread),
                Message::Stop => self.begin_end(),
            }
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

fn token(slot: u32, generation: u32) -> u64 {
    u64::from(generation & GENERATIONS) << 32 | u64::from(slot)
}

/// Events watched on each connection. Edge-triggered: each socket is read until it is empty.
/// Edge-triggered: the drive resets its descriptor only when the worker is about to sleep, and a busy-polling
/// worker would see it readable, and find work, for ever.
const COMPLETIONS: EventFlags = EventFlags::IN.union(EventFlags::ET);
const ARRIVING: EventFlags = EventFlags::IN.union(EventFlags::RDHUP).union(EventFlags::ET);
/// Mask of a generation: it keeps the tokens of slots below those of other event sources.
const GENERATIONS: u32 = u32::MAX >> 1;
const MESSAGE: u64 = u64::MAX;
const DRIVE: u64 = u64::MAX - 1;
/// First token of the listening sockets, one for each.
const LISTENERS: u64 = 1 << 63;
/// First token of the datagram sockets, one for each.
const DATAGRAMS: u64 = 1 << 63 | 1 << 62;
/// Maximum bytes of one receive, and so of the input left over while a client is not served.
const BUFFER_BYTES: usize = 64 << 10;
/// Bytes of replies that an iteration may produce before it executes only small commands. Copying them takes less
/// than a millisecond.
const RATION_BYTES: usize = 1 << 20;
/// A busy worker polls for other events every this many iterations.
const LOOK_EVERY: u32 = 16;
/// Interval of the check for idle connections.
const IDLE_EVERY: Nanos = Nanos::millis(500);
