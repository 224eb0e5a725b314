//! The modelled host: its cores, its I/O path, and both together.

mod arrays;
mod hybrid;
mod liveness;
mod machine;
mod studies;
mod timelines;
mod timeouts;
