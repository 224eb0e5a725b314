//! `tailcut probe`: what a drive is like from outside, and a simulated drive that resembles it.
//!
//! The measurement is a plan carried out on any [`Drive`](crate::Drive): by the clock of the system on files
//! and block devices, and in virtual time on emulated drives, whose truth is known. It decides nothing by the
//! clock but when to stop. From what it finds, [`Estimate`] makes a configuration, and says of each key
//! whether it was measured, follows from a measurement by a model, or is assumed. [`check`] then probes that
//! simulated drive in the same way, so that both can be laid side by side.
//!
//! How each figure is estimated and where that is blind: `docs/decisions/probe.md`.

pub mod bench;
pub mod check;
pub mod estimate;
pub mod holdings;
mod measured;
mod pace;
mod plan;
pub mod profile;
pub mod stalls;
mod tally;
#[cfg(test)]
mod tests;

pub use bench::Failed;
pub use check::{Comparison, Unit, compare, simulate};
pub use estimate::{Estimate, How, Origin};
pub use holdings::{Holdings, Objection, Own, Purpose, Remedy};
pub use measured::{End, Identity, Measured, Writes};
pub use pace::{Pace, RealTime, VirtualTime};
pub use plan::{Effort, Part, Prober};
pub use tally::{SAMPLES, Tally};

/// Who watches a probe.
pub trait Watch {
    /// It begins to measure this.
    fn begins(&self, what: &str);

    /// True when it should come to an end.
    fn is_stopped(&self) -> bool;
}

/// Nobody.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unwatched;

impl Watch for Unwatched {
    fn begins(&self, _: &str) {}

    fn is_stopped(&self) -> bool {
        false
    }
}
