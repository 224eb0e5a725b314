//! Real time: runs the state machines of the other crates against the monotonic clock.
//!
//! All clocks, threads and sockets are in this crate, and all `unsafe` code except the C interface
//! (`tailcut-capi`). It makes no decision that a simulation would have to make as well: the behaviour of
//! drives is in `tailcut_ssd`, that of arrays and protocols in `tailcut_host`. This crate delivers requests
//! and completions at the right time, and reports their lateness.
//!
//! The path of a request: `serve` (sockets) → [`drive`] (a drive, or an array of them) → its implementation.

#![allow(clippy::disallowed_types, reason = "the crate of real time")]

pub mod any;
pub mod array;
pub mod client;
pub mod clock;
pub mod ctl;
pub mod drive;
pub mod embedded;
pub mod emulated;
pub mod fail_stop;
pub mod file;
pub mod kv;
pub mod listener;
pub mod memory;
pub mod placement;
pub mod probe;
pub mod pts;
pub mod reactor;
pub mod secret;
pub mod serve;
pub mod service_manager;
mod system;

pub use any::AnyDrive;
pub use array::ServedArray;
pub use client::Client;
pub use clock::Clock;
pub use drive::{Announcement, Answers, Drive, Extent};
pub use emulated::EmulatedSsd;
pub use fail_stop::FailStop;
pub use file::FileDrive;
pub use memory::MemoryDrive;
pub use service_manager::ServiceManager;
pub use system::{
    become_user, leave_session, most_descriptors, processor_time, silence_output, sleep_precisely, stay_on,
    wait_readable, yield_to_all,
};
