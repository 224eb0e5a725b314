//! The simulated SSD: flash and controller, as a machine without a clock.
//!
//! A request's way: [`Ssd`] takes a command ([`ssd`]), cuts it into memory requests ([`reads`], [`writes`],
//! [`programs`]), commits them to chips ([`controller::commit`]), composes transactions and follows them over
//! bus and cells ([`chips`], [`flash`]), and completes the command over the link. Garbage collection
//! ([`collection`]) lives beside that way and uses the same chips.

mod backend;
pub mod config;
mod counters;
mod figures;
pub mod flash;
mod frontend;
mod mapping;
mod memory;
pub mod mutation;
pub mod precondition;
pub mod presets;
pub mod probe;
pub mod request;
pub mod sets;
mod ssd;
pub mod timers;

pub use backend::{bus, commit, holder, lun};
pub use config::{CacheConfig, CollectionPace, Preset, SetsBy, SetsConfig, SsdConfig, SuperblockConfig};
pub use counters::Counters;
pub use figures::{Breakdown, Figures};
pub use frontend::behaviour::{self, Accuracy, Prediction, Service, WaitPrediction};
pub use frontend::cache::CacheCounts;
pub use frontend::{link, pacing, submission, tags};
pub use mapping::ftl;
pub use precondition::Precondition;
pub use probe::{ChipRecord, Handover, Probe};
pub use sets::{SetId, Sets};
pub use ssd::Ssd;
