//! `tailcut probe`: measures a drive from outside, and finds a simulated drive that resembles it.
//!
//! The measurement is a plan that runs on any [`Drive`](crate::Drive): by the system clock on files and block
//! devices, and in virtual time on emulated drives, whose parameters are known. The clock decides only when a
//! measurement stops. From the results, [`Estimate`] makes a configuration, and marks each key as measured,
//! derived from measurements by a model, or assumed. [`check`] then probes the simulated drive in the same
//! way, for a side-by-side comparison.
//!
//! For how each value is estimated, and the blind spots: `docs/decisions/probe.md`.

pub mod bench;
pub mod check;
pub mod device_use;
pub mod estimate;
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
pub use device_use::{DeviceUse, Objection, OpenPurpose, Own, Remedy};
pub use estimate::{Estimate, Origin, Provenance};
pub use measured::{End, Identity, Measured, Writes};
pub use pace::{Pace, RealTime, VirtualTime};
pub use plan::{MeasurementLimits, Part, Prober};
pub use tally::{SAMPLES, Tally};

/// Observer of a probe.
pub trait Watch {
    /// A measurement begins; `what` describes it.
    fn begins(&self, what: &str);

    /// True if the probe should stop.
    fn is_stopped(&self) -> bool;
}

/// An observer that ignores all events.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unwatched;

impl Watch for Unwatched {
    fn begins(&self, _: &str) {}

    fn is_stopped(&self) -> bool {
        false
    }
}
