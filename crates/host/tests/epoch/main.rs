//! Arrays with token groups, against a model of every block's possible contents.

#[path = "../raid/drive.rs"]
#[allow(dead_code)]
mod drive;
#[path = "../raid/model.rs"]
mod model;
#[path = "../raid/rig.rs"]
#[allow(dead_code)]
mod rig;

mod bench;
mod bounds;
mod checksums;
mod control;
mod copies;
mod crashes;
mod faults;
mod planted;
mod workload;
