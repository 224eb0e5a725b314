//! Arrays that write in place, against a model of every block's possible contents.

mod blame;
mod checksums;
mod contended;
mod copies;
mod crashes;
pub(crate) mod drive;
mod faults;
mod flushes;
pub(crate) mod harness;
pub(crate) mod model;
mod mutation;
mod workload;
