//! The connections of a server, for `stats conns`.

use super::throttle::Peer;
use crate::Clock;
use crate::listener::{Address, Listener};
use rustix::net::{SocketAddrAny, getsockname};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use tailcut_base::Time;
use tailcut_host::wire::memcached::reply;

/// All open connections, and the sockets that take them, by their descriptors.
#[derive(Debug)]
pub(super) struct Connections {
    clock: Clock,
    listening: Vec<(i32, Address)>,
    open: Mutex<BTreeMap<i32, Arc<Connection>>>,
}

/// An open connection. Its thread records activity without a lock.
#[derive(Debug)]
pub(super) struct Connection {
    peer: Peer,
    /// The address that the client has connected to; `None` for a unix socket, and behind TLS.
    local: Option<SocketAddr>,
    /// When something was last received, in nanoseconds of the server's clock.
    heard: AtomicU64,
}

impl Connection {
    /// A connection of this client, opened at `now`.
    pub(super) fn new(peer: Peer, socket: impl AsFd, now: Time) -> Arc<Connection> {
        let local = getsockname(socket).ok().map(|address: SocketAddrAny| SocketAddr::try_from(address));
        let local = local.and_then(Result::ok);
        Arc::new(Connection { peer, local, heard: AtomicU64::new(now.0) })
    }

    /// The client.
    pub(super) fn peer(&self) -> Peer {
        self.peer
    }

    /// Something was received.
    pub(super) fn note_activity(&self, now: Time) {
        self.heard.store(now.0, Ordering::Relaxed);
    }
}

impl Connections {
    /// No connections yet to these sockets.
    pub(super) fn new<'a>(listeners: impl Iterator<Item = &'a Listener>, clock: Clock) -> Connections {
        let of = |listener: &Listener| (listener.as_fd().as_raw_fd(), listener.address().clone());
        Connections { clock, listening: listeners.map(of).collect(), open: Mutex::default() }
    }

    /// A connection is open.
    pub(super) fn add(&self, socket: impl AsFd, connection: Arc<Connection>) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.insert(socket.as_fd().as_raw_fd(), connection);
    }

    /// The connection on this socket is about to be closed.
    pub(super) fn remove(&self, socket: impl AsFd) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.remove(&socket.as_fd().as_raw_fd());
    }

    /// Writes the lines of `stats conns`. The state of a connection is always that between two commands.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        let mut line = |number: i32, name: &str, value: &str| {
            reply::stat(out, &format!("{number}:{name}"), value);
        };
        let uptime = self.clock.now();
        for (number, address) in &self.listening {
            line(*number, "addr", &text(address));
            line(*number, "state", "conn_listening");
            line(*number, "secs_since_last_cmd", &seconds(uptime, Time::ZERO));
        }
        let unix = self.listening.iter().find(|(_, address)| matches!(address, Address::Unix(_)));
        for (number, connection) in &*self.open.lock().unwrap_or_else(PoisonError::into_inner) {
            let listen = connection.local.map(|at| text(&Address::Tcp(at)));
            let listen = listen.or_else(|| unix.map(|(_, address)| text(address)));
            let peer = match connection.peer {
                Peer::Network(at) => text(&Address::Tcp(at)),
                _ => listen.clone().unwrap_or_default(),
            };
            line(*number, "addr", &peer);
            line(*number, "listen_addr", &listen.unwrap_or_default());
            line(*number, "state", "conn_read");
            let heard = Time(connection.heard.load(Ordering::Relaxed));
            line(*number, "secs_since_last_cmd", &seconds(uptime, heard));
        }
    }
}

/// An address as memcached writes it.
fn text(address: &Address) -> String {
    match address {
        Address::Tcp(at @ SocketAddr::V4(_)) => format!("tcp:{at}"),
        Address::Tcp(at) => format!("tcp6:{at}"),
        Address::Unix(path) => format!("unix:{}", path.display()),
    }
}

fn seconds(now: Time, then: Time) -> String {
    (now.0.saturating_sub(then.0) / 1_000_000_000).to_string()
}
