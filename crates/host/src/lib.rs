//! The storage stack of the host, as state machines that only use information available to a real host.
//!
//! This crate cannot name a type of the simulated drive: it sees identities, requests and responses
//! ([`disk`]), as from a real one. The same machines run in virtual time, with simulated drives, and in real
//! time.

#![cfg_attr(not(test), deny(clippy::cast_possible_truncation, clippy::cast_sign_loss))]

pub mod array;
pub mod block;
mod check;
mod crc;
pub mod disk;
pub mod kv;
pub mod mutation;
pub mod path;
pub mod placement;
pub mod pool;
pub mod unaligned;
pub mod wire;

pub use block::{Block, Bytes, Fingerprint};
pub use disk::{BLOCK_BYTES, BLOCK_LEN, BLOCK_SECTORS, Disk, Mirror, Request, Response};
pub use placement::{HostHandles, PlacementPolicy, Placer, WriteKind};
pub use pool::Pool;
pub use unaligned::Unaligned;
