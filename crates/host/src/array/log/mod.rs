//! Layouts that write a log: Log-RAID and SWAN.

mod config;

pub use config::LogConfig;
