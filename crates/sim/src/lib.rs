//! Virtual time: a world in which workloads meet devices, deterministic to the byte.

pub mod trace;
pub mod workload;
