//! The storage industry's standard drive tests: the SNIA Solid State Storage Performance Test Specification
//! (PTS) 2.0, as a state machine without a clock.
//!
//! A [`Procedure`] is one test. [`Procedure::next`] returns the next step (purge the drive, let it rest,
//! apply a load for some time), [`Procedure::told`] accepts its outcome, and the procedure decides what
//! follows: whether the rounds are steady, whether enough was written, which points are examined in detail.
//! It reads no clock and depends on no drive, so the same procedure tests a simulated drive in virtual time
//! and a real one. It keeps all outcomes as [`Record`]s, from which reports can be made at any time, even for
//! a test that was stopped.
//!
//! Tests are lists of stages ([`plan`]) with loads on a drive ([`load`], also those of `tailcut probe`). The
//! sources of all numbers, and assumptions, are in `docs/decisions/drive-tests.md`.

#![cfg_attr(not(test), deny(clippy::cast_possible_truncation, clippy::cast_sign_loss))]

mod cell;
mod figures;
pub mod load;
pub mod mutation;
pub mod plan;
mod points;
mod procedure;
mod record;
mod settings;
mod stage;
mod test;

pub use cell::Cell;
pub use figures::{Figures, Metric};
pub use points::Point;
pub use procedure::{Outcome, Procedure, Step, Stretch};
pub use record::{Averages, Convergence, Ending, Record, Track};
pub use settings::{Form, Settings};
pub use stage::{Limits, Rounds, Stage, Work};
pub use test::Test;
