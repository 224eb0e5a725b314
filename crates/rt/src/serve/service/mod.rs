//! One drive with all connections that use it, on a thread of its own.
//!
//! An iteration receives from readable clients, submits their requests to the drive and polls its
//! completions, and sends replies. Requests of one receive are submitted together, and their replies are sent
//! together. Without work, the thread busy-polls for a while where that pays ([`Spin`]), and then sleeps.
//!
//! The cost of an iteration is bounded, whatever clients request ([`charge`](super::charge)), so that no
//! client waits long for another's iteration, and a stop message is handled within a few: extents looked up
//! for block status, blocks trimmed, and rounds with the drive. Requests beyond the bound wait for the next
//! iteration; clients that wait for lookups take turns.
//!
//! All connections share the drive and what it has cached, so a flush on one of them covers what was
//! acknowledged on any.

mod admin;
mod event_loop;
mod kernel;
mod receiving;
mod requests;
mod slots;

use super::budget::Budget;
use super::charge::Lookups;
use super::connection::Connection;
use super::figures::{Figures, Live};
use super::server::Limits;
use super::ublk::Queue;
use crate::ctl::{AdminRequest, Steered, Steering};
use crate::reactor::{self, EDGE, Mailbox, READABLE, Reactor, Slots, Spin, Token};
use crate::{Answers, Clock, Drive};
use std::collections::VecDeque;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use tailcut_base::ids::Slab;
use tailcut_base::{Class, Time, id};
use tailcut_host::wire::nbd::{Command, Header, Rules};
use tailcut_host::{BLOCK_SECTORS, PlacementPolicy, Placer, Pool, Unaligned};

/// A client whose handshake is done.
#[derive(Debug)]
pub struct Arrival {
    /// The client's socket, which does not block.
    pub socket: OwnedFd,
    /// The rules that the client's requests are checked against.
    pub rules: Rules,
    /// Latency class of the client's reads.
    pub class: Class,
    /// Bytes that were received behind the handshake.
    pub leftover: Vec<u8>,
}

/// A message to a service.
#[derive(Debug)]
pub enum Message {
    /// A client whose handshake is done.
    Arrival(Arrival),
    /// An administrative request about the drive.
    AdminRequest(AdminRequest),
    /// Confirm that the thread is alive.
    Beat,
}

/// A drive and its connections.
pub struct Service<D> {
    drive: D,
    clock: Clock,
    limits: Limits,
    machine: Unaligned,
    placer: Placer,
    /// Requests of the kernel, if the drive is exported as a block device.
    kernel: Option<Queue>,
    pool: Pool,
    answers: Answers,
    reactor: Reactor<Message>,
    slots: Slots<ConnectionSlot>,
    /// Number of open connections of the whole server.
    open_connections: Arc<AtomicUsize>,
    pending: Slab<PendingId, Pending>,
    /// Slots to be received from.
    listed: VecDeque<u32>,
    /// Slots that wait for a share of the budget, or for trims of others.
    blocked: VecDeque<u32>,
    /// Slots that wait for an iteration that can look up extents for them.
    awaiting_lookup: VecDeque<u32>,
    /// Extents looked up in this iteration.
    lookups: Lookups,
    /// Blocks of trims and write-zeroes requests in flight.
    clearing: u64,
    /// The drive and the alignment layer have more work than one iteration carries out.
    has_unfinished: bool,
    /// Slots with replies to be sent.
    replying: Vec<u32>,
    buffer: Vec<u8>,
    extents: Vec<(u32, u32)>,
    budget: Budget,
    /// A share of the budget has been released.
    has_released: bool,
    /// Number of iterations, wrapping.
    iterations: u32,
    /// An event has announced work for the next iteration.
    is_told: bool,
    figures: Figures,
    live: Arc<Live>,
    steering: Steering,
    stopping: Stopping,
}

/// A connection, or what is left of a closed one while the drive has requests of it.
#[derive(Debug)]
struct ConnectionSlot {
    connection: Option<Connection>,
    /// Bytes of the budget held for its requests and replies; also those of a closed connection while the
    /// drive still has requests of it.
    held: u64,
    /// Number of its requests in flight at the drive.
    with_drive: u32,
}

id! {
    /// A request in flight at the drive.
    struct PendingId;
}

/// A request in flight at the drive.
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
    /// The service serves.
    Not,
    /// Requests in flight complete; connections left at this time are closed.
    Until(Time),
    /// No connection is left; the drive is flushed, and again until this time if it is full.
    Flushing(Time),
    /// Shutdown is complete.
    Done,
}

