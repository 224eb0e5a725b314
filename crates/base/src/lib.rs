//! The foundations shared by every layer of tailcut: units, the contract of a state machine without a clock,
//! timers, random streams, the latency histogram, the causes of latency, and the interface between a host and
//! a storage device.
//!
//! This crate depends on no other crate of the project, reads no clock, starts no thread and opens no file.

#![cfg_attr(not(test), deny(clippy::cast_possible_truncation, clippy::cast_sign_loss))]

pub mod cast;
pub mod cause;
pub mod config;
pub mod control;
pub mod device;
pub mod digest;
pub mod divisor;
pub mod fdp;
pub mod fetch_gate;
pub mod histogram;
pub mod ids;
pub mod mutation;
pub mod plm;
pub mod problem;
pub mod quantity;
pub mod random;
mod show;

pub mod steady;
pub mod table;
pub mod time;
pub mod timers;

pub use cause::{Cause, Spans};
pub use device::{Class, Command, CommandId, Completion, Device, Op, SECTOR_BYTES, Status, Submit};
pub use problem::{BadValue, Problem};
pub use time::{Nanos, Time};
