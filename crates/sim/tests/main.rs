//! Simulated drives, arrays, hosts and servers.

#![allow(missing_docs)]

mod host;
mod simulation;
mod truth;
