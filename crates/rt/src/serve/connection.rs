//! One client in the transmission phase.

use super::budget::Budget;
use super::charge::charge;
use rustix::io::Errno;
use rustix::net::{SendAncillaryBuffer, SendFlags, sendmsg};
use std::collections::VecDeque;
use std::io::{IoSlice, IoSliceMut};
use std::os::fd::OwnedFd;
use tailcut_base::{Class, Time};
use tailcut_host::Pool;
use tailcut_host::wire::nbd::{Receiver, Reply, Rules};

/// A connection: its socket, what is half received, and what is not sent yet.
#[derive(Debug)]
pub struct Connection {
    /// The socket, not blocking.
    pub socket: OwnedFd,
    /// What requests are held against.
    pub rules: Rules,
    /// How much its reads matter.
    pub class: Class,
    /// What is being received.
    pub receiver: Receiver,
    /// Bytes that were received, and how many of them were looked at: a request in front of the others has to
    /// wait.
    pub leftover: (Vec<u8>, usize),
    /// Nothing more is read from it; it is closed when everything is answered.
    pub is_ending: bool,
    /// There may be something to be read.
    pub is_readable: bool,
    /// The client has shut down its side: the socket is read to the end, because no further event announces
    /// data.
    pub is_hung: bool,
    /// It stands in the list of those that are received from next.
    pub is_listed: bool,
    /// Its socket is closed at the other end: no reply reaches its client any more.
    pub is_gone: bool,
    /// It stands in the list of those that wait for what others hold.
    pub is_blocked: bool,
    /// Its next request is for block status, and this turn has looked at enough of the drive.
    pub awaits_lookup: bool,
    /// It stands in the list of those that wait for that.
    pub is_queued_for_lookup: bool,
    /// It stands in the list of those with something to be sent.
    pub is_replying: bool,
    /// It is told when the socket takes something again.
    pub awaits_room: bool,
    /// Requests that were let in and whose replies are not sent.
    pub under_way: u32,
    /// When it last took something.
    pub progress: Time,
    outgoing: VecDeque<(Reply, u64)>,
    /// Bytes of the first reply that are sent.
    sent: usize,
    is_writable: bool,
}

/// What came of receiving.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Received {
    /// So many bytes were put into the buffer; there may be more where `more` says so.
    Bytes {
        /// The bytes.
        count: usize,
        /// The socket was not emptied.
        more: bool,
    },
    /// Nothing is there.
    Nothing,
    /// Nothing will come any more.
    End,
}

impl Connection {
    /// A connection whose handshake is done; `leftover` came with its last bytes.
    pub fn new(socket: OwnedFd, rules: Rules, class: Class, leftover: Vec<u8>, now: Time) -> Connection {
        Connection {
            socket,
            rules,
            class,
            receiver: Receiver::new(rules),
            leftover: (leftover, 0),
            is_ending: false,
            is_readable: true,
            is_hung: false,
            is_gone: false,
            is_listed: false,
            is_blocked: false,
            awaits_lookup: false,
            is_queued_for_lookup: false,
            is_replying: false,
            awaits_room: false,
            under_way: 0,
            progress: now,
            outgoing: VecDeque::new(),
            sent: 0,
            is_writable: true,
        }
    }

    /// Receives what is there: first into the blocks of a write under way, then into `buffer`.
    pub fn receive(&mut self, buffer: &mut [u8], pool: &mut Pool) -> Received {
        let is_direct = self.receiver.outstanding() >= DIRECT_FROM;
        let got = if is_direct {
            self.receive_data(pool)
        } else {
            let offered = buffer.len();
            rustix::io::read(&self.socket, buffer).map(|count| (count, offered))
        };
        match got {
            Ok((0, _)) => Received::End,
            Ok((count, offered)) => {
                if is_direct {
                    self.receiver.received(count);
                }
                Received::Bytes { count: if is_direct { 0 } else { count }, more: count == offered }
            }
            Err(Errno::AGAIN) => Received::Nothing,
            Err(Errno::INTR) => Received::Bytes { count: 0, more: true },
            Err(_) => Received::End,
        }
    }

    /// Received and offered bytes.
    fn receive_data(&mut self, pool: &mut Pool) -> Result<(usize, usize), Errno> {
        let mut places: [IoSliceMut<'_>; DIRECT_BLOCKS] = std::array::from_fn(|_| IoSliceMut::new(&mut []));
        let (mut used, mut offered) = (0, 0);
        self.receiver.vacant(DIRECT_BLOCKS, pool, |place| {
            offered += place.len();
            places[used] = place;
            used += 1;
        });
        rustix::io::readv(&self.socket, &mut places[..used]).map(|count| (count, offered))
    }

    /// A reply is to be sent; `charge` bytes of the budget go with it.
    pub fn reply(&mut self, reply: Reply, charge: u64) {
        self.outgoing.push_back((reply, charge));
    }

    /// There are replies that the socket may take.
    pub fn has_outgoing(&self) -> bool {
        !self.outgoing.is_empty()
    }

    /// The socket takes nothing more at the moment.
    pub fn is_stuck(&self) -> bool {
        !self.is_writable
    }

    /// A request waits to be let in.
    pub fn is_waiting(&self) -> bool {
        self.receiver.is_waiting() || self.leftover.1 < self.leftover.0.len()
    }

    /// Nothing more is to be done for it: a write whose end will not come is none.
    pub fn is_over(&self) -> bool {
        self.is_ending && self.under_way == u32::from(self.receiver.write_under_way().is_some())
    }

    /// The socket takes something again.
    pub fn set_writable(&mut self) {
        self.is_writable = true;
    }

    /// Sends what the socket takes; of what the connection has `held`, it gives back what went with replies
    /// that are sent whole, and sets `released` then. False when nobody is there any more.
    pub fn send(
        &mut self,
        budget: &mut Budget,
        held: &mut u64,
        pool: &mut Pool,
        now: Time,
        released: &mut bool,
    ) -> bool {
        while self.is_writable && self.has_outgoing() {
            let mut slices = [IoSlice::new(&[]); SLICES];
            let used = self.gather(&mut slices);
            let offered: usize = slices[..used].iter().map(|slice| slice.len()).sum();
            let mut nothing = SendAncillaryBuffer::default();
            match sendmsg(&self.socket, &slices[..used], &mut nothing, SendFlags::NOSIGNAL) {
                Ok(count) => {
                    self.is_writable = count == offered;
                    self.progress = now;
                    *released |= self.strike(count, budget, held, pool);
                }
                Err(Errno::AGAIN) => self.is_writable = false,
                Err(Errno::INTR) => {}
                Err(_) => return false,
            }
        }
        true
    }

    fn gather<'a>(&'a self, slices: &mut [IoSlice<'a>; SLICES]) -> usize {
        let (mut used, mut sent) = (0, self.sent);
        for (reply, _) in &self.outgoing {
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

    /// Forgets the first `count` bytes of what is to be sent.
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
                pool.take_back(reply.into_data());
            }
        }
        released
    }

    /// Bytes of the budget that end with the connection: those of replies, and of a write that is being
    /// received.
    pub fn abandoned(&self) -> u64 {
        let outgoing: u64 = self.outgoing.iter().map(|(_, charge)| charge).sum();
        outgoing + self.receiver.write_under_way().map_or(0, |(header, command)| charge(header, command))
    }
}

/// Data is received straight into its blocks if at least so much of it is missing; less is copied.
const DIRECT_FROM: usize = 16 << 10;
/// Most blocks that one call receives into.
const DIRECT_BLOCKS: usize = 256;
/// Most stretches of memory that one call sends from.
const SLICES: usize = 256;
