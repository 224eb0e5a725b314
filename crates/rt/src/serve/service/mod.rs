//! One drive with all connections that use it, on a thread of its own.
//!
//! A turn: receive from those who have sent something; hand what they ask for to the drive, and take what it
//! has ready; send. Requests of one receive go to the drive together, and their replies leave together. If
//! there is nothing to do, it looks out for a while where that pays ([`Spin`]), and sleeps.
//!
//! What a turn costs is bounded, whatever clients ask for ([`charge`](super::charge)), so that nobody waits
//! long for somebody else's turn, and a wish to stop is heard within a few: extents looked at for block
//! status, blocks trimmed, and rounds with the drive. What does not fit waits for the next turn; those who
//! wait for lookups take turns.
//!
//! All connections share the drive and what it has cached, so a flush on one of them covers what was
//! acknowledged on any.

mod admin;
mod kernel;
mod receiving;
mod requests;
mod resting;
mod slots;

use super::budget::Budget;
use super::charge::Lookups;
use super::connection::Connection;
use super::figures::{Figures, Live};
use super::mailbox::Mailbox;
use super::server::Limits;
use super::spin::Spin;
use super::ublk::Queue;
use crate::ctl::{AdminRequest, Steered, Steering};
use crate::{Answers, Clock};
use rustix::event::epoll::{self, EventData, EventFlags};
use std::collections::VecDeque;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use tailcut_base::ids::Slab;
use tailcut_base::{Class, Nanos, Time, id};
use tailcut_host::wire::nbd::{Command, Header, Rules};
use tailcut_host::{Pool, Unaligned};

/// A client whose handshake is done.
#[derive(Debug)]
pub struct Arrival {
    /// Its socket, not blocking.
    pub socket: OwnedFd,
    /// What its requests are held against.
    pub rules: Rules,
    /// How much its reads matter.
    pub class: Class,
    /// Bytes that came behind its handshake.
    pub leftover: Vec<u8>,
}

/// What a service is told.
#[derive(Debug)]
pub enum Message {
    /// A client.
    Arrival(Arrival),
    /// Somebody wants to know something.
    AdminRequest(AdminRequest),
    /// End when what is under way is done.
    Stop,
}

/// A drive and its connections.
pub struct Service<D> {
    drive: D,
    clock: Clock,
    limits: Limits,
    machine: Unaligned,
    /// Requests of the kernel, while the drive is a block device.
    kernel: Option<Queue>,
    pool: Pool,
    answers: Answers,
    epoll: OwnedFd,
    mailbox: Arc<Mailbox<Message>>,
    slots: Vec<ConnectionSlot>,
    vacant: Vec<u32>,
    /// Connections of the whole server.
    open_connections: Arc<AtomicUsize>,
    pending: Slab<PendingId, Pending>,
    /// To be received from.
    listed: VecDeque<u32>,
    /// Waiting for a share of the budget, or for trims of others.
    blocked: VecDeque<u32>,
    /// Waiting for a turn that can look at extents for them.
    awaiting_lookup: VecDeque<u32>,
    /// What this turn has looked at.
    lookups: Lookups,
    /// Blocks of trims and requests for zeros that are under way.
    clearing: u64,
    /// The drive and the machine in front of it have more to do at once than one turn carries out.
    has_unfinished: bool,
    looked: Time,
    /// With replies to be sent.
    replying: Vec<u32>,
    buffer: Vec<u8>,
    extents: Vec<(u32, u32)>,
    budget: Budget,
    /// Somebody gave something back.
    has_released: bool,
    spin: Spin,
    turns: u32,
    /// A message or the drive has something for the next turn.
    is_told: bool,
    figures: Figures,
    live: Arc<Live>,
    steering: Steering,
    stopping: Stopping,
}

/// A place for a connection. The generation tells one that sits there from one that sat there.
#[derive(Debug, Default)]
struct ConnectionSlot {
    generation: u32,
    connection: Option<Connection>,
    /// Bytes of the budget for its requests and replies; also of one that has gone, while the drive still has
    /// requests of it.
    held: u64,
    /// Its requests that are with the drive.
    with_drive: u32,
}

id! {
    /// A request in flight at the drive.
    struct PendingId;
}

