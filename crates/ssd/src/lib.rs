//! The simulated SSD: flash and controller, as a machine without a clock.
//!
//! A request's way: [`Ssd`] takes a command ([`ssd`]), cuts it into memory requests ([`reads`], [`writes`],
//! [`programs`]), commits them to chips ([`controller::commit`]), composes transactions and follows them over
//! bus and cells ([`chips`], [`flash`]), and completes the command over the link. Garbage collection
//! ([`collection`]) lives beside that way and uses the same chips.

mod ahead;
mod at_rest;
pub mod behaviour;
mod block_mapped;
mod chips;
mod collection;
pub mod config;
mod control;
pub mod controller;
mod fail_fast;
mod figures;
pub mod flash;
mod forecast;
mod ideal;
mod inference;
mod jitter;
mod levelling;
mod memory;
pub mod mutation;
mod non_queued;
mod out_of_space;
pub mod precondition;
pub mod preemption;
pub mod presets;
pub mod probe;
mod programs;
mod reads;
pub mod request;
pub mod sets;
mod ssd;
mod steering;
mod stripe_placement;
pub mod superblock;
mod transactions;
mod trims;
mod woken;
mod writes;

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
