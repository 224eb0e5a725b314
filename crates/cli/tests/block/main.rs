//! `tailcut serve block`, used by programs that we did not write. What is not installed is skipped, in plain
//! words.

#[path = "../support/mod.rs"]
mod support;

#[cfg(feature = "tls")]
#[path = "../../../rt/tests/serving/authority.rs"]
mod authority;
mod copying;
mod devices;
#[cfg(feature = "tls")]
mod encrypted;
mod file_systems;
mod lifetime;
mod operating;
mod overwriting;
mod qemu;
mod questions;
mod server;
mod verifying;
