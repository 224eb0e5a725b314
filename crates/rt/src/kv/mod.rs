//! The key-value server: clients of one engine, that speak memcached's protocol.
//!
//! One thread has all sockets, the engine and its drive ([`worker`]): nothing is shared, so nothing is locked. What commands mean
//! stands in [`tailcut_host::kv::session`]; here bytes are received and sent, and requests handed to the drive.
//!
//! What a stranger can cost is bounded: connections; for each of them what it has sent and nobody has taken (64 KiB), the data of
//! one item, and its answers, as a client that does not read them is not served; and, if wanted, how long it may say nothing.

mod client;
pub mod figures;
pub mod finding;
pub mod server;
mod worker;

pub use figures::{Figures, Live};
pub use finding::{CannotFind, Making};
pub use server::{CannotServe, Doors, Limits, Served, Server};
