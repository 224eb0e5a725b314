//! Tests of what runs in real time, with real files, sockets and threads.

#![allow(clippy::disallowed_types, reason = "the crate of real time")]
#![allow(missing_docs)]

mod embedded;
mod killed;
mod kv;
mod members;
mod serving;
mod volatile;
