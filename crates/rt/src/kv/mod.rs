//! The key-value server: serves a store to clients over memcached's protocol.
//!
//! Each thread owns its clients and their sockets; the first one also owns the drive ([`worker`]). Any thread
//! may use any shard of the store, and no thread blocks on another ([`shards`]). The semantics of commands
//! are in [`tailcut_host::kv::session`]; this module receives and sends bytes, and submits requests to the
//! drive.
//!
//! The cost of a client is bounded: the number of connections; per connection, the unprocessed input (64
//! KiB); over all of them, the memory for replies, half-sent values and pending commands (`client_memory`);
//! and, optionally, idle time. `docs/decisions/key-value-server.md` has the formula for the total memory of a
//! server.

mod admin;
mod binary;
mod client;
mod connections;
pub mod events;
pub mod figures;
pub mod finding;
mod parts;
pub mod server;
mod shards;
pub mod throttle;
mod worker;

pub use events::{Event, Events, Fault};
pub use figures::{CurrentCounters, Figures, Obstacle, Traffic, Unwritten};
pub use finding::{CannotFind, StoreMode};
pub use server::{CannotServe, Limits, ListenOptions, Served, Server, StreamTls};
pub use throttle::Peer;
