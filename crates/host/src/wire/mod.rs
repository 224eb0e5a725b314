//! Protocols, as machines without a socket or a clock: bytes in, requests out, answers as bytes.

pub mod ctl;
pub mod memcached;
pub mod metrics;
pub mod nbd;
