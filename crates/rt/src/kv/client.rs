//! The socket of a connection.

use super::binary::Binary;
use super::connections::Connection;
use super::throttle::Peer;
use crate::reactor::Socket;
use rustix::io::Errno;
use std::io::IoSlice;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use tailcut_base::Time;
use tailcut_host::kv::session::send_queue::SendQueue;
use tailcut_host::wire::memcached::Login;

/// A connection with its socket state. The service parses its commands.
#[derive(Debug)]
pub(super) struct Client {
    /// The socket of the connection, with its readiness.
    pub socket: Socket,
    /// The connection as others see it.
    connection: Arc<Connection>,
    /// Present for a client of the binary protocol.
    binary: Option<Box<Binary>>,
    /// Nothing has been received yet.
    is_fresh: bool,
    /// Number by which the service identifies the connection.
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
    /// End of input was reached.
    pub has_ended: bool,
    /// True while the connection is listed as one to receive from.
    pub is_listed: bool,
    /// True while the connection is queued for memory.
    pub awaits_memory: bool,
    /// True while the connection is listed as one to send to.
    pub is_answering: bool,
    /// When data was last received.
    pub heard: Time,
}

impl Client {
    /// A new connection.
    pub(super) fn new(
        socket: OwnedFd,
        connection: Arc<Connection>,
        name: u32,
        login: Option<Login>,
        now: Time,
    ) -> Client {
        Client {
            socket: Socket::new(socket),
            connection,
            binary: None,
            is_fresh: true,
            name,
            login,
            slowed_until: None,
            input: Vec::new(),
            is_held: false,
            has_ended: false,
            is_listed: false,
            awaits_memory: false,
            is_answering: false,
            heard: now,
        }
    }

    /// The client of the connection.
    pub(super) fn peer(&self) -> Peer {
        self.connection.peer()
    }

    /// True if received bytes are not of the text protocol.
    pub(super) fn is_binary(&self) -> bool {
        self.binary.is_some()
    }

    /// The input of the text protocol for what was received from a client of the binary protocol, behind what
    /// is left of it. None for other clients. `has_users` if clients have to log in.
    pub(super) fn translate(&mut self, received: &[u8], has_users: bool) -> Option<Vec<u8>> {
        if std::mem::take(&mut self.is_fresh) {
            self.binary = Binary::detect(received, has_users);
        }
        let binary = self.binary.as_mut()?;
        let mut input = std::mem::take(&mut self.input);
        binary.receive(received, &mut input);
        Some(input)
    }

    /// True if replies are left to be sent that are not in the send queue any more.
    pub(super) fn has_unsent(&self) -> bool {
        self.binary.as_ref().is_some_and(|binary| !binary.is_sent())
    }

    /// Data was received.
    pub(super) fn note_receipt(&mut self, now: Time) {
        self.heard = now;
        self.connection.note_activity(now);
    }

    /// Sends as much from the front of the queue as the socket takes; returns the number of bytes taken from
    /// it.
    ///
    /// # Errors
    /// If the peer has disconnected.
    pub(super) fn send(&mut self, send_queue: &SendQueue) -> Result<usize, Errno> {
        if let Some(binary) = &mut self.binary {
            return binary.send(&mut self.socket, send_queue);
        }
        let mut sent = 0;
        let mut pieces = send_queue.pieces().peekable();
        while self.socket.has_room
            && let Some(first) = pieces.next()
        {
            sent += match pieces.peek() {
                None => self.socket.send(&[IoSlice::new(first)])?,
                Some(_) => {
                    let mut slices = [IoSlice::new(first); MOST_PIECES];
                    let places = slices[1..].iter_mut().zip(&mut pieces);
                    let count = 1 + places.map(|(place, piece)| *place = IoSlice::new(piece)).count();
                    self.socket.send(&slices[..count])?
                }
            };
        }
        Ok(sent)
    }

    /// Keeps unprocessed input.
    pub(super) fn keep(&mut self, rest: &[u8]) {
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
