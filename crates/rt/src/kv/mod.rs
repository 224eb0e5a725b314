//! The key-value server: clients of a store, that speak memcached's protocol.
//!
//! Each thread has clients of its own, and their sockets; the first one also has the drive ([`worker`]). The
//! parts of the store are used by whichever thread has something to ask, and no thread waits for another
//! ([`shards`]). What commands mean stands in [`tailcut_host::kv::session`]; here bytes are received and
//! sent, and requests handed to the drive.
//!
//! What a stranger can cost is bounded: connections; for each of them what it has sent and nobody has taken
//! (64 KiB); for all of them together the memory for replies, half-sent values and commands that wait
//! (`client_memory`); and, if wanted, how long one may say nothing. `docs/decisions/key-value-server.md` has
//! the formula for all the memory of a server.

mod admin;
mod client;
pub mod events;
pub mod figures;
pub mod finding;
mod parts;
pub mod server;
mod shards;
pub mod throttle;
mod worker;

pub use events::{Event, Events, Fault};
pub use figures::{Figures, Glance, Traffic};
pub use finding::{CannotFind, Making};
pub use server::{CannotServe, Limits, ListenOptions, Served, Server};
pub use throttle::Peer;
