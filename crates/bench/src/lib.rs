//! `tailcut-bench`: what our own code costs, by the wall clock. For developers of tailcut: nothing that a
//! user installs depends on this crate. It is run by `cargo run --release -p tailcut-bench -- sim`.
//!
//! Each measurement runs in a process of its own, so that its peak memory is its own and no measurement warms
//! the caches of the next.

#![allow(clippy::disallowed_types, reason = "benchmarks measure real time")]

pub mod arguments;
pub mod array;
pub mod command;
pub mod emulate;
pub mod process;
pub mod schedule;
pub mod sim;
pub mod study;
