//! The controller: device queue, link, commit scheduler, translation, collection, DRAM buffer.

pub mod buffer;
pub mod cache;
pub mod commit;
pub mod ftl;
pub mod link;
pub mod pacing;
pub mod streams;
pub mod submission;
pub mod tags;
