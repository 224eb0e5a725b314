//! The socket of a connection.

use rustix::io::{Errno, retry_on_intr};
use rustix::net::{self, RecvFlags, SendAncillaryBuffer, SendFlags};
use std::io::IoSlice;
use std::os::fd::OwnedFd;
use tailcut_base::Time;
use tailcut_host::kv::session::send_queue::SendQueue;
use tailcut_host::wire::memcached::Login;

/// A connection with its socket state. The service parses its commands.
#[derive(Debug)]
pub struct Client {
    /// Non-blocking.
    pub socket: OwnedFd,
    /// Its name in the service.
    pub name: u32,
    /// State of the login that the client has to complete first.
    pub login: Option<Login>,
    /// Logins from its address failed: until this time no more input is processed.
    pub slowed_until: Option<Time>,
    /// Received and not yet processed.
    pub input: Vec<u8>,
    /// Input is left because the service took no more, not because a command is incomplete: processing
    /// resumes when the service can, even without further input, since a reply may be in progress.
    pub is_held: bool,
    /// The socket may have data.
    pub is_readable: bool,
    /// The socket may accept data.
    pub is_writable: bool,
    /// The peer has shut down its side; data in front of that may be unread.
    pub is_hung: bool,
    /// End of input was reached.
    pub has_ended: bool,
    /// It is in the list of connections to receive from.
    pub is_listed: bool,
    /// It is in the queue of connections that wait for memory.
    pub awaits_memory: bool,
    /// It is in the list of connections to send to.
    pub is_answering: bool,
    /// epoll watches for the socket to become writable.
    pub awaits_room: bool,
    /// When data was last received.
    pub heard: Time,
}

/// Result of receiving or sending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transfer {
    /// Number of bytes transferred.
    Bytes(usize),
    /// The call would block.
    Nothing,
    /// The peer has disconnected.
    Gone,
}

impl Client {
    /// A new connection.
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

    /// Receives into `room`, with one call.
    pub fn receive(&mut self, room: &mut [u8]) -> Transfer {
        let offered = room.len();
        match net::recv(&self.socket, room, RecvFlags::empty()) {
            Ok((_, 0)) => {
                (self.has_ended, self.is_readable) = (true, false);
                Transfer::Nothing
            }
            Ok((_, count)) => {
                self.is_readable = count == offered || self.is_hung;
                Transfer::Bytes(count)
            }
            Err(Errno::AGAIN) => {
                self.is_readable = false;
                Transfer::Nothing
            }
            Err(Errno::INTR) => Transfer::Nothing,
            Err(_) => Transfer::Gone,
        }
    }

    /// Sends as much from the front of the queue as the socket takes.
    pub fn send(&mut self, send_queue: &SendQueue) -> Transfer {
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
                Err(_) => return Transfer::Gone,
            }
        }
        Transfer::Bytes(sent)
    }

    /// Sends a piece and those behind it with one call. Returns their bytes, and how many were sent.
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

    /// Keeps unprocessed input.
    pub fn keep(&mut self, rest: &[u8]) {
        self.input.clear();
        if rest.is_empty() && self.input.capacity() > LEAST_INPUT {
            self.input = Vec::new();
        }
        self.input.reserve_exact(rest.len());
        self.input.extend_from_slice(rest);
    }
}

/// Maximum number of pieces sent with one call.
const MOST_PIECES: usize = 32;
/// Capacity for incomplete commands that a client keeps.
const LEAST_INPUT: usize = 4 << 10;