impl<D: Steered> Service<D> {
    /// A service for `drive`, and for the kernel where the drive is exported as a block device.
    ///
    /// # Errors
    /// If the system is out of descriptors.
    pub fn new(
        drive: D,
        kernel: Option<Queue>,
        clock: Clock,
        limits: Limits,
        mailbox: Arc<Mailbox<Message>>,
        open_connections: Arc<AtomicUsize>,
        live: Arc<Live>,
    ) -> io::Result<Service<D>> {
        let reactor = Reactor::new(mailbox, Spin::at_idle_priority(limits.busy_poll), clock)?;
        if let Some(wakes) = drive.wakes() {
            reactor.watch(wakes, DRIVE, EDGE)?;
        }
        if let Some(queue) = &kernel {
            reactor.watch(queue.wakes(), KERNEL, READABLE)?;
        }
        Ok(Service {
            machine: Unaligned::new(drive.disk(), drive.trims_to_zeros()),
            placer: placer(&drive, PlacementPolicy::Named),
            drive,
            kernel,
            clock,
            limits,
            pool: Pool::default(),
            answers: Answers::default(),
            reactor,
            slots: Slots::default(),
            open_connections,
            pending: Slab::new(),
            listed: VecDeque::new(),
            blocked: VecDeque::new(),
            awaiting_lookup: VecDeque::new(),
            lookups: Lookups::default(),
            clearing: 0,
            has_unfinished: false,
            replying: Vec::new(),
            buffer: vec![0; BUFFER_BYTES],
            extents: Vec::new(),
            budget: Budget::new(limits.memory, limits.connections),
            has_released: false,
            iterations: 0,
            is_told: false,
            figures: Figures::default(),
            live,
            steering: Steering::default(),
            stopping: Stopping::Not,
        })
    }

    /// The service with the handles of writes chosen by a policy.
    pub fn placing_by(mut self, policy: PlacementPolicy) -> Service<D> {
        self.placer = placer(&self.drive, policy);
        self
    }

    /// Serves until it is asked to stop. Then flushes the drive, and returns the counters and the drive.
    pub fn run(mut self) -> (Figures, D) {
        reactor::run(&mut self);
        self.figures.widened = self.machine.widened();
        (self.figures, self.drive)
    }

    /// Runs an iteration.
    fn serve(&mut self, now: Time) {
        self.iterations = self.iterations.wrapping_add(1);
        self.is_told = false;
        self.receive_messages(now);
        self.lookups = Lookups::default();
        self.receive_from_kernel(now);
        // Clients that have waited for a lookup come before those that request their first.
        for _ in 0..self.awaiting_lookup.len() {
            if !self.lookups.has_room() {
                break;
            }
            let Some(slot) = self.awaiting_lookup.pop_front() else { break };
            if let Some(connection) = self.slots.get_mut(slot).and_then(ConnectionSlot::open) {
                connection.is_queued_for_lookup = false;
            }
            self.receive(slot, now);
        }
        for _ in 0..self.listed.len() {
            let Some(slot) = self.listed.pop_front() else { break };
            if let Some(connection) = self.slots.get_mut(slot).and_then(ConnectionSlot::open) {
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
    }

    /// Sends pending replies.
    fn send(&mut self, now: Time) {
        let mut replying = std::mem::take(&mut self.replying);
        for slot in replying.drain(..) {
            self.send_to(slot, now);
        }
        self.replying = replying;
    }

    fn send_to(&mut self, slot: u32, now: Time) {
        let Some((token, ConnectionSlot { connection: Some(connection), held, .. })) = self.slots.entry(slot)
        else {
            return;
        };
        connection.is_replying = false;
        let mut has_released = false;
        let is_there = connection.send(&mut self.budget, held, &mut self.pool, now, &mut has_released);
        self.has_released |= has_released;
        if !is_there || connection.is_finished() {
            return self.close(slot);
        }
        connection.socket.watch_for_room(&self.reactor, token);
        if has_released && connection.is_waiting() {
            self.list(slot);
        }
    }
}

impl ConnectionSlot {
    /// The connection, if it is open.
    fn open(&mut self) -> Option<&mut Connection> {
        self.connection.as_mut()
    }
}

fn placer(drive: &impl Drive, policy: PlacementPolicy) -> Placer {
    let disk = drive.disk();
    Placer::new(policy, disk.blocks * BLOCK_SECTORS, disk.handles)
}

const DRIVE: Token = Token::source(0);
const KERNEL: Token = Token::source(1);
/// Slot number of the server's own requests.
const NOBODY: u32 = u32::MAX;
/// Slot number of the kernel's requests.
const THE_KERNEL: u32 = u32::MAX - 1;
/// Maximum bytes of one receive, and so of the input left over while a request has to wait.
const BUFFER_BYTES: usize = 128 << 10;
/// Maximum rounds of submissions and completions with the drive in one iteration.
const MOST_ROUNDS: usize = 16;
/// Maximum number of waiting requests examined in the rounds of one iteration, unless one round has more.
const MOST_WAITING_SEEN: usize = 4096;

#[cfg(test)]
mod tests;
