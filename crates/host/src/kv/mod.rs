//! The key-value storage engine: items in memory and on flash.
//!
//! ```text
//!    find, change            fetch
//!         │                    │
//!       index ── place ─►  front (memory: segments, two queues)
//!         │                    │ on eviction, or at once in a store
//!         └───────────────►   log (flash: segments, in writes of 128 KiB)  ──► a block device or an array
//! ```
//!
//! - [`index`]: the place of each item, in 15 bytes;
//! - [`front`]: items written or read recently;
//! - [`log`]: all other items, and in a store all items;
//! - [`reclaim`]: garbage collection of log segments;
//! - [`opening`] and [`recovery`]: restart after a shutdown or crash; recovery runs while the engine serves.
//!
//! This module is independent of the client protocol and of the number of drives: copies, the loss of a drive
//! and the separation of reads from writes belong to the array below ([`crate::array`]).

mod admission;
mod check;
mod compaction;
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

pub use admission::AdmissionSettings;
pub use damage::{Damage, DamageKind, Doubt, MOST_DAMAGES};
pub use engine::{
    Change, Content, Engine, Figures, FlashUse, Lookup, PREFETCH_MAX, Put, Refused, TierFigures,
};
pub use fetch::{Fetched, MOST_KEY};
pub use item::{Item, Value};
pub use log::WriteNumber;
pub use opening::{CannotOpen, OpenMode, Opening};
pub use place::{FrontUnit, Place, UNIT};
pub use record::{Header, State};
pub use settings::{Append, Keep, Settings};
