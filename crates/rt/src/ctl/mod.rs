//! Control from outside: a server is asked and steered on a socket, in the words of
//! `tailcut_host::wire::ctl`, and read by Prometheus over HTTP.
//!
//! Who listens here does not know the drives: what is asked is answered by whoever serves them ([`Steered`]),
//! between its requests, so that nothing is locked and what is told is of one moment. What a peer can cost is
//! bounded: there are few of them, each has one request under way, and one that does not read its answer or
//! talks too long is hung up on. Where there are too many, or the system has no descriptors left, the one
//! that has said nothing for longest makes room for who comes.

mod figures;
mod health;
mod http;
mod steered;
mod steering;

pub use figures::histogram;
pub use health::{ArrayHealth, Health, presence_name};
pub use http::MetricsPage;
pub use steered::Steered;
pub use steering::{AdminRequest, Answer, Steering};

use crate::serve::acceptor::is_exhausted;
use crate::serve::address::{CannotListen, Listener};
use crate::serve::{Access, Address};
use rustix::event::{Timespec, epoll};
use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use tailcut_host::wire::ctl::{self, LINE_MAX};

/// The socket and who is connected.
#[derive(Debug)]
pub struct ControlSocket {
    listener: Listener,
    /// Readable when somebody has come or said something.
    wakes: OwnedFd,
    /// The one that has said nothing for longest first.
    peers: VecDeque<Peer>,
    /// A descriptor for the operator, who is needed most when the system has none left.
    reserve: Option<OwnedFd>,
    /// The system has no descriptor for somebody who has come.
    is_short: bool,
}

#[derive(Debug)]
struct Peer {
    stream: UnixStream,
    heard: Vec<u8>,
}

/// Peers at a time; when one more comes, the one goes that has said nothing for longest.
const PEERS: usize = 16;

/// What was heard of a peer.
enum Heard {
    Nothing,
    Something,
    /// It is gone, or to be hung up on.
    End,
}

/// What became of somebody who may have come.
#[derive(Debug)]
enum Accepted {
    Socket(OwnedFd),
    Nobody,
    /// Somebody is there, and the system has no descriptor or memory for that.
    NoRoom,
}

fn accept(listener: &Listener) -> Accepted {
    loop {
        match listener.accept() {
            Ok(socket) => return Accepted::Socket(socket),
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Accepted::Nobody,
            Err(error) if is_exhausted(&error) => return Accepted::NoRoom,
            // Who was gone before being taken.
            Err(_) => {}
        }
    }
}

/// Takes note of edges: what has come is looked at now. Peers who have said something stay readable until
/// they are read.
fn acknowledge(wakes: &OwnedFd) {
    let mut events = [MaybeUninit::uninit(); 32];
    let zero = Timespec { tv_sec: 0, tv_nsec: 0 };
    // Interrupted or not: at the worst it is woken once more.
    let _ = epoll::wait(wakes, &mut events, Some(&zero));
}

/// Only edges: who comes while the system has no descriptors must not wake the thread again and again.
const LISTENING: epoll::EventFlags = epoll::EventFlags::IN.union(epoll::EventFlags::ET);

impl ControlSocket {
    /// Makes the socket, for its owner only. One that a process has left behind is replaced.
    ///
    /// # Errors
    /// When another process listens there, or the system refuses.
    pub fn bind(path: &Path) -> Result<ControlSocket, CannotListen> {
        let address = Address::Unix(path.to_path_buf());
        let access = Access { permissions: Some(0o600), ..Access::default() };
        let listener = Listener::bind(&address, &access)?;
        let watch = || -> io::Result<(OwnedFd, OwnedFd)> {
            let wakes = epoll::create(epoll::CreateFlags::CLOEXEC)?;
            epoll::add(&wakes, &listener, epoll::EventData::new_u64(0), LISTENING)?;
            let reserve = wakes.try_clone()?;
            Ok((wakes, reserve))
        };
        let (wakes, reserve) = watch().map_err(|error| CannotListen::System(address, error))?;
        let reserve = Some(reserve);
        Ok(ControlSocket { listener, wakes, peers: VecDeque::new(), reserve, is_short: false })
    }

    /// Somebody has come for whom the system has no descriptor: it wants to be served again before long, and
    /// nothing becomes readable for that.
    pub fn is_short(&self) -> bool {
        self.is_short
    }

    /// What becomes readable when it wants to be served.
    pub fn wakes(&self) -> BorrowedFd<'_> {
        self.wakes.as_fd()
    }

    /// Has `answer` answer the lines that have come.
    pub fn serve(&mut self, mut answer: impl FnMut(&str) -> String) {
        acknowledge(&self.wakes);
        loop {
            match accept(&self.listener) {
                Accepted::Socket(socket) => self.welcome(UnixStream::from(socket), &mut answer),
                Accepted::Nobody => {
                    self.is_short = false;
                    break;
                }
                Accepted::NoRoom if self.make_room(&mut answer) => {}
                Accepted::NoRoom => {
                    self.is_short = true;
                    break;
                }
            }
        }
        self.attend(&mut answer);
        if self.reserve.is_none() {
            self.reserve = self.wakes.try_clone().ok();
        }
    }

    /// Answers all who have said something. Those who have go to the end: they are the last who have to go.
    fn attend(&mut self, answer: &mut impl FnMut(&str) -> String) {
        let mut heard = VecDeque::new();
        for mut peer in std::mem::take(&mut self.peers) {
            match peer.attend(answer) {
                Heard::Nothing => self.peers.push_back(peer),
                Heard::Something => heard.push_back(peer),
                Heard::End => {}
            }
        }
        self.peers.append(&mut heard);
    }

    fn welcome(&mut self, stream: UnixStream, answer: &mut impl FnMut(&str) -> String) {
        if self.peers.len() >= PEERS {
            self.evict(answer);
        }
        if epoll::add(&self.wakes, &stream, epoll::EventData::new_u64(1), epoll::EventFlags::IN).is_ok() {
            self.peers.push_back(Peer { stream, heard: Vec::new() });
        }
    }

    /// Gives up a descriptor for somebody who has come; false if there is none to give up.
    fn make_room(&mut self, answer: &mut impl FnMut(&str) -> String) -> bool {
        self.reserve.take().is_some() || self.evict(answer)
    }

    /// Hangs up on the peer that has said nothing for longest, after all have had a chance to be heard. False
    /// if there is none.
    fn evict(&mut self, answer: &mut impl FnMut(&str) -> String) -> bool {
        let before = self.peers.len();
        self.attend(answer);
        self.peers.len() < before || self.peers.pop_front().is_some()
    }
}

impl Peer {
    /// Answers what it has said.
    fn attend(&mut self, answer: &mut impl FnMut(&str) -> String) -> Heard {
        let mut bytes = [0; LINE_MAX];
        match self.stream.read(&mut bytes) {
            Ok(0) => return Heard::End,
            Ok(count) => self.heard.extend_from_slice(&bytes[..count]),
            Err(why) if why.kind() == ErrorKind::WouldBlock => return Heard::Nothing,
            Err(_) => return Heard::End,
        }
        while let Some(end) = self.heard.iter().position(|&byte| byte == b'\n') {
            let line: Vec<u8> = self.heard.drain(..=end).collect();
            if !self.say(&answer(&String::from_utf8_lossy(&line[..end]))) {
                return Heard::End;
            }
        }
        if self.heard.len() < LINE_MAX {
            return Heard::Something;
        }
        self.say(&ctl::refusal("that line is too long"));
        Heard::End
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
