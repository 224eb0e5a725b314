//! A connected socket and what is known of its readiness.

use super::{Event, Reactor, Token};
use rustix::event::epoll::EventFlags;
use rustix::io::{Errno, retry_on_intr};
use rustix::net::{RecvFlags, SendAncillaryBuffer, SendFlags, recv, send, sendmsg};
use std::io::{self, IoSlice};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// A socket that does not block, watched edge-triggered: readiness lasts until a call would block. It is
/// watched for room only while it is full: a unix socket signals room whenever its peer reads.
#[derive(Debug)]
pub struct Socket {
    fd: OwnedFd,
    /// Whether receiving may return data; cleared by a call that would block or returned less than its room.
    pub is_readable: bool,
    /// Whether sending may take data; cleared by a call that took less than it was offered.
    pub has_room: bool,
    is_hung: bool,
    is_gone: bool,
    awaits_room: bool,
}

/// Result of receiving.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Received {
    /// This many bytes were received.
    Bytes(usize),
    /// The call would block.
    Nothing,
    /// The peer has ended its side, and all of its data was received.
    End,
    /// The connection has failed.
    Failed,
}

impl Socket {
    /// A socket of unknown readiness.
    pub fn new(fd: OwnedFd) -> Socket {
        let (is_hung, is_gone, awaits_room) = (false, false, false);
        Socket { fd, is_readable: true, has_room: true, is_hung, is_gone, awaits_room }
    }

    /// Watches it for data and its end.
    ///
    /// # Errors
    /// If the system is out of memory for it.
    pub fn watch<M>(&self, reactor: &Reactor<M>, token: Token) -> io::Result<()> {
        reactor.watch(self, token, ARRIVING)
    }

    /// Watches it for room if it is full, and not otherwise.
    pub fn watch_for_room<M>(&mut self, reactor: &Reactor<M>, token: Token) {
        if self.awaits_room == self.has_room {
            self.awaits_room = !self.has_room;
            let room = if self.awaits_room { EventFlags::OUT } else { EventFlags::empty() };
            reactor.watch_for(&*self, token, ARRIVING | room);
        }
    }

    /// Records the readiness that an event of this socket reports.
    pub fn note(&mut self, event: Event) {
        self.is_gone |= event.is_gone();
        self.is_hung |= event.is_hung();
        self.is_readable |= event.has_arrived();
        self.has_room |= event.has_room() || event.is_gone();
    }

    /// The peer has ended its side; data in front of that may be unread.
    pub fn is_hung(&self) -> bool {
        self.is_hung
    }

    /// The peer is gone: nothing reaches it any more.
    pub fn is_gone(&self) -> bool {
        self.is_gone
    }

    /// Receives into `buffer` with one call; returns [`Received::Nothing`] if no data has arrived.
    pub fn receive(&mut self, buffer: &mut [u8]) -> Received {
        self.receive_by(buffer.len(), |fd| recv(fd, &mut *buffer, RecvFlags::empty()).map(|(_, count)| count))
    }

    /// Receives by another call, which has room for `offered` bytes.
    pub fn receive_by(
        &mut self,
        offered: usize,
        mut call: impl FnMut(BorrowedFd<'_>) -> Result<usize, Errno>,
    ) -> Received {
        let received = retry_on_intr(|| call(self.fd.as_fd()));
        // An end that was announced together with the last bytes is announced by no further edge.
        self.is_readable = received.is_ok_and(|count| count > 0 && (count == offered || self.is_hung));
        match received {
            Ok(0) => Received::End,
            Ok(count) => Received::Bytes(count),
            Err(Errno::AGAIN) => Received::Nothing,
            Err(_) => Received::Failed,
        }
    }

    /// Sends with one call. Returns how many bytes were taken: none if it is full.
    ///
    /// # Errors
    /// If the connection has failed.
    pub fn send(&mut self, slices: &[IoSlice<'_>]) -> Result<usize, Errno> {
        let offered: usize = slices.iter().map(|slice| slice.len()).sum();
        let sent = retry_on_intr(|| match slices {
            [one] => send(&self.fd, one, SendFlags::NOSIGNAL),
            _ => sendmsg(&self.fd, slices, &mut SendAncillaryBuffer::default(), SendFlags::NOSIGNAL),
        });
        let sent = if sent == Err(Errno::AGAIN) { Ok(0) } else { sent };
        self.has_room = sent == Ok(offered);
        sent
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Events that a socket is always watched for.
const ARRIVING: EventFlags = EventFlags::IN.union(EventFlags::RDHUP).union(EventFlags::ET);
