//! Tests of completion strategies with real threads, and of their waiting protocol under all interleavings.

#![allow(clippy::disallowed_types, reason = "threads in real time")]
#![allow(missing_docs)]

mod model;
mod threads;
