//! The sixteen data-centre workloads of Sprinkler's table 1, generated from their rows.
//!
//! The traces behind the table are not part of this repository, so a [`Datacenter`] source draws
//! requests that have what a [`Row`] states: the shares and mean sizes of reads and writes, their
//! randomness, and the class of their transactional locality. Everything else (how sizes are
//! distributed, how far apart random requests lie, when they arrive) is a choice of this module,
//! said where it is made. [`crate::characterization`] measures what comes out; the real traces can be put
//! beside it with `tailcut trace info`.

mod config;
mod locality_class;
mod places;
mod row;
mod sample;
mod sizes;
mod source;

pub use config::DatacenterConfig;
pub use locality_class::LocalityClass;
pub use places::nearness_ppm;
pub use row::{Row, Workload};
pub use source::{Datacenter, Plan};
