//! The host's I/O path between the block layer and a controller (Shin 2017, chapters 3 and 4).
//!
//! * [`hal`]: the operations of HIOPS-HAL that a low-level driver implements;
//! * [`emulated`]: a driver for emulated controllers; [`ahci`] and [`nvme`] wire the interrupts differently;
//! * [`strategy`]: I/O strategies as data: fetching, post-processing, issuing, polling and spinning;
//! * [`hybrid`]: selection of a strategy by load;
//! * [`window`]: how long before a completion its thread is notified;
//! * [`queue`]: requests that wait for a tag, are in flight, or have completed.
//!
//! The executor of a strategy (contexts on modelled cores in virtual time; threads in real time) reads the
//! description and calls the queue; this module is independent of what each step costs.

pub mod ahci;
pub mod emulated;
pub mod hal;
pub mod hybrid;
pub mod nvme;
pub mod queue;
pub mod strategy;
mod tags;
pub mod window;

pub use ahci::{Ahci, AhciPorts};
pub use hal::{Controller, CoreId, LowLevelDriver, QueueId, RequestId, Tag, Vector};
pub use hybrid::{Hybrid, Mode, ReadTiming, Used};
pub use nvme::{Nvme, NvmeDrives};
pub use queue::{Fetched, PathQueue};
pub use strategy::{Drain, Finisher, Hints, Issuer, Layers, Strategy, StrategyName, Wait};
pub use window::Window;
