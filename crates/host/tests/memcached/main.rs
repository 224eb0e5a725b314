//! memcached's protocol: word for word as the program speaks it, however a stream is cut, and whatever is in it.

mod ahead;
mod dialogues;
#[path = "../kv/disk.rs"]
mod disk;
mod parts;
mod program;
mod reference;
mod requests;
mod service;
mod session;
mod streams;
mod taken;

/// A second long after 2001, so that stretches of 30 days and dates are told apart.
pub const NOW: u64 = 1_900_000_000;
