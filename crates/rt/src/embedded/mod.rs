//! A key-value store within the process that uses it, without a server and its sockets.
//!
//! The engine and its drive belong to a dedicated thread ([`worker`]); callers on any number of threads
//! submit operations and take their completions. So the engine runs as in the server and in simulation: with
//! one user and without locks, whatever the callers do. Shin's storage engine has the same form, a shared
//! object linked into memcached (2017, section 5.3 and figure 5.1); for C see the crate `tailcut-capi`.
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
//! **Asynchronously**, through a [`Queue`] with room for N operations: [`Queue::submit`] never blocks, and
//! returns an error when the queue is full; [`Queue::completions`] takes completions in any order, each with
//! the number that its operation was submitted with. There are no callbacks, because they would run on the
//! engine's thread: a slow one would delay all callers, and one that waits for the store would deadlock.
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
//! Operations in flight at the same time may take effect in any order, and each takes effect atomically for
//! all callers; to order two operations, wait for the first before submitting the second. The cost of a
//! caller is bounded by the room of its queues.

mod error;
mod operation;
mod options;
mod queue;
mod statistics;
mod store;
mod worker;

pub use error::{CannotOpen, Error, NotTaken};
pub use operation::{Completion, Operation, Outcome, PutCondition, Value};
pub use options::{Options, Place};
pub use queue::{Queue, Wait};
pub use statistics::Statistics;
pub use store::{Settings, Store};
pub use tailcut_host::kv::{Keep, MOST_KEY};
