//! Arrays with token groups, against a model of every block's possible contents.

mod bench;
mod bounds;
mod checksums;
mod control;
mod copies;
mod crashes;
mod faults;
mod mutation;
mod workload;
