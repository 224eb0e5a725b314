//! Real time: the machines of the other crates, against the monotonic clock.
//!
//! This crate is the only home of clocks, threads and sockets, and of `unsafe` but for the border to C
//! (`tailcut-capi`). It decides nothing that a simulation would have to decide as well: what a drive does
//! stands in `tailcut_ssd`, what an array does and what a protocol means in `tailcut_host`. What is left is
//! to hand over requests and answers at the right moment, and to say how far from the right moment it was.
//!
//! A request's way: `serve` (sockets) → [`drive`] (one drive, or an array of them) → what carries it out.
//! Threads that wait for their own requests go through [`path`].

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
pub mod memory;
pub mod path;
pub mod probe;
pub mod pts;
pub mod secret;
pub mod serve;
pub mod supervisor;
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
pub use supervisor::Supervisor;
pub use system::wait_readable;
