//! The host's I/O path carried out by real threads (Shin 2017, chapters 3 and 4, in user space).
//!
//! The descriptions, the tags and the queue are those of [`tailcut_host::path`]; `tailcut_sim` carries the
//! same out on modelled cores. Here are the threads:
//!
//! * [`asker`]: those that want something, one request at a time or many;
//! * [`lane`]: what those of one core share, and what each does for itself and others on its way in and out;
//! * [`watch`]: those that look for the completions of others: woken by the device, on a timer, or at idle
//!   priority;
//! * [`pair`]: the queue pair between a lane and the device; [`wake_event`]: how one sleeps until another has
//!   something;
//! * [`device`]: the thread of the device, which runs any [`Drive`](crate::Drive); [`fixed`] is one;
//! * [`plan`]: what of a strategy threads can carry out, and what is refused;
//! * [`rig`]: all of that put together and measured, in the [`course`] of a measurement; [`placement`]: cores
//!   and priorities.

pub mod asker;
pub mod course;
pub mod device;
pub mod fixed;
pub mod lane;
pub mod pair;
pub mod placement;
pub mod plan;
pub mod rig;
pub mod sync;
pub mod wake_event;
pub mod watch;

pub use course::Length;
pub use device::Rest;
pub use fixed::FixedDrive;
pub use placement::Usage;
pub use plan::{Plan, Poller, Watch};
pub use rig::{Askers, Outcome, Rig};
