//! One of the two sockets of a link.

use rustix::event::epoll::EventFlags;
use rustix::io::Errno;
use rustix::net::{SendAncillaryBuffer, SendFlags, sendmsg};
use std::io::{self, IoSlice, Write};
use std::os::fd::OwnedFd;

/// A socket and what is known of it. It is watched for edges: what is there once is there until a call says
/// otherwise.
#[derive(Debug)]
pub struct Side {
    /// The socket, not blocking.
    pub socket: OwnedFd,
    /// There may be something to be read.
    pub is_readable: bool,
    /// The peer has shut down its side: the socket is read to the end.
    pub is_hung: bool,
    /// It may take something.
    pub has_room: bool,
    /// It is watched for room: only while it has none, as some sockets announce room whenever their peer
    /// reads.
    pub awaits_room: bool,
}

impl Side {
    /// A socket of which nothing is known.
    pub fn new(socket: OwnedFd) -> Side {
        Side { socket, is_readable: true, is_hung: false, has_room: true, awaits_room: false }
    }

    /// What it has to be watched for.
    pub fn interest(&self) -> EventFlags {
        if self.has_room { ARRIVING } else { ARRIVING | EventFlags::OUT }
    }

    /// Takes note of what has happened.
    pub fn note(&mut self, flags: EventFlags) {
        let is_gone = flags.intersects(EventFlags::HUP | EventFlags::ERR);
        self.is_hung |= is_gone || flags.contains(EventFlags::RDHUP);
        self.is_readable |= self.is_hung || flags.contains(EventFlags::IN);
        self.has_room |= is_gone || flags.contains(EventFlags::OUT);
    }

    /// Reads what is there; zero bytes at the end, and of a socket that has failed.
    pub fn read(&mut self, buffer: &mut [u8]) -> Option<usize> {
        loop {
            let count = match rustix::io::read(&self.socket, &mut *buffer) {
                Ok(count) => count,
                Err(Errno::INTR) => continue,
                Err(Errno::AGAIN) => {
                    self.is_readable = false;
                    return None;
                }
                Err(_) => 0,
            };
            // No edge announces the end behind the last bytes once it has been announced with them.
            self.is_readable = count == buffer.len() || (self.is_hung && count > 0);
            return Some(count);
        }
    }
}

impl Write for Side {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_vectored(&[IoSlice::new(bytes)])
    }

    fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        loop {
            match sendmsg(&self.socket, slices, &mut SendAncillaryBuffer::default(), SendFlags::NOSIGNAL) {
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => {
                    self.has_room = false;
                    return Err(io::ErrorKind::WouldBlock.into());
                }
                sent => return Ok(sent?),
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What a socket is always watched for.
const ARRIVING: EventFlags = EventFlags::IN.union(EventFlags::RDHUP).union(EventFlags::ET);
