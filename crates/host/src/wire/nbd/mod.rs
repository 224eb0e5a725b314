//! NBD, the network block device protocol: its two phases, each a state machine that consumes bytes.
//!
//! The specification is `doc/proto.md` of the reference implementation (Network Block Device,
//! <https://github.com/NetworkBlockDevice/nbd>), here called "the standard". [`standard`] defines its
//! constants under its own names.
//!
//! 1. [`Handshake`]: fixed newstyle negotiation. A client queries the exports and finally names one.
//! 2. [`Receiver`]: the transmission phase. It yields complete requests, with the data of writes in blocks;
//!    [`Rules`] decide whether a request may be executed. Responses are [`Reply`]s.
//!
//! Neither machine keeps more than its limit, whatever it receives; results do not depend on how a stream is
//! split.

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
