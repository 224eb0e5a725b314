//! A key-value store within the process that uses it, without a server and its sockets.
//!
//! The engine and its drive belong to a thread of their own ([`worker`]); callers, from any number of
//! threads, hand it operations and take what came of them. So the engine stays as it is in the server and in
//! simulation: one user, nothing locked, whatever the callers do. Shin's storage engine has the same form, a
//! shared object that memcached is linked with (2017, section 5.3 and figure 5.1); for C see the crate
//! `tailcut-capi`.
//!
//! ```
//! use tailcut_rt::embedded::{Options, Store};
//!
//! let store = Store::open(Options::in_memory())?;
//! store.set(b"key", b"value")?;
//! assert_eq!(store.get(b"key")?.as_deref(), Some(&b"value"[..]));
//! assert!(store.delete(b"key")?);
//! store.close()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! **Asynchronously**, through a [`Queue`] with room for so many operations: [`Queue::submit`] never waits,
//! and says so when there is no room; [`Queue::completions`] takes what has ended, in any order, each with
//! the number that it was submitted with. No code of the caller runs on the thread of the engine, as with
//! callbacks it would: a slow one would hold up everybody, and one that waits for the store would wait for
//! ever.
//!
//! ```
//! use tailcut_rt::embedded::{Operation, Options, Store, Wait};
//!
//! let store = Store::open(Options::in_memory())?;
//! let queue = store.queue(64);
//! for number in 0..10u64 {
//!     queue.submit(Operation::set(&number.to_le_bytes(), b"value")?, number)?;
//! }
//! let mut completions = Vec::new();
//! while completions.len() < 10 {
//!     queue.completions(&mut completions, Wait::ForOne);
//! }
//! assert!(completions.iter().all(|completion| completion.result.is_ok()));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Operations that are under way at the same time may take effect in any order, and each takes effect at once
//! for everybody: who wants one after the other waits for the first. What a caller can cost is bounded by the
//! room of its queues.

mod error;
mod inbox;
mod operation;
mod options;
mod queue;
mod statistics;
mod store;
mod worker;

pub use error::{CannotOpen, Error, NotTaken};
pub use operation::{Completion, Operation, Outcome, Value, When};
pub use options::{Options, Place};
pub use queue::{Queue, Wait};
pub use statistics::Statistics;
pub use store::{Settings, Store};
pub use tailcut_host::kv::{Keep, MOST_KEY};
