//! Items with keys, in memory and on flash: the engine of the key-value server.
//!
//! ```text
//!    find, change            fetch
//!         │                    │
//!       index ── where ──►  front (memory: segments, two queues)
//!         │                    │ leaves memory, or at once in a store
//!         └───────────────►   log (flash: segments, in writes of 128 KiB)  ──► any disk of blocks, an array with copies for one
//! ```
//!
//! - [`index`]: 15 bytes for each item tell where it is;
//! - [`front`]: what was written or asked for lately;
//! - [`log`]: everything else, and in a store everything;
//! - [`reclaim`]: how segments of the log come free;
//! - [`opening`] and [`recovery`]: how a log is found again after any end, the latter while it is served.
//!
//! Nothing here knows the protocol of a client, and nothing knows how many drives there are: copies, the loss
//! of a drive and the separation of reads from writes are the business of the array below ([`crate::array`]).

#[macro_use]
mod counters;
mod damage;
mod engine;
mod eviction;
mod fetch;
mod flash;
pub mod front;
mod ghost;
pub mod hash;
pub mod index;
mod item;
mod jobs;
pub mod log;
pub mod opening;
mod place;
mod reclaim;
pub mod record;
mod recovery;
mod search;
pub mod session;
mod settings;
mod versions;
mod writing;

pub use damage::{Damage, DamageKind, Doubt, MOST_DAMAGES};
pub use engine::{Change, Content, Engine, Figures, Found, MOST_FORESEEN, Put, Refused};
pub use fetch::{Fetched, MOST_KEY};
pub use item::{Item, Value};
pub use opening::{CannotOpen, Making, Opening};
pub use place::{Place, UNIT};
pub use record::{Header, State};
pub use settings::{Append, Keep, Settings};
