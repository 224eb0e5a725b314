//! Control from outside: a server is asked and steered on a socket, in the words of `tailcut_host::wire::ctl`, and
//! read by Prometheus over HTTP.
//!
//! Who listens here does not know the drives: what is asked is answered by whoever serves them ([`Steered`]),
//! between its requests, so that nothing is locked and what is told is of one moment. What a peer can cost is bounded:
//! there are few of them, each has one question under way, and one that does not read its answer or talks too
//! long is hung up on.

mod figures;
mod health;
mod http;
mod steered;
mod steering;

pub use figures::histogram;
pub use health::{ArrayHealth, Health, presence_name};
pub use http::MetricsPage;
pub use steered::Steered;
pub use steering::{Answer, Question, Steering};

use crate::serve::address::{CannotListen, Listener};
use crate::serve::{Access, Address};
use rustix::event::epoll;
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use tailcut_host::wire::ctl::{self, LINE_MAX};

/// The socket and who is connected.
#[derive(Debug)]
pub struct ControlSocket {
    listener: Listener,
    /// Readable when somebody has come or said something.
    wakes: OwnedFd,
    peers: Vec<Option<Peer>>,
}

#[derive(Debug)]
struct Peer {
    stream: UnixStream,
    heard: Vec<u8>,
}

/// Peers at a time; who comes beyond them is hung up on.
const PEERS: usize = 16;

impl ControlSocket {
    /// Makes the socket, for its owner only. One that a process has left behind is replaced.
    ///
    /// # Errors
    /// When another process listens there, or the system refuses.
    pub fn bind(path: &Path) -> Result<ControlSocket, CannotListen> {
        let address = Address::Unix(path.to_path_buf());
        let listener = Listener::bind(&address, &Access::default())?;
        let watch = || -> io::Result<OwnedFd> {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
            let wakes = epoll::create(epoll::CreateFlags::CLOEXEC)?;
            epoll::add(&wakes, &listener, epoll::EventData::new_u64(0), epoll::EventFlags::IN)?;
            Ok(wakes)
        };
        let wakes = watch().map_err(|error| CannotListen::System(address, error))?;
        Ok(ControlSocket { listener, wakes, peers: Vec::new() })
    }

    /// What becomes readable when it wants to be served.
    pub fn wakes(&self) -> BorrowedFd<'_> {
        self.wakes.as_fd()
    }

    /// Has `answer` answer the lines that have come.
    pub fn serve(&mut self, mut answer: impl FnMut(&str) -> String) {
        while let Ok(socket) = self.listener.accept() {
            self.welcome(UnixStream::from(socket));
        }
        for place in 0..self.peers.len() {
            let Some(peer) = &mut self.peers[place] else { continue };
            if !peer.attend(&mut answer) {
                self.peers[place] = None;
            }
        }
    }

    fn welcome(&mut self, stream: UnixStream) {
        let place = match self.peers.iter().position(Option::is_none) {
            Some(place) => place,
            None if self.peers.len() < PEERS => {
                self.peers.push(None);
                self.peers.len() - 1
            }
            None => return,
        };
        let data = epoll::EventData::new_u64(1 + place as u64);
        if epoll::add(&self.wakes, &stream, data, epoll::EventFlags::IN).is_ok() {
            self.peers[place] = Some(Peer { stream, heard: Vec::new() });
        }
    }
}

impl Peer {
    /// Answers what it has said; false when it is gone or to be hung up on.
    fn attend(&mut self, answer: &mut impl FnMut(&str) -> String) -> bool {
        let mut bytes = [0; LINE_MAX];
        match self.stream.read(&mut bytes) {
            Ok(0) => return false,
            Ok(count) => self.heard.extend_from_slice(&bytes[..count]),
            Err(why) if why.kind() == ErrorKind::WouldBlock => {}
            Err(_) => return false,
        }
        while let Some(end) = self.heard.iter().position(|&byte| byte == b'\n') {
            let line: Vec<u8> = self.heard.drain(..=end).collect();
            if !self.say(&answer(&String::from_utf8_lossy(&line[..end]))) {
                return false;
            }
        }
        if self.heard.len() < LINE_MAX {
            return true;
        }
        self.say(&ctl::refusal("that line is too long"));
        false
    }

    /// False when it does not listen: what it has room for is more than any answer is long, so it is full of
    /// answers that nobody reads.
    fn say(&mut self, text: &str) -> bool {
        self.stream.write_all(format!("{text}\n").as_bytes()).is_ok()
    }
}

/// Asks a running server; returns its answer.
///
/// # Errors
/// When nobody listens there, or hangs up.
pub fn ask(path: &Path, line: &str) -> io::Result<String> {
    let mut stream = UnixStream::connect(path)?;
    stream.write_all(format!("{line}\n").as_bytes())?;
    let mut answer = String::new();
    for line in BufReader::new(stream).lines() {
        match line? {
            line if line.is_empty() => return Ok(answer),
            line => answer.extend([line.as_str(), "\n"]),
        }
    }
    Err(io::Error::new(ErrorKind::UnexpectedEof, "it has hung up before its answer was complete"))
}

#[cfg(test)]
mod tests;
