//! Requests and replies in datagrams (UDP).
//!
//! Each request is its own client, which is closed when it has been answered. Requests beyond the limits are
//! dropped, as a network does.
//!
//! A sender can forge its source address, so the reply may hit a victim, and can be 50,000 times as long as
//! the request (CVE-2018-1000115, for which memcached disables UDP by default). So a reply is one datagram,
//! or an error if it would be longer; clients that need more use TCP.

use super::{DATAGRAMS, Origin, Worker};
use crate::ctl::Steered;
use crate::reactor::{READABLE, Reactor, Token};
use std::io;
use std::net::{SocketAddr, UdpSocket};
use tailcut_base::id;
use tailcut_base::ids::Slab;
use tailcut_host::wire::memcached::udp::{self, CONTENT_BYTES, DATAGRAM_BYTES, FRAME_BYTES, Frame};

/// A socket for datagrams.
#[derive(Debug)]
pub(crate) struct Datagrams {
    socket: UdpSocket,
}

impl Datagrams {
    /// Binds a socket to an address of this machine.
    ///
    /// # Errors
    /// If a system call fails.
    pub(crate) fn bind(address: SocketAddr) -> io::Result<Datagrams> {
        let socket = UdpSocket::bind(address)?;
        socket.set_nonblocking(true)?;
        Ok(Datagrams { socket })
    }

    /// The local address, with the port that the system chose if the socket was bound to port 0.
    ///
    /// # Errors
    /// If a system call fails.
    pub(crate) fn address(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }
}

/// The datagram sockets, and their pending requests.
#[derive(Debug)]
pub(super) struct DatagramSockets {
    sockets: Vec<Datagrams>,
    open: Slab<DatagramId, Open>,
}

id! {
    /// A datagram whose reply is not sent yet.
    pub(super) struct DatagramId;
}

/// A pending request.
#[derive(Debug)]
struct Open {
    socket: usize,
    from: SocketAddr,
    request: u16,
    name: u32,
    /// Input that the service has not taken yet.
    rest: Vec<u8>,
}

impl DatagramSockets {
    pub(super) fn new(sockets: Vec<Datagrams>) -> DatagramSockets {
        DatagramSockets { sockets, open: Slab::new() }
    }

    /// Watches the sockets for datagrams.
    pub(super) fn watch<M>(&self, reactor: &Reactor<M>) -> io::Result<()> {
        let mut sockets = self.sockets.iter().zip((DATAGRAMS..).map(Token::source));
        sockets.try_for_each(|(datagrams, token)| reactor.watch(&datagrams.socket, token, READABLE))
    }

    /// Closes the sockets for good; pending requests stay unanswered.
    pub(super) fn close(&mut self) {
        self.sockets.clear();
    }

    fn is_full(&self) -> bool {
        self.open.len() >= MOST_OPEN
    }

    /// Sends a reply; it is lost if the system does not take it, as it could be on the network.
    fn send(&self, open: &Open, answer: &[u8]) -> usize {
        let Some(datagrams) = self.sockets.get(open.socket) else { return 0 };
        let Some(parts) = udp::cut(open.request, answer.len()) else { return 0 };
        let mut sent = 0;
        for (frame, range) in parts {
            let mut datagram = [0; DATAGRAM_BYTES];
            let bytes = FRAME_BYTES + range.len();
            datagram[..FRAME_BYTES].copy_from_slice(&frame.encode());
            datagram[FRAME_BYTES..bytes].copy_from_slice(&answer[range]);
            sent += datagrams.socket.send_to(&datagram[..bytes], open.from).unwrap_or(0);
        }
        sent
    }
}

impl<D: Steered> Worker<D> {
    pub(super) fn receive_datagrams(&mut self, source: u32) {
        let socket = (source - DATAGRAMS) as usize;
        let mut buffer = std::mem::take(&mut self.buffer);
        for _ in 0..AT_ONCE {
            let Some(datagrams) = self.datagram_sockets.sockets.get(socket) else { break };
            match datagrams.socket.recv_from(&mut buffer) {
                Ok((count, from)) => self.receive_datagram(socket, &buffer[..count], from),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                // A network error of an earlier reply that did not arrive.
                Err(_) => {}
            }
        }
        self.buffer = buffer;
        self.note_sending();
        // The next iteration handles its requests.
        self.is_told = true;
    }

    fn receive_datagram(&mut self, socket: usize, datagram: &[u8], from: SocketAddr) {
        let request = Frame::request(datagram).filter(|_| !self.datagram_sockets.is_full());
        let Some((frame, content)) = request else {
            self.traffic.dropped += 1;
            return;
        };
        self.traffic.datagrams += 1;
        self.traffic.received += datagram.len() as u64;
        let name = self.name(Origin::Nobody);
        self.clients.note_receipt(self.clock.now());
        let rest = content.to_vec();
        let id = self.datagram_sockets.open.insert(Open { socket, from, request: frame.request, name, rest });
        self.origins[name as usize] = Origin::Datagram(id);
        self.guarded(Origin::Datagram(id), |worker| worker.answer_datagram(id));
    }

    /// A request's session has panicked: the request stays unanswered.
    pub(super) fn drop_datagram(&mut self, id: DatagramId) {
        let Some(open) = self.datagram_sockets.open.try_remove(id) else { return };
        self.clients.discard(open.name);
        self.origins[open.name as usize] = Origin::Nobody;
        self.traffic.dropped += 1;
    }

    /// Resumes a request; sends its reply and drops it once it is complete.
    pub(super) fn answer_datagram(&mut self, id: DatagramId) {
        let Some(open) = self.datagram_sockets.open.get_mut(id) else { return };
        if self.clients.can_accept(open.name) {
            let rest = self.shards.serve(self.clients.receive(open.name, &open.rest));
            let taken = open.rest.len() - rest.len();
            open.rest.drain(..taken);
        }
        if !self.clients.is_answered(open.name) {
            return;
        }
        // In short supply, a request is not repeated when its shard is in use.
        let is_short_of_memory =
            self.clients.waits_for_memory(open.name) || self.clients.has_yielded(open.name);
        // A reply that is incomplete although nothing is pending exceeds the limit of the service.
        let is_whole = self.clients.can_accept(open.name) || self.clients.closing(open.name).is_some();
        let Some(open) = self.datagram_sockets.open.try_remove(id) else { return };
        let mut answer = Vec::new();
        self.clients.send_queue(open.name).empty_into(&mut answer);
        match is_short_of_memory {
            true => self.traffic.dropped += 1,
            false if is_whole && answer.len() <= CONTENT_BYTES => {
                self.traffic.sent += self.datagram_sockets.send(&open, &answer) as u64;
            }
            false => {
                self.traffic.too_long_for_udp += 1;
                self.traffic.sent += self.datagram_sockets.send(&open, TOO_LONG) as u64;
            }
        }
        self.forget(open.name);
    }
}

/// Reply in place of one that does not fit into one datagram.
const TOO_LONG: &[u8] = b"SERVER_ERROR reply too large for UDP, use TCP\r\n";
/// Maximum datagrams received before other events are handled.
const AT_ONCE: usize = 64;
/// Maximum number of pending requests.
const MOST_OPEN: usize = 1024;
