//! A connection, as far as its socket goes.

use rustix::io::{Errno, retry_on_intr};
use rustix::net::{self, RecvFlags, SendAncillaryBuffer, SendFlags};
use std::io::IoSlice;
use std::os::fd::OwnedFd;
use tailcut_base::Time;
use tailcut_host::kv::session::send_queue::SendQueue;
use tailcut_host::wire::memcached::Login;

/// A connection. What is said on it is the service's business.
#[derive(Debug)]
pub struct Client {
    /// Not blocking.
    pub socket: OwnedFd,
    /// Its name in the service.
    pub name: u32,
    /// It has to say a password first.
    pub login: Option<Login>,
    /// Passwords that were wrong came from its address: until then nothing more is taken of it.
    pub slowed_until: Option<Time>,
    /// What was received and not taken.
    pub input: Vec<u8>,
    /// Not because it is half a command, but because the service took no more: it goes on when it does, also
    /// without further input, as an answer may be in the middle.
    pub is_held: bool,
    /// There may be something to be received.
    pub is_readable: bool,
    /// The socket takes something.
    pub is_writable: bool,
    /// The other side has said that nothing more comes; there may be something in front of that.
    pub is_hung: bool,
    /// Nothing more comes.
    pub has_ended: bool,
    /// It is in the list of those that are received from.
    pub is_listed: bool,
    /// It is in the list of those that wait for memory.
    pub awaits_memory: bool,
    /// It is in the list of those that are sent something.
    pub is_answering: bool,
    /// The system was asked to tell when its socket takes something.
    pub awaits_room: bool,
    /// When it has last sent something.
    pub heard: Time,
}

/// What came of receiving or sending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moved {
    /// So many bytes.
    Bytes(usize),
    /// Nothing at the moment.
    Nothing,
    /// Nobody is there any more.
    Gone,
}

impl Client {
    /// One that has just come.
    pub fn new(socket: OwnedFd, name: u32, login: Option<Login>, now: Time) -> Client {
        Client {
            socket,
            name,
            login,
            slowed_until: None,
            input: Vec::new(),
            is_held: false,
            is_readable: true,
            is_writable: true,
            is_hung: false,
            has_ended: false,
            is_listed: false,
            awaits_memory: false,
            is_answering: false,
            awaits_room: false,
            heard: now,
        }
    }

    /// Receives into `room`, once.
    pub fn receive(&mut self, room: &mut [u8]) -> Moved {
        let offered = room.len();
        match net::recv(&self.socket, room, RecvFlags::empty()) {
            Ok((_, 0)) => {
                (self.has_ended, self.is_readable) = (true, false);
                Moved::Nothing
            }
            Ok((_, count)) => {
                self.is_readable = count == offered || self.is_hung;
                Moved::Bytes(count)
            }
            Err(Errno::AGAIN) => {
                self.is_readable = false;
                Moved::Nothing
            }
            Err(Errno::INTR) => Moved::Nothing,
            Err(_) => Moved::Gone,
        }
    }

    /// Sends of what is there as much as the socket takes, from the front.
    pub fn send(&mut self, send_queue: &SendQueue) -> Moved {
        let mut sent = 0;
        let mut pieces = send_queue.pieces().peekable();
        while self.is_writable
            && let Some(first) = pieces.next()
        {
            let (wanted, taken) = match pieces.peek() {
                None => (first.len(), retry_on_intr(|| net::send(&self.socket, first, SendFlags::NOSIGNAL))),
                Some(_) => self.send_several(first, &mut pieces),
            };
            match taken {
                Ok(count) => {
                    sent += count;
                    self.is_writable = count == wanted;
                }
                Err(Errno::AGAIN) => self.is_writable = false,
                Err(_) => return Moved::Gone,
            }
        }
        Moved::Bytes(sent)
    }

    /// Sends a piece and those behind it with one call. How many bytes these are, and how many were taken.
    fn send_several<'p>(
        &self,
        first: &'p [u8],
        more: &mut impl Iterator<Item = &'p [u8]>,
    ) -> (usize, Result<usize, Errno>) {
        let mut slices = [IoSlice::new(first); MOST_PIECES];
        let places = slices[1..].iter_mut().zip(more);
        let count = 1 + places.map(|(place, piece)| *place = IoSlice::new(piece)).count();
        let slices = &slices[..count];
        let send =
            || net::sendmsg(&self.socket, slices, &mut SendAncillaryBuffer::default(), SendFlags::NOSIGNAL);
        (slices.iter().map(|slice| slice.len()).sum(), retry_on_intr(send))
    }

    /// Keeps what was not taken.
    pub fn keep(&mut self, rest: &[u8]) {
        self.input.clear();
        if rest.is_empty() && self.input.capacity() > LEAST_INPUT {
            self.input = Vec::new();
        }
        self.input.reserve_exact(rest.len());
        self.input.extend_from_slice(rest);
    }
}

/// Of answers that leave with one call.
const MOST_PIECES: usize = 32;
/// Memory for half commands that a client keeps.
const LEAST_INPUT: usize = 4 << 10;
