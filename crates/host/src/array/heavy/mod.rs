//! Heavy I/O tokens (Shin 2017, section 5.3.2): of the drives that stand in for each other, one group at a
//! time may write, flush and collect, for an *epoch*; the others serve reads.
//!
//! `turn` says whose epoch it is and when the next begins, `pace` what a drive can do in one, `calls` how it
//! is told to collect and to come to rest before the token passes on. A layout with copies carries its epochs
//! out itself; for those that write a log `tokens` does, with a [`Gate`](super::drives::Gate) before each
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
pub use turn::Turn;
