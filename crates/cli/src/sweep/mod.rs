//! Many runs of scenarios that resemble each other: what is kept of each, where, and what is asked
//! of it. `tailcut compare` and `tailcut advise` are both made of these parts.

pub mod bar;
pub mod job;
mod misread;
pub mod outcome;
pub mod point;
pub mod promise;
pub mod quantity;
pub mod records;
pub mod runner;
pub mod unit;

pub use bar::Bar;
pub use job::Job;
pub use misread::Misread;
pub use outcome::{Outcome, RunResult};
pub use point::Point;
pub use promise::{Promise, Term};
pub use quantity::Quantity;
pub use records::Records;
pub use runner::{Progress, run_all};
pub use unit::Unit;
