//! The block server: drives for programs that speak NBD, and as block devices of this kernel.
//!
//! One thread accepts connections and carries out their handshakes ([`acceptor`]). Each drive has a thread of
//! its own with all connections that use it ([`service`]): nothing is shared with others, so nothing is
//! locked. Between the two a connection is handed over once, through a [`mailbox`]. Administrative requests
//! arrive at the [`control_server`], another thread, which passes them on through the same mailboxes. Clients
//! that want TLS are behind a thread of its own ([`tls`]). The kernel's own requests, of a drive that is a
//! block device here ([`ublk`]), come to the thread of the drive beside its connections.
//!
//! What a stranger can cost is bounded: connections, handshakes, the time that one takes, and the memory of
//! requests and replies under way ([`budget`]). A connection that does not read its replies is not read from.

pub mod acceptor;
pub mod address;
pub mod budget;
pub mod charge;
pub mod connection;
pub mod control_server;
mod failed;
pub mod figures;
pub mod look;
pub mod mailbox;
pub mod server;
pub mod service;
pub mod spin;
pub mod tls;
pub mod ublk;

pub use address::{Access, Address, CannotListen};
pub use control_server::Windows;
pub use figures::{Figures, Kind, Live};
pub use server::{CannotServe, Limits, Name, Server};
pub use tls::{Certificates, Encryption};
pub use ublk::CannotAttach;
