//! Tests of arrays, the key-value engine and the protocols.

#![allow(missing_docs)]

mod epoch;
mod kv;
mod log;
mod memcached;
mod metadata;
mod nbd;
mod opening;
mod raid;
mod room;
