//! The key-value engine against a map, on a disk that completes requests in any order and loses power.

mod admitted;
mod behind;
mod damage;
pub(crate) mod disk;
mod harness;
mod memory_only;
mod model;
mod opening;
mod quality;
mod random;
mod recovering;
mod served;
mod wrong;
