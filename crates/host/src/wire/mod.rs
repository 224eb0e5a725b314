//! Wire protocols as state machines without sockets or clocks: bytes in, requests out, replies as bytes.

pub mod ctl;
pub mod memcached;
pub mod metrics;
pub mod nbd;
