//! The processor of a host, in virtual time: cores with siblings, a fair scheduler, interrupts, and an
//! account of where the time goes. Its owner directs it, see [`Machine`].

pub mod account;
pub mod costs;
pub mod machine;
pub mod piece;
pub mod runqueue;

pub use account::{CpuTime, Spent};
pub use machine::{FIRST_IRQ, Machine};
pub use piece::{Event, Level, Piece};
pub use runqueue::ThreadId;
