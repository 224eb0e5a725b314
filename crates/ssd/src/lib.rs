//! The simulated SSD: flash and controller, as a machine without a clock.
//!
//! Three machines, each with private fields: the frontend (tags, link, write buffer, cache, admission), the
//! mapping (where logical pages are, garbage collection, wear levelling, the content of the [`flash`]), and
//! the backend (LUNs and buses: which memory request is served when, see [`commit`]). A request's way:
//! [`Ssd`] takes a command, the frontend admits it, the mapping finds its pages, the backend composes
//! transactions of its memory requests and follows them over [`bus`] and [`lun`], and the frontend completes
//! it over the [`link`].

#![cfg_attr(not(test), deny(clippy::cast_possible_truncation, clippy::cast_sign_loss))]

mod backend;
pub mod config;
mod counters;
mod figures;
pub mod flash;
mod frontend;
pub mod holder;
mod mapping;
mod memory;
pub mod mutation;
pub mod nvme;
pub mod presets;
pub mod probe;
pub mod request;
mod room;
pub mod sets;
mod ssd;
pub mod timers;

pub use backend::{bus, commit, lun};
pub use config::{CacheConfig, CollectionPace, Preset, SetsBy, SetsConfig, SsdConfig, SuperblockConfig};
pub use counters::{Counters, HandleFigures};
pub use figures::{Breakdown, Figures};
pub use frontend::behaviour::{self, Accuracy, Prediction, Service, WaitPrediction};
pub use frontend::cache::CacheCounts;
pub use frontend::{link, pacing, submission, tags};
pub use mapping::{ftl, precondition};
pub use precondition::Precondition;
pub use probe::{ChipRecord, Handover, Probe};
pub use sets::{SetId, Sets};
pub use ssd::Ssd;
