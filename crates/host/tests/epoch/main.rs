//! Arrays with token groups, against a model of every block's possible contents.

#[path = "../raid/drive.rs"]
#[allow(dead_code)]
mod drive;
#[path = "../raid/harness.rs"]
#[allow(dead_code)]
mod harness;
#[path = "../raid/model.rs"]
mod model;

mod bench;
mod bounds;
mod checksums;
mod control;
mod copies;
mod crashes;
mod faults;
mod mutation;
mod workload;
