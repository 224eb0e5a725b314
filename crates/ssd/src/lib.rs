//! The simulated SSD: flash and controller, as a machine without a clock.
//!
//! A request's way: [`Ssd`] takes a command ([`ssd`]), cuts it into memory requests ([`reads`], [`writes`],
//! [`programs`]), commits them to chips ([`controller::commit`]), composes transactions and follows them over
//! bus and cells ([`chips`], [`flash`]), and completes the command over the link. Garbage collection
//! ([`collection`]) lives beside that way and uses the same chips.

mod backend;
pub mod behaviour;
pub mod config;
pub mod controller;
mod figures;
pub mod flash;
mod frontend;
mod layers;
mod mapping;
mod memory;
pub mod mutation;
pub mod precondition;
pub mod preemption;
pub mod presets;
pub mod probe;
pub mod request;
pub mod sets;
mod ssd;
pub use mapping::superblock;

pub use behaviour::{Accuracy, Prediction, Service, WaitPrediction};
pub use config::SsdConfig;
pub use controller::cache::{CacheConfig, CacheCounts};
pub use figures::{Breakdown, Counters, Figures};
pub use precondition::Precondition;
pub use presets::Preset;
pub use probe::{ChipRecord, Handover, Probe};
pub use sets::{SetId, Sets, SetsBy, SetsConfig};
pub use ssd::Ssd;
pub use superblock::{CollectionPace, SuperblockConfig};
