//! Traces of block requests: reading them in the formats that people have, replaying,
//! characterising and converting them.
//!
//! A [`Trace`] is read as a stream, one [`Record`] at a time, from a plain, gzip or zstd file.
//! Nothing is allocated per record. Bad lines end it with an error that names file, line and
//! remedy, unless they are to be skipped; then they are counted.
//!
//! - [`scan()`] passes over a whole trace: how many requests, which disks, all bad lines at once;
//! - [`Replay`] is a workload made of a trace;
//! - [`characterise`] measures the load of a trace;
//! - [`convert()`] writes it in another format;
//! - [`measured()`] and [`FioLatencies`] have response times request by request.

mod convert;
mod detect;
mod disks;
mod encode;
mod error;
mod fields;
mod fio_latency;
mod format;
mod formats;
mod info;
mod input;
mod measured;
mod output;
mod pages;
mod rates;
mod reader;
mod record;
mod records;
mod replay;
mod scan;
mod sequence;
mod sizes;

pub use convert::{Converted, convert};
pub use error::{BadRecord, Place, TraceError};
pub use fio_latency::FioLatencies;
pub use format::Format;
pub use info::{Alignment, DiskInfo, Info, OpShare, Times, Window, characterise};
pub use measured::{Measured, measured};
pub use pages::Footprint;
pub use rates::Rates;
pub use reader::{Options, Tally, Trace};
pub use record::Record;
pub use records::Records;
pub use replay::{Replay, ReplayOptions, Replayed, Timing};
pub use scan::{DiskExtent, TraceScan, scan};
pub use sequence::Sequence;
pub use sizes::Sizes;
