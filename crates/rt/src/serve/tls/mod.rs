//! TLS, between the network and the server.
//!
//! The server is unaware of TLS: a client that requests it is moved behind a *relay*, a thread that owns its
//! network socket and the keys, and the server continues with one end of a socket pair, in plaintext, as with
//! any other client. So no request is checked for encryption, and all limits for clients apply to these as
//! well. The price is two more hand-overs per request.
//!
//! Without the feature `tls` there are no [`Certificates`], and so no relay.

#[cfg(not(feature = "tls"))]
mod absent;
#[cfg(feature = "tls")]
mod certificates;
#[cfg(feature = "tls")]
mod link;
#[cfg(feature = "tls")]
mod relay;

#[cfg(not(feature = "tls"))]
pub use absent::{Certificates, Relay};
#[cfg(feature = "tls")]
pub use certificates::Certificates;
#[cfg(feature = "tls")]
pub use relay::Relay;

use super::server::Limits;
use crate::reactor::Mailbox;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tailcut_host::wire::nbd::Tls;

/// TLS as a server offers it.
#[derive(Clone, Debug)]
pub struct Encryption {
    /// Certificates of the server and of the authority it trusts.
    pub certificates: Certificates,
    /// Whether clients must use TLS; otherwise it is offered.
    pub is_required: bool,
}

impl Encryption {
    /// The mode in terms of the NBD standard.
    pub fn mode(&self) -> Tls {
        if self.is_required { Tls::Required } else { Tls::Allowed }
    }

    /// True if only clients with a certificate are served.
    pub fn requires_client_certificate(&self) -> bool {
        self.is_required && self.certificates.verify_peer()
    }
}

/// Why certificates cannot be loaded.
#[derive(Debug, thiserror::Error)]
pub enum BadCertificates {
    /// A file cannot be read.
    #[error(
        "cannot read {}: {error}; TLS wants server-cert.pem and server-key.pem in that folder, and \
            ca-cert.pem to verify peers",
        path.display()
    )]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system error.
        error: io::Error,
    },
    /// A file has the wrong content.
    #[error("{}: {why}", path.display())]
    Unusable {
        /// The file.
        path: PathBuf,
        /// What is wrong, and what would be valid.
        why: String,
    },
    /// The program was built without TLS.
    #[error("this program was built without TLS; build it with the feature 'tls' (on by default)")]
    NotBuilt,
}

/// Counters of TLS handshakes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Handshakes {
    /// Handshakes that were completed since the start.
    pub done: u64,
    /// Handshakes that failed since the start.
    pub failed: u64,
    /// Why the last handshake that failed did so; `None` if none failed.
    pub last_failure: Option<String>,
}

/// A client that requests TLS: two sockets for the relay to join.
#[derive(Debug)]
pub struct Crossing {
    /// The socket to the client, encrypted.
    pub outer: OwnedFd,
    /// The socket to the server, in plaintext.
    pub inner: OwnedFd,
    /// The permit that counts this pair among the joined ones.
    pub passage: Passage,
}

/// A permit for a joined pair, released when it is dropped.
#[derive(Debug)]
pub struct Passage(Arc<AtomicUsize>);

impl Drop for Passage {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The gate to the relay.
#[derive(Debug)]
pub struct Gate {
    mailbox: Arc<Mailbox<Crossing>>,
    taken: Arc<AtomicUsize>,
    most: usize,
}

impl Gate {
    /// The gate to the relay that reads this mailbox.
    ///
    /// Pairs are limited to the server's maximum of connections and handshakes, plus its maximum of
    /// handshakes again for clients that are gone for the server, but not yet for the relay.
    pub fn new(mailbox: Arc<Mailbox<Crossing>>, limits: &Limits) -> Gate {
        let most = limits.connections + 2 * limits.handshakes;
        Gate { mailbox, taken: Arc::default(), most }
    }

    /// Puts the relay between a client and its server: `socket` was the client's, and becomes one that
    /// carries the client's plaintext after its handshake.
    ///
    /// # Errors
    /// If the maximum number of pairs is reached; the socket is unchanged.
    pub fn cross(&self, socket: &mut OwnedFd) -> io::Result<()> {
        let passage = self.passage().ok_or(io::ErrorKind::QuotaExceeded)?;
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let (ours, inner) = socketpair(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
        let outer = std::mem::replace(socket, ours);
        self.mailbox.post(Crossing { outer, inner, passage });
        Ok(())
    }

    fn passage(&self) -> Option<Passage> {
        let had_room = self.taken.fetch_add(1, Ordering::Relaxed) < self.most;
        let passage = Passage(Arc::clone(&self.taken));
        had_room.then_some(passage)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsRawFd;

    #[test]
    fn no_more_cross_than_there_is_room_for() {
        let mailbox = Arc::new(Mailbox::new().expect("there are descriptors"));
        let limits = Limits { connections: 3, handshakes: 2, ..Limits::default() };
        let gate = Gate::new(Arc::clone(&mailbox), &limits);
        let socket =
            || OwnedFd::from(std::os::unix::net::UnixStream::pair().expect("there are descriptors").0);
        for _ in 0..2 {
            for _ in 0..7 {
                gate.cross(&mut socket()).expect("there is room");
            }
            let mut socket = socket();
            let number = socket.as_raw_fd();
            assert!(gate.cross(&mut socket).is_err() && socket.as_raw_fd() == number);
            // Ended pairs return their permits, and a refusal takes none.
            mailbox.take(&mut Vec::new());
        }
    }
}
