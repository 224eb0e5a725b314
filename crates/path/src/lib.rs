//! The host's I/O path carried out by real threads (Shin 2017, chapters 3 and 4, in user space).
//!
//! Descriptions, tags and queue are those of [`tailcut_host::path`]; `tailcut_sim` runs them on modelled
//! cores. `tailcut bench path` measures what is here; no server depends on it. This crate has the threads:
//!
//! * [`submitter`]: threads that submit requests, one at a time or many;
//! * [`core_queue`]: the state shared by the threads of one core, and the work of each on its way in and out;
//! * [`watch`]: threads that poll for completions of others: woken by the device, on a timer, or at idle
//!   priority;
//! * [`pair`]: the queue pair between a queue and the device; [`wake_event`]: sleeping until another thread
//!   posts work;
//! * [`device`]: the device's thread, which runs any [`Drive`](tailcut_rt::Drive); [`fixed`] is one;
//! * [`plan`]: how threads implement a strategy, and which strategies are refused;
//! * [`harness`]: the benchmark over all of these, timed by [`control`]; cores and priorities are those of
//!   [`placement`](tailcut_rt::placement).

#![allow(clippy::disallowed_types, reason = "threads in real time")]

pub mod control;
pub mod core_queue;
pub mod device;
pub mod fixed;
pub mod harness;
pub mod pair;
pub mod plan;
pub mod submitter;
pub mod sync;
pub mod wake_event;
pub mod watch;

pub use control::Length;
pub use device::Rest;
pub use fixed::FixedDrive;
pub use harness::{Harness, Outcome, Submitters};
pub use plan::{Plan, Poller, Watch};
