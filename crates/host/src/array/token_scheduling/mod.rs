//! Heavy I/O tokens (Shin 2017, section 5.3.2): of drives that are redundant to each other, one group at a
//! time may write, flush and collect, for an *epoch*; the others serve reads.
//!
//! `turn` decides which group has the token and when the next epoch begins, `pace` estimates a drive's
//! capacity per epoch, `calls` makes it collect, and quiesce before the token passes on. A layout with copies
//! runs its epochs itself; for log layouts `tokens` does, with a [`Gate`](super::drives::Gate) for each
//! drive.

mod calls;
mod figures;
mod pace;
mod stage;
mod tokens;
mod turn;

pub use calls::{Calls, Next, stage_of};
pub use figures::EpochFigures;
pub use pace::Pace;
pub use stage::{Progress, Stage, StageTimes};
pub use tokens::Tokens;
pub use turn::TokenRotation;
