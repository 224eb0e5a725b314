//! What the host does for storage: machines that know only what a real host knows.
//!
//! This crate cannot name a type of the simulated drive: it sees identities, requests and answers
//! ([`disk`]), as it would of a real one. The same machines run in virtual time, where drives are
//! simulated, and in real time.

pub mod array;
pub mod block;
mod crc;
pub mod disk;
pub mod kv;
pub mod load;
pub mod path;
pub mod planted;
pub mod pool;
pub mod pts;
pub mod unaligned;
pub mod wire;

pub use block::{Block, Bytes, Fingerprint};
pub use disk::{BLOCK_BYTES, BLOCK_SECTORS, Disk, Mirror, Request, Response};
pub use pool::Pool;
pub use unaligned::Unaligned;
