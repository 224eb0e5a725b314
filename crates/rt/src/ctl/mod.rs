//! Control plane: a server answers status queries and admin commands on a Unix socket, in the protocol of
//! `tailcut_host::wire::ctl`, and exports metrics to Prometheus over HTTP.
//!
//! The sockets do not know the drives: the thread that serves the drives ([`Steered`]) answers each query
//! between two requests, so no lock is needed and a reply is a consistent snapshot. The cost of a peer is
//! bounded: the number of peers is limited, each has one request in flight, and one that does not read its
//! replies or sends an overlong line is disconnected. When there are too many peers, or the system is out of
//! descriptors, the peer that has been silent longest is disconnected to make room for the new one.

mod figures;
mod health;
mod http;
mod process;
mod steered;
mod steering;

pub use figures::histogram;
pub use health::{ArrayHealth, Health, presence_name};
pub use http::MetricsPage;
pub(crate) use process::{count as count_process, describe as describe_process};
pub use steered::Steered;
pub use steering::{AdminRequest, Answer, Steering};

use crate::listener::{Address, BindOptions, CannotListen, Listener};
use crate::reactor::{Accepted, Listeners, READABLE, Reactor, Token};
use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use tailcut_base::Time;
use tailcut_host::wire::ctl::{self, LINE_MAX};

/// The control socket and its connected peers.
#[derive(Debug)]
pub struct ControlSocket {
    listeners: Listeners,
    /// Sorted by silence: the peer that has been silent longest comes first.
    peers: VecDeque<Peer>,
    /// A spare descriptor, released to accept the operator's connection when the system has none left.
    reserve: Option<OwnedFd>,
}

#[derive(Debug)]
struct Peer {
    stream: UnixStream,
    heard: Vec<u8>,
}

/// Maximum number of peers; one more disconnects the peer that has been silent longest.
const PEERS: usize = 16;

/// Result of a read from a peer.
enum Heard {
    Nothing,
    Something,
    /// The peer has disconnected, or has to be disconnected.
    End,
}

impl ControlSocket {
    /// Creates the socket, accessible to its owner only. A stale socket of a process that has exited is
    /// replaced.
    ///
    /// # Errors
    /// If another process listens on `path`, or a system call fails.
    pub fn bind(path: &Path) -> Result<ControlSocket, CannotListen> {
        let address = Address::Unix(path.to_path_buf());
        let options = BindOptions::default().permissions(Some(0o600));
        let listener = Listener::bind(&address, options)?;
        let reserve = spare(&listener).map_err(|error| CannotListen::System(address, error))?;
        let (listeners, peers) = (Listeners::new(vec![listener], CONTROL), VecDeque::new());
        Ok(ControlSocket { listeners, peers, reserve: Some(reserve) })
    }

    /// Watches the socket for connections.
    ///
    /// # Errors
    /// If the system is out of memory for it.
    pub(crate) fn watch<M>(&self, reactor: &Reactor<M>) -> io::Result<()> {
        self.listeners.watch(reactor)
    }

    /// When [`ControlSocket::serve`] is due without an event: a connection is pending for which the system
    /// has no descriptor.
    pub(crate) fn resumes(&self) -> Time {
        self.listeners.resumes()
    }

    /// Accepts pending connections and replies to each received line with the result of `answer`.
    pub(crate) fn serve<M>(
        &mut self,
        reactor: &Reactor<M>,
        now: Time,
        mut answer: impl FnMut(&str) -> String,
    ) {
        self.listeners.resume(reactor, now);
        while self.listeners.resumes() == Time::NEVER {
            match self.listeners.accept(CONTROL) {
                Accepted::Connection(socket) => self.welcome(reactor, socket.into(), &mut answer),
                Accepted::Nothing => break,
                Accepted::Exhausted if self.make_room(&mut answer) => {}
                Accepted::Exhausted => self.listeners.pause(reactor, now),
                Accepted::Aborted => {}
            }
        }
        self.serve_peers(&mut answer);
        if self.reserve.is_none() {
            self.reserve = self.listeners.sockets().first().and_then(|socket| spare(socket).ok());
        }
    }

    /// Answers all peers that have sent a line, and moves them to the end: they are disconnected last.
    fn serve_peers(&mut self, answer: &mut impl FnMut(&str) -> String) {
        let mut heard = VecDeque::new();
        for mut peer in std::mem::take(&mut self.peers) {
            match peer.serve(answer) {
                Heard::Nothing => self.peers.push_back(peer),
                Heard::Something => heard.push_back(peer),
                Heard::End => {}
            }
        }
        self.peers.append(&mut heard);
    }

