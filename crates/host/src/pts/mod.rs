//! The storage industry's own tests of a drive: the SNIA Solid State Storage Performance Test Specification
//! (PTS) 2.0, as a machine without a clock.
//!
//! A [`Procedure`] is one test. It says what to do next ([`Procedure::next`]: purge the drive, let it rest,
//! put a load on it for so long), is told what came of it ([`Procedure::told`]), and decides what follows:
//! whether the rounds are steady, whether enough was written, which points are looked at closer. It reads no
//! clock and knows no drive, so the same procedure tests a simulated drive in virtual time and a real one.
//! What it was told stays in it as [`Record`]s, from which reports are made at any moment, also of a test
//! that was stopped.
//!
//! Tests are lists of stages ([`plan`]). Where each figure comes from, and what was assumed:
//! `docs/decisions/drive-tests.md`.

mod cell;
mod figures;
pub mod plan;
mod points;
mod procedure;
mod record;
mod settings;
mod stage;
mod test;
#[cfg(test)]
mod tests;

pub use cell::Cell;
pub use figures::{Figures, Metric};
pub use points::Point;
pub use procedure::{Outcome, Procedure, Step, Stretch};
pub use record::{Averages, Convergence, Ending, Record, Track};
pub use settings::{Form, Settings};
pub use stage::{Limits, Rounds, Stage, Work};
pub use test::Test;
