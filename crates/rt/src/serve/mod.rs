//! The block server: drives for programs that speak NBD, and as block devices of this kernel.
//!
//! One thread receives newcomers and carries out their handshakes ([`entrance`]). Each drive has a thread of its own
//! with all connections that use it ([`service`]): nothing is shared with others, so nothing is locked. Between the two a
//! connection is handed over once, through a [`mailbox`]. Whoever wants to know how they do asks at the [`desk`], another
//! thread, which leaves questions in the same mailboxes. Clients that want TLS are behind a thread of its own ([`tls`]).
//! The kernel's own requests, of a drive that is a block device here ([`ublk`]), come to the thread of the drive beside its connections.
//!
//! What a stranger can cost is bounded: connections, handshakes, the time that one takes, and the memory of requests and
//! replies under way ([`budget`]). A connection that does not read its replies is not read from.

pub mod address;
pub mod budget;
pub mod charge;
pub mod connection;
pub mod desk;
pub mod entrance;
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
pub use desk::Windows;
pub use figures::{Figures, Kind, Live};
pub use server::{CannotServe, Limits, Name, Server};
pub use tls::{Certificates, Encryption};
pub use ublk::CannotAttach;
