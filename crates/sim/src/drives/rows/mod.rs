//! Rows of measurements of real drives, read from CSV.
//!
//! Columns are found by their names in the first line; others may stand between them. Latencies are in
//! microseconds, rates in requests per second. A cell that was not measured is empty. Everything that is wrong with a file is
//! reported at once, with its line, the reason and a remedy.

mod amplification;
mod data_sheet;
mod mixes;
mod points;
mod random_writes;
mod sheet;

pub use amplification::{AmplificationRow, write_amplification};
pub use data_sheet::{DataSheet, data_sheets};
pub use mixes::{MixRow, mixes};
pub use points::{Point, points};
pub use random_writes::{MeasuredRow, random_writes};
pub use sheet::{RowError, RowErrors};

/// A percentile of a measured row needs this many requests beyond it to be worth comparing with.
pub const LEAST_BEYOND: f64 = 10.0;
