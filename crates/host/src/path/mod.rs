//! The host's I/O path between the block layer and a controller (Shin 2017, chapters 3 and 4).
//!
//! * [`hal`]: the operations of HIOPS-HAL that a low-level driver implements;
//! * [`emulated`]: it, over emulated controllers, which [`ahci`] and [`nvme`] wire to interrupts each in its
//!   way;
//! * [`strategy`]: who fetches, post-processes and issues, when to poll and when to spin, as data;
//! * [`hybrid`]: which of them, by load;
//! * [`window`]: when a thread should be told of an end that is near;
//! * [`queue`]: requests that wait for a tag, in flight, and at their end.
//!
//! What executes a strategy (contexts on modelled cores in virtual time; threads in real time) reads the
//! description and calls the queue; nothing here knows what a step costs.

pub mod ahci;
pub mod emulated;
pub mod hal;
pub mod hybrid;
pub mod nvme;
pub mod queue;
pub mod strategy;
mod tags;
pub mod window;

pub use ahci::Ahci;
pub use hal::{Controller, CoreId, LowLevelDriver, QueueId, RequestId, Tag, Vector};
pub use hybrid::{Hybrid, Mode, Took, Used};
pub use nvme::Nvme;
pub use queue::{Fetched, PathQueue};
pub use strategy::{Drain, Finisher, Hints, Issuer, Layers, Strategy, StrategyName, Wait};
pub use window::Window;
