//! A connection, as far as its socket goes.

use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags};
use std::os::fd::OwnedFd;
use tailcut_base::Time;
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
    /// What was received and not taken.
    pub input: Vec<u8>,
    /// Not because it is half a command, but because the service took no more: it goes on when it does, also without further input, as
    /// an answer may be in the middle.
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
            input: Vec::new(),
            is_held: false,
            is_readable: true,
            is_writable: true,
            is_hung: false,
            has_ended: false,
            is_listed: false,
            is_answering: false,
            awaits_room: false,
            heard: now,
        }
    }

    /// Receives into `room`, once.
    pub fn receive(&mut self, room: &mut [u8]) -> Moved {
        let offered = room.len();
        match rustix::net::recv(&self.socket, room, RecvFlags::empty()) {
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

    /// Sends from the front of `out` what the socket takes, and takes it away there.
    pub fn send(&mut self, out: &mut Vec<u8>) -> Moved {
        let mut sent = 0;
        while self.is_writable && sent < out.len() {
            match rustix::net::send(&self.socket, &out[sent..], SendFlags::NOSIGNAL) {
                Ok(count) => {
                    sent += count;
                    self.is_writable = sent == out.len();
                }
                Err(Errno::AGAIN) => self.is_writable = false,
                Err(Errno::INTR) => {}
                Err(_) => return Moved::Gone,
            }
        }
        out.drain(..sent);
        // Who is sent much now will be sent much again.
        if out.is_empty() && out.capacity() > MOST_KEPT.max(sent * 4) {
            *out = Vec::new();
        }
        Moved::Bytes(sent)
    }

    /// Keeps what was not taken.
    pub fn keep(&mut self, rest: &[u8]) {
        self.input.clear();
        if rest.is_empty() && self.input.capacity() > LEAST_INPUT {
            self.input = Vec::new();
        }
        self.input.extend_from_slice(rest);
    }
}

/// Memory for answers that a client keeps between its commands.
const MOST_KEPT: usize = 64 << 10;
/// Memory for half commands that a client keeps.
const LEAST_INPUT: usize = 4 << 10;
