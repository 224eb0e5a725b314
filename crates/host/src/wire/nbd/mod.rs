//! NBD, the network block device: its two phases, each a machine that is fed bytes.
//!
//! The source is the protocol's text, `doc/proto.md` of the reference implementation (Network Block Device,
//! <https://github.com/NetworkBlockDevice/nbd>), "the standard" from here on. Its numbers stand under its own names
//! in [`standard`].
//!
//! 1. [`Handshake`]: fixed newstyle. A client asks what there is and ends with the name of an export.
//! 2. [`Receiver`]: the transmission phase. Requests come out whole, the data of a write in blocks; whether a
//!    request is one that may be carried out is said by [`Rules`]. What goes back is a [`Reply`].
//!
//! No machine keeps more than its limit says, whatever it is sent; how a stream is cut into pieces makes no
//! difference.

pub mod handshake;
pub mod header;
pub mod offer;
pub mod option;
pub mod receiver;
pub mod reply;
pub mod standard;

pub use handshake::{Handshake, Step, Terms};
pub use header::{Command, Header, Refusal, Rules};
pub use offer::{Export, Offer, Tls};
pub use receiver::{Incoming, Receiver, WrongMagic};
pub use reply::Reply;
