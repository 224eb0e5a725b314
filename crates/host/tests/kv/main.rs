//! The engine of the key-value server against a map, on a disk that answers in any order and loses its power.

#![allow(missing_docs)]

mod damage;
mod disk;
mod model;
mod opening;
mod random;
mod recovering;
mod rig;
mod wrong;
