//! A log-structured merge store as a source of requests: random gets and puts against a tree of
//! sorted files that is merged level by level as RocksDB 5.x merges it; or the load and the operations of
//! YCSB's clients ([`mix`]).
//!
//! A [`Store`] is an application and not a mix: its threads wait for their own requests
//! ([`Pace::Driven`](super::Pace)). [`reader`] threads get, one [`writer`] puts into a [`memtable`]
//! and a log, and background threads flush and compact, each
//! a [`job`] at a time, what [`tree`] picks. Files live in
//! extents of a region of the device ([`space`]), blocks of them in a block [`cache`] and in the host's
//! [`page_cache`]. Clients ([`client`]) get and put, one operation after another.
//!
//! What a file holds is known by its key range and its number of entries. Whether it holds one key
//! is drawn, always with the same answer ([`table`]); how many keys are left of several files that
//! are merged follows from which keys puts go to ([`law`]): all alike, or some much more often
//! ([`popularity`]), or each to a new one. That costs no memory per key. Index and filter blocks are in
//! memory, nothing is deleted, nothing compressed: `docs/model.md`, section "Log-structured merge store",
//! lists it all.

mod background;
pub mod cache;
pub mod client;
pub mod config;
pub mod figures;
pub mod job;
pub mod law;
pub mod memtable;
pub mod merge;
pub mod mix;
pub mod page_cache;
pub mod plan;
pub mod popularity;
pub mod reader;
pub mod resolve;
pub mod space;
pub mod store;
pub mod table;
pub mod tree;
pub mod writer;

pub use config::LsmConfig;
pub use figures::Figures;
pub use mix::{Mix, Operation};
pub use plan::Plan;
pub use store::Store;
