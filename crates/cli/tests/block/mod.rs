//! `tailcut serve block`, used by third-party programs. Tests of programs that are not installed are skipped
//! with a message.

#[cfg(feature = "tls")]
#[path = "../../../rt/tests/serving/authority.rs"]
mod authority;
mod copying;
mod devices;
#[cfg(feature = "tls")]
mod encrypted;
mod file_systems;
mod lifetime;
mod logging;
mod operating;
mod overwriting;
mod qemu;
mod questions;
mod server;
mod slow_disk;
mod supervised;
mod verifying;