    fn welcome<M>(
        &mut self,
        reactor: &Reactor<M>,
        stream: UnixStream,
        answer: &mut impl FnMut(&str) -> String,
    ) {
        if self.peers.len() >= PEERS {
            self.evict(answer);
        }
        if reactor.watch(&stream, Token::source(PEER), READABLE).is_ok() {
            self.peers.push_back(Peer { stream, heard: Vec::new() });
        }
    }

    /// Frees a descriptor for a pending connection; false if there is none to free.
    fn make_room(&mut self, answer: &mut impl FnMut(&str) -> String) -> bool {
        self.reserve.take().is_some() || self.evict(answer)
    }

    /// Reads from all peers once more, and then disconnects the one that has been silent longest unless
    /// another has gone. False if there are no peers.
    fn evict(&mut self, answer: &mut impl FnMut(&str) -> String) -> bool {
        let before = self.peers.len();
        self.serve_peers(answer);
        self.peers.len() < before || self.peers.pop_front().is_some()
    }
}

/// A descriptor to be released later.
fn spare(listener: &Listener) -> io::Result<OwnedFd> {
    listener.as_fd().try_clone_to_owned()
}

/// Sources of the loop that serves the sockets: listeners, and all peers of both.
const CONTROL: u32 = 0;
const METRICS: u32 = 1;
const PEER: u32 = 2;

impl Peer {
    /// Reads what the peer has sent, and answers each complete line.
    fn serve(&mut self, answer: &mut impl FnMut(&str) -> String) -> Heard {
        let mut bytes = [0; LINE_MAX];
        match self.stream.read(&mut bytes) {
            Ok(0) => return Heard::End,
            Ok(count) => self.heard.extend_from_slice(&bytes[..count]),
            Err(why) if why.kind() == ErrorKind::WouldBlock => return Heard::Nothing,
            Err(_) => return Heard::End,
        }
        while let Some(end) = self.heard.iter().position(|&byte| byte == b'\n') {
            let line: Vec<u8> = self.heard.drain(..=end).collect();
            if !self.send(&answer(&String::from_utf8_lossy(&line[..end]))) {
                return Heard::End;
            }
        }
        if self.heard.len() < LINE_MAX {
            return Heard::Something;
        }
        self.send(&ctl::refusal("that line is too long"));
        Heard::End
    }

    /// Sends a reply; false if the peer does not read: the socket buffer is larger than any reply, so it is
    /// full only with unread replies.
    fn send(&mut self, text: &str) -> bool {
        self.stream.write_all(format!("{text}\n").as_bytes()).is_ok()
    }
}

/// Sends one line to a running server and returns its reply.
///
/// # Errors
/// If no server listens on `path`, or the connection closes before the reply is complete;
/// [`ErrorKind::InvalidData`] if the socket is one for clients of the server, with its kind.
pub fn ask(path: &Path, line: &str) -> io::Result<String> {
    let mut stream = UnixStream::connect(path)?;
    stream.write_all(format!("{line}\n").as_bytes())?;
    let mut reader = BufReader::new(stream);
    let mut answer = Vec::new();
    loop {
        let mut line = Vec::new();
        // A server that does not expect the command may reset the connection after its first bytes.
        let read = reader.read_until(b'\n', &mut line);
        if let Some(kind) = kind_of_clients(&line).filter(|_| answer.is_empty()) {
            return Err(io::Error::new(ErrorKind::InvalidData, kind));
        }
        if read? == 0 {
            let why = "it has hung up before its answer was complete";
            return Err(io::Error::new(ErrorKind::UnexpectedEof, why));
        }
        if line == b"\n" {
            return String::from_utf8(answer).map_err(|why| io::Error::new(ErrorKind::InvalidData, why));
        }
        answer.append(&mut line);
    }
}

/// What a socket is for whose server begins with these bytes, if it is for clients.
fn kind_of_clients(line: &[u8]) -> Option<&'static str> {
    if line.starts_with(b"NBDMAGIC") {
        Some("the socket of an export, for NBD clients")
    } else if line.starts_with(b"ERROR\r\n") || line.starts_with(b"CLIENT_ERROR ") {
        Some("the socket of a key-value server, for memcached clients")
    } else if line.starts_with(b"HTTP/") {
        Some("a socket for HTTP")
    } else {
        None
    }
}

#[cfg(test)]
mod tests;
