//! One of the two sockets of a link.

use rustix::event::epoll::EventFlags;
use rustix::io::Errno;
use rustix::net::{SendAncillaryBuffer, SendFlags, sendmsg};
use std::io::{self, IoSlice, Write};
use std::os::fd::OwnedFd;

/// A socket and its state. It is watched edge-triggered: readiness lasts until a call would block.
#[derive(Debug)]
pub struct WatchedSocket {
    /// Non-blocking.
    pub socket: OwnedFd,
    /// The socket may have data.
    pub is_readable: bool,
    /// The peer has shut down its side: the socket is read to the end.
    pub is_hung: bool,
    /// The socket may accept data.
    pub has_room: bool,
    /// epoll watches for writability: only while the socket is full, as some sockets signal it whenever their
    /// peer reads.
    pub awaits_room: bool,
}

impl WatchedSocket {
    /// A socket in unknown state.
    pub fn new(socket: OwnedFd) -> WatchedSocket {
        WatchedSocket { socket, is_readable: true, is_hung: false, has_room: true, awaits_room: false }
    }

    /// Events to watch for.
    pub fn interest(&self) -> EventFlags {
        if self.has_room { ARRIVING } else { ARRIVING | EventFlags::OUT }
    }

    /// Records events.
    pub fn note(&mut self, flags: EventFlags) {
        let is_gone = flags.intersects(EventFlags::HUP | EventFlags::ERR);
        self.is_hung |= is_gone || flags.contains(EventFlags::RDHUP);
        self.is_readable |= self.is_hung || flags.contains(EventFlags::IN);
        self.has_room |= is_gone || flags.contains(EventFlags::OUT);
    }

    /// Reads available bytes; zero at the end of input, and on a failed socket.
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
            // If the end was announced together with the last bytes, no further edge announces it.
            self.is_readable = count == buffer.len() || (self.is_hung && count > 0);
            return Some(count);
        }
    }
}

impl Write for WatchedSocket {
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

/// Events that are always watched.
const ARRIVING: EventFlags = EventFlags::IN.union(EventFlags::RDHUP).union(EventFlags::ET);
