//! Log-RAID and SWAN against a naive model: what is read, what survives a power cut, what is never done.

mod machine;
mod model;
mod rig;

mod checksums;
mod copies;
mod crash;
mod data_path;
mod failures;
mod planted;
mod swan;
mod tokens;
