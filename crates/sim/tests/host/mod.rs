//! The modelled host: its cores, its I/O path, and both combined.

mod arrays;
mod hybrid;
mod liveness;
mod machine;
mod reports;
mod timelines;
mod timeouts;
