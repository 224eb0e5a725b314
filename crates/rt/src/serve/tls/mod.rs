//! TLS, between the network and the server.
//!
//! The server knows nothing of it: a client that asks for TLS is moved behind a *relay*, a thread that holds
//! its network socket and the secrets, and the server goes on with one end of a pair of sockets, in the
//! clear, as with any other client. So nothing is asked per request whether it is encrypted, and what is
//! bounded for other clients is bounded for these in the same way. The price is two more hand-overs per
//! request.
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
#[cfg(feature = "tls")]
mod side;

#[cfg(not(feature = "tls"))]
pub use absent::{Certificates, Relay};
#[cfg(feature = "tls")]
pub use certificates::Certificates;
#[cfg(feature = "tls")]
pub use relay::Relay;

use super::mailbox::Mailbox;
use super::server::Limits;
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
    /// TLS is required; otherwise it is offered.
    pub is_required: bool,
}

impl Encryption {
    /// The same in the standard's words.
    pub fn mode(&self) -> Tls {
        if self.is_required { Tls::Required } else { Tls::Allowed }
    }

    /// True if only clients with a certificate are served.
    pub fn keeps_strangers_out(&self) -> bool {
        self.is_required && self.certificates.verify_peer()
    }
}

/// Why there are no certificates.
#[derive(Debug, thiserror::Error)]
pub enum BadCertificates {
    /// A file cannot be read.
    #[error(
        "cannot read {}: {error}; TLS wants server-cert.pem and server-key.pem in that folder, and ca-cert.pem to verify peers",
        path.display()
    )]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system error.
        error: io::Error,
    },
    /// A file holds something else.
    #[error("{}: {why}", path.display())]
    Unusable {
        /// The file.
        path: PathBuf,
        /// What is wrong, and what would be right.
        why: String,
    },
    /// The program has no TLS.
    #[error("this program was built without TLS; build it with the feature 'tls' (on by default)")]
    NotBuilt,
}

/// What became of TLS handshakes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Handshakes {
    /// Clients that have come through.
    pub done: u64,
    /// Clients whose handshake has failed.
    pub failed: u64,
    /// Why the last of them did.
    pub last_failure: Option<String>,
}

/// What the relay is told.
#[derive(Debug)]
pub enum Message {
    /// A client that wants TLS.
    Crossing(Crossing),
    /// End when what is left to be sent is sent; no more clients will come.
    Stop,
}

/// Two sockets that the relay joins.
#[derive(Debug)]
pub struct Crossing {
    /// To the client, encrypted.
    pub outer: OwnedFd,
    /// To the server, in the clear.
    pub inner: OwnedFd,
    /// Its place among those that are joined.
    pub passage: Passage,
}

/// One of the joined pairs, until it is dropped.
#[derive(Debug)]
pub struct Passage(Arc<AtomicUsize>);

impl Drop for Passage {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The way to the relay.
#[derive(Debug)]
pub struct Gate {
    mailbox: Arc<Mailbox<Message>>,
    taken: Arc<AtomicUsize>,
    most: usize,
}

impl Gate {
    /// The way to the relay that reads this mailbox.
    ///
    /// It is joined to no more clients than the server can have, with as many again as may be in their
    /// handshake for those who are gone for the server, but not yet for the relay.
    pub fn new(mailbox: Arc<Mailbox<Message>>, limits: &Limits) -> Gate {
        let most = limits.connections + 2 * limits.handshakes;
        Gate { mailbox, taken: Arc::default(), most }
    }

    /// Puts the relay between a client and its server: `socket` was the client's, and becomes one on which
    /// the same client is heard in the clear once it has shaken hands.
    ///
    /// # Errors
    /// When there is no room for more; the socket is what it was.
    pub fn cross(&self, socket: &mut OwnedFd) -> io::Result<()> {
        let passage = self.passage().ok_or(io::ErrorKind::QuotaExceeded)?;
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let (ours, inner) = socketpair(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
        let outer = std::mem::replace(socket, ours);
        self.mailbox.post(Message::Crossing(Crossing { outer, inner, passage }));
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
            // Those that end give back their places, and a refusal takes none.
            drop(mailbox.empty());
        }
    }
}
