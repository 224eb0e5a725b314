//! Virtual time: a world in which workloads meet devices, deterministic to the byte.

pub mod array;
pub mod cpu;
pub mod ending;
mod event_loop;
pub mod keys;
pub mod kv;
pub mod measured;
pub mod path;
pub mod report;
pub mod request_log;
pub mod scenario;
pub mod sizing;
pub mod storage;
pub mod timeline;
mod timer_heap;
pub mod world;

pub use report::Report;
pub use scenario::Scenario;
pub use storage::Storage;
