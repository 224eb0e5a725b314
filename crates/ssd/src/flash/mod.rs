//! Flash: geometry, times, the NAND array and its rules, chips and buses.

pub mod geometry;
pub mod nand;
pub mod timing;

pub use geometry::{
    BlockId, ChannelId, Geometry, Layout, LogicalPage, LunId, PAGES_MAX, PhysicalPage, PlaneId, SuperblockId,
};
pub use timing::Timing;
