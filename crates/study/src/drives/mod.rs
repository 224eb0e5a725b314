//! Drives that can be bought: what others measured on them, and what the model predicts for the same test.
//!
//! Two works publish measurements that a model can be compared with row by row:
//!
//! - Haas et al., "SSD-iq: Uncovering the Hidden Side of SSD Performance", PVLDB 18 (2025): random writes at
//!   a given rate, and the latencies of one reading and writing thread beside them ([`RandomWrites`]).
//! - Doekemeijer et al., "Performance Characterization of NVMe Flash Devices with Zoned Namespaces", IEEE
//!   CLUSTER 2023: mixes of reads and writes at a given depth ([`Mix`]).
//!
//! A [`RandomWrites`] is the client of the first work. [`RandomWrites::run`] lets it work on a simulated
//! drive and returns a [`Measurement`]; a [`Mix`] and an [`Amplification`] do so for mixes and for write
//! amplification. [`rows`] reads what was measured on real drives.

mod amplification;
pub mod catalogue;
pub mod comparison;
pub mod fit;
mod latencies;
mod load;
mod mix;
mod random_writes;
pub mod rows;
mod test_run;

pub use amplification::{Amplification, WritePattern};
pub use comparison::Quantity;
pub use latencies::{Latencies, MEDIAN, PERCENTILES, Percentile};
pub use load::Load;
pub use mix::Mix;
pub use random_writes::{RandomWrites, RequestRate};
pub use rows::{MeasuredRow, Point};
pub use test_run::{Measurement, TestError, TestRun};
