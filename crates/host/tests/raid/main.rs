//! Arrays that write in place, against a model of what every block may hold.

mod crashes;
mod drive;
mod faults;
mod model;
mod planted;
mod rig;
mod workload;
