//! Tests of the command, as users call it.

#![allow(clippy::disallowed_types, reason = "a command runs in real time")]
#![allow(missing_docs)]

mod block;
mod commands;
mod examples;
mod guide;
mod kv;
mod metrics;
mod support;
