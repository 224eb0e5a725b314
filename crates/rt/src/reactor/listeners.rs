//! The sockets on which an event loop accepts connections.

use super::{READABLE, Reactor, Token};
use crate::listener::{Listener, is_exhausted};
use rustix::event::epoll::EventFlags;
use std::io;
use std::os::fd::OwnedFd;
use tailcut_base::{Nanos, Time};

/// Listening sockets. Accepting can be paused: while the system is out of descriptors, a connection that
/// stays pending would wake the thread again and again.
#[derive(Debug)]
pub struct Listeners {
    sockets: Vec<Listener>,
    /// Number of the first socket as a source of the loop; the others follow.
    first: u32,
    /// Accepting is paused until then; [`Time::NEVER`] if it is not.
    resumes: Time,
}

/// Result of accepting.
#[derive(Debug)]
pub enum Accepted {
    /// A connection, not blocking.
    Connection(OwnedFd),
    /// A connection that its peer has ended before.
    Aborted,
    /// No connection is pending.
    Nothing,
    /// A connection is pending, but the system has no descriptor or memory for it.
    Exhausted,
}

impl Listeners {
    /// Listeners that are the sources from `first` on of their loop.
    pub fn new(sockets: Vec<Listener>, first: u32) -> Listeners {
        Listeners { sockets, first, resumes: Time::NEVER }
    }

    /// Watches the sockets for connections.
    ///
    /// # Errors
    /// If the system is out of memory for it.
    pub fn watch<M>(&self, reactor: &Reactor<M>) -> io::Result<()> {
        self.tokens().try_for_each(|(socket, token)| reactor.watch(socket, token, READABLE))
    }

    /// Accepts the next connection of the socket that is this source of the loop.
    pub fn accept(&self, source: u32) -> Accepted {
        let Some(listener) = self.sockets.get((source - self.first) as usize) else {
            return Accepted::Nothing;
        };
        match listener.accept() {
            Ok(socket) => Accepted::Connection(socket),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Accepted::Nothing,
            Err(error) if is_exhausted(&error) => Accepted::Exhausted,
            Err(_) => Accepted::Aborted,
        }
    }

    /// Pauses accepting for a while.
    pub fn pause<M>(&mut self, reactor: &Reactor<M>, now: Time) {
        self.tokens().for_each(|(socket, token)| reactor.watch_for(socket, token, EventFlags::empty()));
        self.resumes = now + PAUSE;
    }

    /// Resumes accepting, if the pause has ended.
    pub fn resume<M>(&mut self, reactor: &Reactor<M>, now: Time) {
        if self.resumes <= now {
            self.resumes = Time::NEVER;
            self.tokens().for_each(|(socket, token)| reactor.watch_for(socket, token, READABLE));
        }
    }

    /// When [`Listeners::resume`] is due; [`Time::NEVER`] if accepting is not paused.
    pub fn resumes(&self) -> Time {
        self.resumes
    }

    /// Closes the sockets for good, and removes those in the file system.
    pub fn close(&mut self) {
        self.sockets.clear();
        self.resumes = Time::NEVER;
    }

    /// The sockets that connections are accepted on; none once they are closed.
    pub fn sockets(&self) -> &[Listener] {
        &self.sockets
    }

    fn tokens(&self) -> impl Iterator<Item = (&Listener, Token)> {
        self.sockets.iter().zip((self.first..).map(Token::source))
    }
}

/// How long accepting is paused.
pub(super) const PAUSE: Nanos = Nanos::millis(100);
