//! Arrays that write in place, against a model of every block's possible contents.

mod blame;
mod checksums;
mod contended;
mod copies;
mod crashes;
mod drive;
mod faults;
mod flushes;
mod harness;
mod model;
mod mutation;
mod workload;
