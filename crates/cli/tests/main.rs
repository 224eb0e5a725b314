//! Tests of the command, as users call it.

#![allow(missing_docs)]

mod block;
mod commands;
mod examples;
mod guide;
mod kv;
mod support;