/// A request that is with the drive.
#[derive(Clone, Copy, Debug)]
struct Pending {
    slot: u32,
    header: Header,
    command: Command,
    charge: u64,
    since: Time,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stopping {
    /// It serves.
    Not,
    /// What is under way is finished, but nobody is waited for longer than until then.
    Until(Time),
    /// Nobody is connected; the drive is flushed.
    Flushing,
    /// That is done.
    Done,
}

impl<D: Steered> Service<D> {
    /// A service for `drive`, and for the kernel where the drive is a block device. Fails when the system has
    /// no descriptors left.
    pub fn new(
        drive: D,
        kernel: Option<Queue>,
        clock: Clock,
        limits: Limits,
        mailbox: Arc<Mailbox<Message>>,
        open_connections: Arc<AtomicUsize>,
        live: Arc<Live>,
    ) -> io::Result<Service<D>> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        epoll::add(&epoll, &*mailbox, EventData::new_u64(MAIL), EventFlags::IN)?;
        if let Some(wakes) = drive.wakes() {
            epoll::add(&epoll, wakes, EventData::new_u64(DRIVE), EventFlags::IN)?;
        }
        if let Some(queue) = &kernel {
            epoll::add(&epoll, queue.wakes(), EventData::new_u64(KERNEL), EventFlags::IN)?;
        }
        Ok(Service {
            machine: Unaligned::new(drive.disk(), drive.trims_to_zeros()),
            drive,
            kernel,
            clock,
            limits,
            pool: Pool::default(),
            answers: Answers::default(),
            epoll,
            mailbox,
            slots: Vec::new(),
            vacant: Vec::new(),
            open_connections,
            pending: Slab::new(),
            listed: VecDeque::new(),
            blocked: VecDeque::new(),
            awaiting_lookup: VecDeque::new(),
            lookups: Lookups::default(),
            clearing: 0,
            has_unfinished: false,
            looked: Time::ZERO,
            replying: Vec::new(),
            buffer: vec![0; BUFFER_BYTES],
            extents: Vec::new(),
            budget: Budget::new(limits.memory, limits.connections),
            has_released: false,
            spin: Spin::new(limits.busy_poll),
            turns: 0,
            is_told: false,
            figures: Figures::default(),
            live,
            steering: Steering::default(),
            stopping: Stopping::Not,
        })
    }

    /// Serves until it is told to stop. Then the drive is flushed, and what was served is returned.
    pub fn run(mut self) -> (Figures, D) {
        loop {
            let began = self.turn();
            if self.stopping == Stopping::Done {
                break;
            }
            self.heed_absence(began);
            self.rest();
        }
        self.figures.widened = self.machine.widened();
        (self.figures, self.drive)
    }

    /// Returns when it began.
    fn turn(&mut self) -> Time {
        let now = self.clock.now();
        self.turns = self.turns.wrapping_add(1);
        self.is_told = false;
        self.lookups = Lookups::default();
        self.receive_from_kernel(now);
        // Who has waited for a lookup comes before those who ask for their first.
        for _ in 0..self.awaiting_lookup.len() {
            if !self.lookups.has_room() {
                break;
            }
            let Some(slot) = self.awaiting_lookup.pop_front() else { break };
            if let Some(connection) = &mut self.slots[slot as usize].connection {
                connection.is_queued_for_lookup = false;
            }
            self.receive(slot, now);
        }
        for _ in 0..self.listed.len() {
            let Some(slot) = self.listed.pop_front() else { break };
            if let Some(connection) = &mut self.slots[slot as usize].connection {
                connection.is_listed = false;
            }
            self.receive(slot, now);
        }
        self.carry_out(now);
        self.send(now);
        if let Some(queue) = &mut self.kernel {
            queue.hand_over();
        }
        if self.has_released {
            self.unblock();
        }
        if !self.blocked.is_empty() {
            self.expel_idle(now);
        }
        if self.stopping != Stopping::Not {
            self.wind_down(now);
        }
        now
    }

    /// Sends what is to be sent.
    fn send(&mut self, now: Time) {
        let mut replying = std::mem::take(&mut self.replying);
        for slot in replying.drain(..) {
            self.send_to(slot, now);
        }
        self.replying = replying;
    }

    fn send_to(&mut self, slot: u32, now: Time) {
        let ConnectionSlot { generation, connection, held, .. } = &mut self.slots[slot as usize];
        let Some(connection) = connection else { return };
        connection.is_replying = false;
        let mut has_released = false;
        let is_there = connection.send(&mut self.budget, held, &mut self.pool, now, &mut has_released);
        self.has_released |= has_released;
        if !is_there || connection.is_over() {
            return self.close(slot);
        }
        if connection.is_stuck() != connection.awaits_room {
            connection.awaits_room = connection.is_stuck();
            let room = if connection.awaits_room { EventFlags::OUT } else { EventFlags::empty() };
            let token = EventData::new_u64(token(slot, *generation));
            epoll::modify(&self.epoll, &connection.socket, token, ARRIVING | room)
                .expect("a socket that is watched can be watched otherwise");
        }
        if has_released && connection.is_waiting() {
            self.list(slot);
        }
    }
}

fn token(slot: u32, generation: u32) -> u64 {
    u64::from(generation) << 32 | u64::from(slot)
}

/// What a connection is always watched for. Only edges: what has come is received until nothing is left.
const ARRIVING: EventFlags = EventFlags::IN.union(EventFlags::RDHUP).union(EventFlags::ET);
const MAIL: u64 = u64::MAX;
const DRIVE: u64 = u64::MAX - 1;
const KERNEL: u64 = u64::MAX - 2;
/// The slot of the server's own requests.
const NOBODY: u32 = u32::MAX;
/// The slot of the kernel's.
const THE_KERNEL: u32 = u32::MAX - 1;
/// Most bytes of one receive, and so of what is left over where a request has to wait.
const BUFFER_BYTES: usize = 128 << 10;
/// A busy service looks for others every this many turns, and after turns that took so long together.
const LOOK_EVERY: u32 = 16;
const LOOK_AFTER: Nanos = Nanos::millis(5);
/// Most rounds with the drive in one turn: requests handed over, answers taken.
const MOST_ROUNDS: usize = 16;
/// Most requests waiting for others that the rounds of one turn look at, unless a single round has more.
const MOST_WAITING_SEEN: usize = 4096;

#[cfg(test)]
mod tests;
