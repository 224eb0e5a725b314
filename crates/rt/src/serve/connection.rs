//! A client in the transmission phase.

use super::budget::Budget;
use super::charge::charge;
use crate::reactor::{Received, Socket};
use std::collections::VecDeque;
use std::io::{IoSlice, IoSliceMut};
use std::os::fd::OwnedFd;
use tailcut_base::{Class, Time};
use tailcut_host::Pool;
use tailcut_host::wire::nbd::{Receiver, Reply, Rules};

/// A connection: its socket, partly received requests, and unsent replies.
#[derive(Debug)]
pub struct Connection {
    /// The socket of the connection, with its readiness.
    pub socket: Socket,
    /// The rules that requests of the connection are checked against.
    pub rules: Rules,
    /// Latency class of the connection's reads, by the variant of the export that it uses.
    pub class: Class,
    /// The parser of the connection's requests.
    pub receiver: Receiver,
    /// Received bytes, and how many of them were processed: a request ahead of the others has to wait.
    pub leftover: (Vec<u8>, usize),
    /// No more requests are received; the connection is closed once all are answered.
    pub is_ending: bool,
    /// True while the connection is listed as one to receive from.
    pub is_listed: bool,
    /// True while the connection is queued for resources of others.
    pub is_blocked: bool,
    /// The next request of the connection is for block status, and this iteration has no lookups left.
    pub awaits_lookup: bool,
    /// True while the connection is queued for lookups.
    pub is_queued_for_lookup: bool,
    /// True while the connection is listed as one with replies to send.
    pub is_replying: bool,
    /// Admitted requests whose replies have not been sent.
    pub under_way: u32,
    /// When data was last received from the client or sent to it.
    pub progress: Time,
    outgoing: VecDeque<(Reply, u64)>,
    /// Number of bytes of the first reply that have been sent.
    sent: usize,
}

impl Connection {
    /// A connection that has completed its handshake; `leftover` arrived with the last bytes of that.
    pub fn new(socket: OwnedFd, rules: Rules, class: Class, leftover: Vec<u8>, now: Time) -> Connection {
        Connection {
            socket: Socket::new(socket),
            rules,
            class,
            receiver: Receiver::new(rules),
            leftover: (leftover, 0),
            is_ending: false,
            is_listed: false,
            is_blocked: false,
            awaits_lookup: false,
            is_queued_for_lookup: false,
            is_replying: false,
            under_way: 0,
            progress: now,
            outgoing: VecDeque::new(),
            sent: 0,
        }
    }

    /// Receives available bytes: first into the blocks of a partly received write, then into `buffer`.
    /// Returns the number of bytes in `buffer`.
    pub fn receive(&mut self, buffer: &mut [u8], pool: &mut Pool) -> Received {
        if self.receiver.outstanding() < DIRECT_FROM {
            return self.socket.receive(buffer);
        }
        match self.receive_data(pool) {
            Received::Bytes(count) => {
                self.receiver.received(count);
                Received::Bytes(0)
            }
            received => received,
        }
    }

    /// Receives into the blocks of a write.
    fn receive_data(&mut self, pool: &mut Pool) -> Received {
        let mut places: [IoSliceMut<'_>; DIRECT_BLOCKS] = std::array::from_fn(|_| IoSliceMut::new(&mut []));
        let (mut used, mut offered) = (0, 0);
        self.receiver.vacant(DIRECT_BLOCKS, pool, |place| {
            offered += place.len();
            places[used] = place;
            used += 1;
        });
        self.socket.receive_by(offered, |socket| rustix::io::readv(socket, &mut places[..used]))
    }

    /// Queues a reply; sending it releases `charge` bytes of the budget.
    pub fn reply(&mut self, reply: Reply, charge: u64) {
        self.outgoing.push_back((reply, charge));
    }

    /// True if replies are pending and the socket may accept data.
    pub fn has_outgoing(&self) -> bool {
        !self.outgoing.is_empty()
    }

    /// True if the socket accepts no more data for now.
    pub fn is_stuck(&self) -> bool {
        !self.socket.has_room
    }

    /// True if a request waits to be admitted.
    pub fn is_waiting(&self) -> bool {
        self.receiver.is_waiting() || self.leftover.1 < self.leftover.0.len()
    }

    /// True if nothing is left to do for it; a partly received write does not count, since it cannot
    /// complete.
    pub fn is_finished(&self) -> bool {
        self.is_ending && self.under_way == u32::from(self.receiver.write_under_way().is_some())
    }

    /// Sends as much as the socket takes; releases the charges of completely sent replies from `held`, and
    /// sets `released` then. False if the client has disconnected.
    pub fn send(
        &mut self,
        budget: &mut Budget,
        held: &mut u64,
        pool: &mut Pool,
        now: Time,
        released: &mut bool,
    ) -> bool {
        while self.socket.has_room && self.has_outgoing() {
            let mut slices = [IoSlice::new(&[]); SLICES];
            let used = gather(&self.outgoing, self.sent, &mut slices);
            let Ok(count) = self.socket.send(&slices[..used]) else { return false };
            if count > 0 {
                self.progress = now;
                *released |= self.strike(count, budget, held, pool);
            }
        }
        true
    }

    /// Drops the first `count` bytes of pending replies.
    fn strike(&mut self, count: usize, budget: &mut Budget, held: &mut u64, pool: &mut Pool) -> bool {
        self.sent += count;
        let mut released = false;
        while let Some((reply, charge)) = self.outgoing.front()
            && self.sent >= reply.bytes()
        {
            self.sent -= reply.bytes();
            budget.give_back(held, *charge);
            self.under_way -= 1;
            released = true;
            if let Some((reply, _)) = self.outgoing.pop_front() {
                pool.recycle(reply.into_data());
            }
        }
        released
    }

    /// Bytes of the budget released when the connection is closed: those of replies, and of a partly received
    /// write.
    pub fn abandoned(&self) -> u64 {
        let outgoing: u64 = self.outgoing.iter().map(|(_, charge)| charge).sum();
        outgoing + self.receiver.write_under_way().map_or(0, |(header, command)| charge(header, command))
    }
}

/// Fills `slices` with replies, of the first one what follows its first `sent` bytes. Returns how many it has
/// filled.
fn gather<'a>(
    outgoing: &'a VecDeque<(Reply, u64)>,
    mut sent: usize,
    slices: &mut [IoSlice<'a>; SLICES],
) -> usize {
    let mut used = 0;
    for (reply, _) in outgoing {
        let is_whole = reply.slices(sent, |slice| {
            let has_room = used < SLICES;
            if has_room {
                slices[used] = slice;
                used += 1;
            }
            has_room
        });
        if !is_whole {
            break;
        }
        sent = 0;
    }
    used
}

/// Minimum missing bytes for data to be received directly into its blocks; less is copied.
const DIRECT_FROM: usize = 16 << 10;
/// Maximum number of blocks received into with one call.
const DIRECT_BLOCKS: usize = 256;
/// Maximum number of memory slices sent with one call.
const SLICES: usize = 256;
