//! Flash: geometry, times, the medium and its rules, chips and buses.

pub mod bus;
pub mod geometry;
pub mod medium;
pub mod timing;
pub mod unit;

pub use geometry::{BlockId, ChannelId, Geometry, Layout, LogicalPage, LunId, PhysicalPage, PlaneId};
pub use timing::Timing;
