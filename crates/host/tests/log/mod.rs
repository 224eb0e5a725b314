//! Log-RAID and SWAN against a naive model: the data that reads return, the data that survives a power cut,
//! and operations that must never happen.

mod harness;
mod machine;
mod model;

mod checksums;
mod copies;
mod crash;
mod data_path;
mod failures;
mod mutation;
mod swan;
mod tokens;
