//! Whole runs against queueing theory, conservation laws and planted bugs.

mod conservation;
#[path = "../../../ssd/tests/truth/drives.rs"]
#[allow(dead_code, reason = "shared with the tests of the drive, which use all of it")]
mod drives;
mod mutation;
mod queueing;
mod runs;
mod stalls;
mod steadiness;
