//! Many runs of scenarios that resemble each other: what is kept of each, where, and what is asked
//! of it. `tailcut compare` and `tailcut advise` are both made of these parts.

pub mod crew;
pub mod outcome;
pub mod parcel;
pub mod point;
pub mod quantity;
pub mod records;
pub mod unit;

pub use crew::{Crew, Progress};
pub use outcome::{Ended, Outcome};
pub use parcel::Parcel;
pub use point::Point;
pub use quantity::{Misread, Quantity};
pub use records::Records;
pub use unit::Unit;
