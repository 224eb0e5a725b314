//! The block server: exports drives to NBD clients, and as block devices of this kernel.
//!
//! One thread accepts connections and carries out their handshakes ([`acceptor`]). Each drive has its own
//! thread, with all connections that use it ([`service`]): no state is shared between drives, so no locks are
//! needed. A connection is handed from one to the other once, through a mailbox
//! ([`reactor`](crate::reactor)). Administrative requests arrive at the [`control_server`], another thread,
//! which forwards them through the same mailboxes. Clients that use TLS are connected through a separate
//! thread ([`tls`]). If a drive is also a block device here ([`ublk`]), the kernel's requests arrive at the
//! drive's thread beside its connections.
//!
//! The cost of a client is bounded: connections, handshakes and their duration, and the memory of requests
//! and replies in flight ([`budget`]). The server does not read from a connection whose client does not read
//! its replies.

pub mod acceptor;
pub mod budget;
pub mod charge;
pub mod connection;
pub mod control_server;
mod failed;
pub mod figures;
mod heartbeats;
pub mod server;
pub mod service;
pub mod tls;
pub mod ublk;

pub use crate::listener::{Address, CannotListen};
pub use control_server::Windows;
pub use figures::{Figures, Kind, Live};
pub use server::{Access, CannotServe, Limits, Name, Server};
pub use tls::{Certificates, Encryption};
pub use ublk::CannotAttach;
